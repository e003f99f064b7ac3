// Who is who: pods of others are never touched, the node's name outlives the machine's, two nodes of one name do not fight.

import { afterAll, beforeAll, expect } from "bun:test";
import { cpSync, readFileSync } from "node:fs";

import { grpcCriClient } from "../../src/cri/cri-client.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { runBarePod, type BarePod } from "../harness/bare-pod.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { PAUSE } from "../harness/images.ts";
import { listTasks, type TaskFacts } from "../harness/containerd-lists.ts";
import {
  getContainer,
  getNode,
  getPod,
  nodeCondition,
  startWithHostname,
} from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open({ sandboxImage: `docker.io/${PAUSE.name}` });
const e2e = stage.test;
/** A second containerd, without a network until it knows the address range of pods. */
const bare = await Stage.open({ network: "template" });
/** Seconds for which the two agents of one name are watched. */
const DUEL_SECONDS = 65;
const DUELLISTS = ["castor", "pollux"] as const;
const TWIN = "twin";

let duel: Duel;

interface Duel {
  readonly broker: Broker;
  readonly agents: Readonly<Record<(typeof DUELLISTS)[number], AgentProcess>>;
  /** performance.now() at which both ran. */
  readonly since: number;
  /** Length of the broker's log before the two met. */
  readonly logged: number;
}

/** Two agents with copies of one state directory; they differ in their own paths, instance and broker's user name. */
async function startDuel(): Promise<Duel> {
  const broker = await startBroker(stage.temp);
  const agentOf = (name: string): AgentProcess =>
    stage.agent({
      name,
      instance: name,
      nodeName: TWIN,
      mqttUrl: broker.url,
      mqtt: { username: name },
    });
  const agents = { castor: agentOf("castor"), pollux: agentOf("pollux") };
  // Made by the first, and copied before it runs anything.
  await agents.castor.startReady();
  await agents.castor.kill();
  const logged = readFileSync(broker.logFile, "utf8").length;
  cpSync(agents.castor.paths.state, agents.pollux.paths.state, { recursive: true });
  for (const name of DUELLISTS) {
    agents[name].writeManifest("pod.yaml", stage.manifest({ name }));
    await agents[name].startReady();
  }
  return { broker, agents, since: performance.now(), logged };
}

/** The long one goes on in the background while the other tests run. */
beforeAll(async () => {
  if (stage.available) duel = await startDuel();
}, 180_000);

afterAll(() => {
  stage.close();
  bare.close();
}, 180_000);

e2e("pods of nobody and of another instance survive everything", async () => {
  const agent = stage.agent({ name: "main" });
  using cri = grpcCriClient({ endpoint: stage.containerd.endpoint, clock: systemClock() });
  const foreign = (name: string, labels: Readonly<Record<string, string>>): Promise<BarePod> =>
    runBarePod(cri, {
      name,
      image: "local/busybox:1",
      command: ["sleep", "1000"],
      logDirectory: stage.temp.directory("foreign-logs"),
      cgroupParent: stage.containerd.cgroupRoot,
      labels,
    });
  const pods = [
    await foreign("nobodys", {}),
    await foreign("kubelets", kubernetesLabels("own", "nobodys-uid")),
    await foreign("others", {
      ...kubernetesLabels("own", "others-uid"),
      "agent/managed": "true",
      "agent/instance": "another",
    }),
    await foreign("unmanaged", {
      ...kubernetesLabels("own", "unmanaged-uid"),
      "agent/instance": "default",
    }),
  ];
  const ids = pods.flatMap(({ sandboxId, containerId }) => [sandboxId, containerId]);
  const before = await tasksOf(ids);
  expect(before.map(({ status }) => status)).toEqual(ids.map(() => "RUNNING"));

  agent.writeManifest("own.yaml", stage.manifest({ name: "own" }));
  await agent.startReady();
  await stage.journalIs("own", ["start a"]);
  const start = ["start a", "stop a", "start b"];
  agent.writeManifest("own.yaml", stage.manifest({ name: "own", tag: "b" }));
  await stage.journalIs("own", start);
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    await agent.restart(signal);
    await expectUntouched(ids, before);
  }
  agent.removeManifest("own.yaml");
  await stage.journalIs("own", [...start, "stop b"]);
  await eventually("nothing of our own pod is left", async () => {
    const left = await stage.containersOf("own", "sandbox");
    return left.every((id) => ids.includes(id));
  });
  const listed = (await agent.cli("get", "pods", "-A")).stdout;
  expect(listed).toBe("");
  await expectUntouched(ids, before);
  expect(stage.watch.exits().filter(({ containerId }) => ids.includes(containerId))).toEqual([]);
  await agent.kill();
});

e2e(
  "a new name of the machine changes neither the node's name nor its pods",
  async () => {
    const agent = stage.agent({
      name: "named",
      instance: "named",
      config: { nodeName: "site-${hostname}" },
    });
    agent.writeManifest("named.yaml", stage.manifest({ name: "named" }));
    startWithHostname(agent, "first-name");
    await agent.waitReady();
    await stage.journalIs("named", ["start a"]);
    expect((await getNode(agent)).metadata.name).toBe("site-first-name");
    const id = await stage.running("named");
    await agent.kill();

    startWithHostname(agent, "second-name");
    await agent.waitReady();
    expect((await getNode(agent)).metadata.name).toBe("site-first-name");
    expect((await getPod(agent, "named")).spec.nodeName).toBe("site-first-name");
    await always("the pod is not restarted", 1_500, () => stage.journal("named").length === 1);
    expect(await stage.running("named")).toBe(id);
    await agent.kill();
  },
  300_000,
);

e2e(
  "two agents with one state directory on one broker: both keep their pods and say DuplicateIdentity",
  async () => {
    const { agents, broker, since, logged } = duel;
    for (const name of DUELLISTS)
      await eventually(
        `${name} says DuplicateIdentity`,
        async () => {
          const condition = await nodeCondition(agents[name], "DuplicateIdentity");
          return condition?.status === "True";
        },
        { timeout: 240_000, interval: 500, explain: () => agents[name].logTail() },
      );
    const left = since + DUEL_SECONDS * 1_000 - performance.now();
    await always("both agents run", left, () => DUELLISTS.every((name) => agents[name].running));
    const text = readFileSync(broker.logFile, "utf8").slice(logged);
    for (const name of DUELLISTS) {
      const times = connectsOf(text, name);
      expect(times.length).toBeGreaterThanOrEqual(1);
      expect([name, mostPerMinute(times)]).toEqual([name, Math.min(2, mostPerMinute(times))]);
      const told = agents[name].logLines().map(({ msg }) => msg);
      expect(told).toContain("another device seems to use this node's name");
      expect(stage.journal(name)).toEqual(["start a"]);
      await stage.running(name);
    }
  },
  300_000,
);

bare.test(
  "without a network plugin hostNetwork pods start, others wait with NetworkNotReady until podCIDR makes one",
  async () => {
    const agent = bare.agent();
    agent.writeManifest("host.yaml", bare.manifest({ name: "host", hostNetwork: true }));
    agent.writeManifest("waits.yaml", bare.manifest({ name: "waits" }));
    await agent.startReady();
    await bare.journalIs("host", ["start a"]);
    const waiting = await eventually("the other pod says why it waits", async () => {
      const { state } = await getContainer(agent, "waits");
      return state.waiting?.reason === "NetworkNotReady" ? state.waiting : undefined;
    });
    expect(waiting.message).toMatch(/network/);
    expect((await getPod(agent, "waits")).status.phase).toBe("Pending");
    expect((await agent.cli("get", "pods", "waits")).stdout).toMatch(/ 0\/1 +NetworkNotReady +0 /);
    expect((await nodeCondition(agent, "NetworkUnavailable"))?.status).toBe("True");
    await always("it does not start", 1_000, () => bare.journal("waits").length === 0);
    expect(await bare.containersOf("waits", "sandbox")).toEqual([]);

    // With podCIDR the runtime makes the network out of its template.
    await agent.kill();
    const podCIDR = bare.containerd.facts.subnet;
    const told = bare.agent({ config: { podCIDR } });
    await told.startReady();
    await bare.journalIs("waits", ["start a"]);
    const networkOf = (address: string): string => address.replace(/\d+(\/\d+)?$/, "");
    // The container writes before the status says where it runs.
    const podIP = await eventually(
      "it has an address",
      async () => (await getPod(told, "waits")).status.podIP,
    );
    expect(networkOf(podIP)).toBe(networkOf(podCIDR));
    expect(await getNode(told)).toMatchObject({ spec: { podCIDR, podCIDRs: [podCIDR] } });
    expect((await nodeCondition(told, "NetworkUnavailable"))?.status).not.toBe("True");
  },
);

function kubernetesLabels(name: string, uid: string): Readonly<Record<string, string>> {
  return {
    "io.kubernetes.pod.name": name,
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": uid,
    "io.kubernetes.container.name": "main",
  };
}

async function tasksOf(ids: readonly string[]): Promise<readonly TaskFacts[]> {
  const tasks = await listTasks(stage.containerd);
  return ids.flatMap((id) => tasks.find((task) => task.id === id) ?? []);
}

async function expectUntouched(
  ids: readonly string[],
  before: readonly TaskFacts[],
): Promise<void> {
  expect(await tasksOf(ids)).toEqual([...before]);
}

/** Seconds at which an agent connected, by the broker's log. */
function connectsOf(log: string, user: string): readonly number[] {
  return log
    .split("\n")
    .filter((line) => line.includes("New client connected") && line.includes(`u'${user}'`))
    .map((line) => Number.parseInt(line, 10));
}

/** The log has whole seconds, so that a minute is counted as 59. */
function mostPerMinute(times: readonly number[]): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((t) => t >= from && t < from + 59).length),
  );
}
