// The lines of doing nothing, and of starting where everything already runs.

import { existsSync } from "node:fs";

import { eventually } from "../harness/eventually.ts";
import { podNames, type AgentSide } from "./agent-side.ts";
import { MANY } from "./many-lines.ts";
import type { Bench } from "./pairs.ts";
import {
  changedFiles,
  cpuMsOf,
  filesBelow,
  memoryOf,
  writesOf,
  type Memory,
} from "./process-facts.ts";

/** Counted each second, told when it has changed. */
const RECEIVED = "$SYS/broker/bytes/received";

export interface Idle {
  readonly seconds: number;
  readonly memory: Memory;
  /** Percent of a core. */
  readonly cpu: number;
  readonly containerdCpu: number;
  /** Bytes that the agent caused to be written to disk. */
  readonly written: number;
  /** Bytes it appended to its log, which are in `written`. */
  readonly logged: number;
  /** Files of the stateDir that are not as they were. */
  readonly changed: readonly string[];
  /** Bytes that the broker received, of all its clients (the bench itself sends two a minute). */
  readonly upstream: number;
  /** What the agent published: topic and size. */
  readonly published: readonly string[];
}

export interface Rest {
  /** So long nothing may reach the broker. */
  readonly quietSeconds: number;
  /** An agent that never falls quiet is measured as it is. */
  readonly atMostSeconds: number;
}

/** Lets the agent tell what it still has to tell: a report may follow 10 s after the last change. */
export async function settle(bench: Bench, { quietSeconds, atMostSeconds }: Rest): Promise<void> {
  const bytes = await bench.world.client.collect(RECEIVED);
  const end = performance.now() + atMostSeconds * 1_000;
  let quietSince = performance.now();
  let told = bytes.messages.length;
  while (performance.now() < end && performance.now() - quietSince < quietSeconds * 1_000) {
    await Bun.sleep(200);
    if (bytes.messages.length !== told) quietSince = performance.now();
    told = bytes.messages.length;
  }
}

/** Watches an agent that has nothing to do. */
export async function idle(bench: Bench, agent: AgentSide, seconds: number): Promise<Idle> {
  const { containerd, client } = bench.world;
  const bytes = await client.collect(RECEIVED);
  await bytes.next(() => true);
  const topics = await client.collect("agent/#");
  const look = (): Snapshot => ({
    at: performance.now(),
    cpu: cpuMsOf(agent.pid),
    containerdCpu: cpuMsOf(containerd.pid ?? 0),
    written: writesOf(agent.pid).toDisk,
    logged: logSize(agent),
    files: filesBelow(agent.process.paths.state),
    received: Number(bytes.messages.at(-1)?.payload ?? 0),
  });
  const before = look();
  const seen = topics.messages.length;
  await Bun.sleep(seconds * 1_000);
  const after = look();
  const published = topics.messages.slice(seen).filter(({ retain }) => !retain);
  const percent = (key: "cpu" | "containerdCpu"): number =>
    (100 * (after[key] - before[key])) / (after.at - before.at);
  return {
    seconds,
    memory: memoryOf(agent.pid),
    cpu: percent("cpu"),
    containerdCpu: percent("containerdCpu"),
    written: after.written - before.written,
    logged: after.logged - before.logged,
    changed: changedFiles(before.files, after.files),
    upstream: after.received - before.received,
    published: published.map(({ topic, payload }) => `${topic} (${payload.length} bytes)`),
  };
}

interface Snapshot {
  readonly at: number;
  readonly cpu: number;
  readonly containerdCpu: number;
  readonly written: number;
  readonly logged: number;
  readonly files: ReadonlyMap<string, string>;
  readonly received: number;
}

/** Percent of a core that containerd uses while nobody asks it anything. */
export async function containerdAlone(bench: Bench, seconds: number): Promise<number> {
  const pid = bench.world.containerd.pid ?? 0;
  const before = { at: performance.now(), cpu: cpuMsOf(pid) };
  await Bun.sleep(seconds * 1_000);
  return (100 * (cpuMsOf(pid) - before.cpu)) / (performance.now() - before.at);
}

/** Fifty pods by the agent, which stay. */
export async function fillNode(bench: Bench, agent: AgentSide): Promise<void> {
  const mark = bench.world.log.mark();
  for (const name of podNames(MANY)) agent.put(name);
  await bench.world.log.lastStart(mark, MANY);
}

export interface Starts {
  /** Milliseconds from the start of the process until it shows all fifty pods as running. */
  readonly times: readonly number[];
  /** Containers that started or ended meanwhile: 0. */
  readonly disturbed: number;
  /** CRI calls of one start. */
  readonly calls: string;
}

interface PodList {
  readonly items: readonly { readonly status?: { readonly phase?: string } }[];
}

/** Starts the agent again and again beside its fifty running pods; the last one goes on. */
export async function starts(bench: Bench, agent: AgentSide, count: number): Promise<Starts> {
  const { log, calls } = bench.world;
  const mark = log.mark();
  const times: number[] = [];
  let counted = "";
  for (let round = 0; round < count; round += 1) {
    await agent.process.kill("SIGTERM");
    await Bun.sleep(300);
    await calls.reset();
    const start = performance.now();
    agent.process.start();
    await eventually("the agent shows all pods as running", () => allRunning(agent), {
      timeout: 30_000,
      interval: 5,
      explain: () => agent.process.logTail(),
    });
    times.push(performance.now() - start);
    await Bun.sleep(1_000);
    counted = await calls.perPod(1);
  }
  const disturbed = log.since(mark, "started").length + log.since(mark, "exited").length;
  return { times, disturbed, calls: counted };
}

async function allRunning(agent: AgentSide): Promise<boolean> {
  if (!existsSync(agent.process.paths.socket)) return false;
  const health = await agent.process.api("/healthz");
  if (health.status !== 200) return false;
  const { items } = (await (await agent.process.api("/pods")).json()) as PodList;
  return items.filter(({ status }) => status?.phase === "Running").length === MANY;
}

function logSize(agent: AgentSide): number {
  return Bun.file(agent.process.paths.log).size;
}
