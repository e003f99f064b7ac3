// The lines of probes: from the manifest to Ready, and what a hundred probes a second cost.

import type { PodView } from "../../src/node/api-views.ts";
import { eventually } from "../harness/eventually.ts";
import type { AgentSide } from "./agent-side.ts";
import { COMMAND } from "./bare-calls.ts";
import { inPairs, type Bench, type Pairs } from "./pairs.ts";
import { cpuMsOf, memoryOf, type Memory } from "./process-facts.ts";
import { IMAGE } from "./world.ts";

const PORT = 8080;
const SERVE = ["sh", "-c", `httpd -p ${PORT} -h /etc; ${COMMAND[2]}`] as const;
/** A file of the image. */
const PAGE = "/image-version";
/** Between two looks, in ms: neither half may lose more than that. */
const LOOK_MS = 2;

/** Manifest renamed into place → Ready, by an HTTP readiness probe; the bare half asks the server itself. */
export async function onePodReady(bench: Bench, count: number): Promise<Pairs> {
  const { log, bare } = bench.world;
  return inPairs(bench, {
    count,
    agent: async (agent, rest) => {
      const place = agent.prepare("ready", servingPod());
      await rest();
      const mark = log.mark();
      const start = performance.now();
      place();
      await eventually("the pod is ready", async () => isReady(await podsOf(agent), "ready"), {
        timeout: 30_000,
        interval: LOOK_MS,
        explain: () => agent.process.logTail(),
      });
      const elapsed = performance.now() - start;
      agent.drop("ready");
      await log.lastGone(mark, 1);
      return elapsed;
    },
    bare: async (rest) => {
      const [config] = bare.prepare(1);
      if (config === undefined) throw new Error("no configuration was prepared");
      await rest();
      const mark = log.mark();
      const start = performance.now();
      const pod = await bare.run(config, { command: SERVE });
      const ip = await bare.address(pod.sandboxId);
      await eventually("its server answers", async () => answers(ip), { interval: LOOK_MS });
      const elapsed = performance.now() - start;
      await bare.remove(pod.sandboxId);
      await log.lastGone(mark, 1);
      return elapsed;
    },
  });
}

export interface Probing {
  readonly seconds: number;
  /** Probes of the same pods in one second, as the server counted them. */
  readonly perSecond: number;
  /** Percent of a core. */
  readonly cpu: number;
  /** The same pods without their probes. */
  readonly cpuWithout: number;
  readonly memory: Memory;
}

export const PODS = 10;
const CONTAINERS = 5;

/** Ten pods of five containers, each with a liveness and a readiness probe every second. */
export async function probing(bench: Bench, agent: AgentSide, seconds: number): Promise<Probing> {
  let answered = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      answered += 1;
      return new Response("ok");
    },
  });
  try {
    const cpuWithout = await shareOf(bench, agent, { seconds, port: undefined });
    const before = { answered, at: performance.now() };
    const cpu = await shareOf(bench, agent, {
      seconds,
      port: server.port,
      begin: () => Object.assign(before, { answered, at: performance.now() }),
    });
    const perSecond = ((answered - before.answered) * 1_000) / (performance.now() - before.at);
    const memory = memoryOf(agent.pid);
    await clear(bench, agent);
    return { seconds, perSecond, cpu, cpuWithout, memory };
  } finally {
    await server.stop(true);
  }
}

interface Share {
  readonly seconds: number;
  /** Of the server that the probes ask; undefined = no probes. */
  readonly port: number | undefined;
  readonly begin?: () => void;
}

async function shareOf(bench: Bench, agent: AgentSide, share: Share): Promise<number> {
  const names = Array.from({ length: PODS }, (_, index) => `probed-${index + 1}`);
  const mark = bench.world.log.mark();
  for (const name of names)
    agent.process.writeManifest(`${name}.yaml`, probedPod(name, share.port));
  await bench.world.log.lastStart(mark, PODS * CONTAINERS);
  await eventually(
    "all of them are ready",
    async () => {
      const pods = await podsOf(agent);
      return names.every((name) => isReady(pods, name));
    },
    { timeout: 60_000, interval: 200, explain: () => agent.process.logTail() },
  );
  await Bun.sleep(3_000);
  share.begin?.();
  const before = { at: performance.now(), cpu: cpuMsOf(agent.pid) };
  await Bun.sleep(share.seconds * 1_000);
  return (100 * (cpuMsOf(agent.pid) - before.cpu)) / (performance.now() - before.at);
}

async function clear({ world }: Bench, agent: AgentSide): Promise<void> {
  const mark = world.log.mark();
  for (let index = 1; index <= PODS; index += 1) agent.drop(`probed-${index}`);
  await world.log.lastGone(mark, PODS);
}

function servingPod(): object {
  const probe = { httpGet: { port: PORT, path: PAGE }, periodSeconds: 1 };
  return pod("ready", { containers: [container("main", SERVE, { readinessProbe: probe })] });
}

function probedPod(name: string, port: number | undefined): object {
  const probe = { httpGet: { host: "127.0.0.1", port, path: "/healthz" }, periodSeconds: 1 };
  const probes = port === undefined ? {} : { livenessProbe: probe, readinessProbe: probe };
  const containers = Array.from({ length: CONTAINERS }, (_, index) =>
    container(`c${index}`, COMMAND, probes),
  );
  return pod(name, { hostNetwork: true, containers });
}

function pod(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { terminationGracePeriodSeconds: 5, ...spec },
  };
}

function container(name: string, command: readonly string[], more: object): object {
  return { name, image: IMAGE, imagePullPolicy: "IfNotPresent", command, ...more };
}

async function podsOf(agent: AgentSide): Promise<readonly PodView[]> {
  const { items } = (await (await agent.process.api("/pods")).json()) as {
    readonly items: readonly PodView[];
  };
  return items;
}

function isReady(pods: readonly PodView[], name: string): boolean {
  const conditions = pods.find(({ metadata }) => metadata.name === name)?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

async function answers(ip: string): Promise<boolean> {
  return (await fetch(`http://${ip}:${PORT}${PAGE}`)).ok;
}
