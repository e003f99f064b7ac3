// What the agent takes of a machine with 0, 10 and 50 pods: memory, processor, bytes of the binary that a cold start reads,
// bytes written. Prints a table; the device scenario `figures` has the same for an emulated device.
// The disk reads ahead meanwhile as Linux does on a device: 128 KiB; a virtual machine may read whole megabytes.
// bun test/bench/footprint.ts [COUNTS [SECONDS]]     e.g. 0,10,50 120; as root, on a machine that does nothing else

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { podManifest, podNames } from "./agent-side.ts";
import { cpuMsOf, memoryOf, settled, writesOf } from "./process-facts.ts";
import { makeWorld, type World } from "./world.ts";

const COUNTS = (process.argv[2] ?? "0,10,50").split(",").map(Number);
const SETTLE_MS = 30_000;
const IDLE_SECONDS = Number(process.argv[3] ?? 120);
const DAY_SECONDS = 86_400;
const READ_AHEAD_KIB = "128";
const RUNNING = { timeout: 180_000, interval: 10 };

interface Footprint {
  readonly pods: number;
  /** From the start of a process whose binary no page cache has, ms. */
  readonly knownMs: number;
  readonly readMB: number;
  readonly rss: number;
  readonly anonymous: number;
  readonly peak: number;
  /** Of one core, %. */
  readonly cpu: number;
  readonly writtenKBADay: number;
}

async function measure(
  { containerd }: World,
  agent: AgentProcess,
  pods: number,
): Promise<Footprint> {
  for (const name of podNames(pods)) agent.writeManifest(`${name}.yaml`, podManifest(name));
  agent.start();
  await agent.waitReady();
  const tasks = async (): Promise<boolean> => (await listTasks(containerd)).length === 2 * pods;
  await eventually(`${pods} pods run`, tasks, RUNNING);
  await agent.kill();
  // The cold start of a device: nothing of the binary is in memory.
  writeFileSync("/proc/sys/vm/drop_caches", "3");
  const begin = performance.now();
  agent.start();
  await agent.waitReady();
  const known = async (): Promise<boolean> => (await running(agent)) === pods;
  await eventually(`${pods} pods are known`, known, RUNNING);
  const knownMs = performance.now() - begin;
  const { pid } = agent;
  if (pid === undefined) throw new Error("the agent has ended");
  const readMB = fieldOf(`/proc/${pid}/io`, "read_bytes") / 1e6;
  await Bun.sleep(SETTLE_MS);
  await settled(pid);
  const [cpu, written] = [cpuMsOf(pid), writesOf(pid).toDisk];
  await Bun.sleep(IDLE_SECONDS * 1_000);
  const { rss, anonymous } = memoryOf(pid);
  return {
    pods,
    knownMs,
    readMB,
    rss,
    anonymous,
    peak: (fieldOf(`/proc/${pid}/status`, "VmHWM") * 1024) / 1e6,
    cpu: (cpuMsOf(pid) - cpu) / IDLE_SECONDS / 10,
    writtenKBADay: ((writesOf(pid).toDisk - written) / IDLE_SECONDS / 1_000) * DAY_SECONDS,
  };
}

async function running(agent: AgentProcess): Promise<number> {
  const answer = await fetch("http://agent/api/v1/pods", { unix: agent.paths.socket });
  const { items } = (await answer.json()) as {
    readonly items: readonly { readonly status: { readonly phase: string } }[];
  };
  return items.filter(({ status }) => status.phase === "Running").length;
}

function fieldOf(path: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(path, "utf8"));
  return Number(found?.[1] ?? Number.NaN);
}

function row(one: Footprint): string {
  const cells = [
    one.pods,
    `${Math.round(one.rss)} (${Math.round(one.anonymous)})`,
    Math.round(one.peak),
    one.cpu.toFixed(2),
    Math.round(one.readMB),
    Math.round(one.knownMs),
    Math.round(one.writtenKBADay),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Of the disk with the binary; undefined = it is no block device's. */
function readAheadFile(): string | undefined {
  const { dev } = statSync(agentBinary());
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const own = `/sys/dev/block/${major}:${minor}`;
  const found = [own, `${own}/..`].map((path) => `${path}/queue/read_ahead_kb`);
  return found.find((path) => existsSync(path));
}

using temp = makeTempDirectory();
const world = await makeWorld(temp);
if (typeof world === "string") throw new Error(world);
const { agent } = world;
if (agent === undefined) throw new Error(`${agentBinary()} is not there: run ./build.sh`);
const rows: string[] = [];
const readAhead = readAheadFile();
const before = readAhead === undefined ? "" : readFileSync(readAhead, "utf8");
if (readAhead !== undefined) writeFileSync(readAhead, READ_AHEAD_KIB);
try {
  for (const pods of COUNTS) {
    rows.push(row(await measure(world, agent, pods)));
    await agent.kill();
  }
} finally {
  if (readAhead !== undefined) writeFileSync(readAhead, before);
}
const size = Math.round(statSync(agentBinary()).size / 1e6);
console.log(`binary: ${size} MB; idle: ${IDLE_SECONDS} s\n`);
console.log(
  "| pods | RSS (anonymous), MB | peak, MB | CPU, % of a core | read at a cold start, MB | start → pods known, ms | written, kB a day |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- |");
for (const one of rows) console.log(one);
await world.containerd.stop();
process.exit(0);
