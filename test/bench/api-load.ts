// What clients of the API cost the node: 50 idle watches and 50 requests a second over TLS, in turns with no client at all,
// and with other programs that use as much of the processors as the clients and their answers did.
// Probes and starts of pods should not be held up, and the agent's memory should come back. Then what an open listener costs
// an idle agent, beside one without.
//
// bun test/bench/api-load.ts [--seconds 60] [--turns 3] [--idle 60] [--watchers 50] [--rate 50] [--pods 20] [--json FILE]

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";

import { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { makeTempDirectory, type TempDirectory } from "../harness/temp-directory.ts";
import { AgentSide, podManifest } from "./agent-side.ts";
import type { Orders, Served } from "./api-clients.ts";
import { COMMAND } from "./bare-calls.ts";
import { cpuMsOf, memoryOf, settled, waitMsOf } from "./process-facts.ts";
import { quantileOf } from "./statistics.ts";
import { IMAGE, makeWorld, NODE, type World } from "./world.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    turns: { type: "string", default: "3" },
    idle: { type: "string", default: "60" },
    watchers: { type: "string", default: "50" },
    rate: { type: "string", default: "50" },
    pods: { type: "string", default: "20" },
    json: { type: "string" },
  },
});
const seconds = Number(flags.seconds);
const turns = Number(flags.turns);

const HTTP_PROBES = 20;
const EXEC_PROBES = 2;
const PERIOD_MS = 1_000;
/** Between two starts of pods. */
const START_EACH_MS = 2_000;
const SAMPLE_MS = 250;
const PORT = freePort();

type Beside = "no client" | "with clients" | "other programs";

interface Phase {
  readonly beside: Beside;
  /** Milliseconds by which probes came later than their earliest of the phase. */
  readonly http: readonly number[];
  readonly exec: readonly number[];
  /** Milliseconds from a manifest in place to a running container. */
  readonly starts: readonly number[];
  /** Percent of a core. */
  readonly cpu: number;
  /** Percent of the time in which the agent was ready to run and had to wait for a processor. */
  readonly waited: number;
  /** Megabytes. */
  readonly rss: { readonly begin: number; readonly end: number; readonly peak: number };
  readonly served?: Served;
  /** Percent of a core that the clients used. */
  readonly clientsCpu?: number;
}

const BESIDE: readonly Beside[] = ["no client", "with clients", "other programs"];

/** Arrivals of probes, by the name of the probe. */
const arrivals = new Map<string, number[]>();

function say(text: string): void {
  console.error(`[${(performance.now() / 1000).toFixed(0).padStart(4)} s] ${text}`);
}

function serveProbes(): number {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      const name = new URL(url).pathname;
      const own = arrivals.get(name) ?? [];
      arrivals.set(name, own);
      own.push(performance.now());
      return new Response("ok");
    },
  });
  return server.port ?? 0;
}

/** How much later than on a steady beat each came; the earliest sets the beat. */
function lateness(times: readonly number[]): readonly number[] {
  const [first] = times;
  if (first === undefined) return [];
  const off = times.map((time) => {
    const beats = Math.round((time - first) / PERIOD_MS);
    return time - first - beats * PERIOD_MS;
  });
  const earliest = Math.min(...off);
  return off.map((one) => one - earliest);
}

function probedPod(name: string, port: number): object {
  const probe = { httpGet: { host: "127.0.0.1", port, path: `/${name}` }, periodSeconds: 1 };
  return podOf(name, { command: COMMAND, readinessProbe: probe });
}

/** Its probe writes down when it ran. */
function execPod(name: string, journal: string): object {
  const probe = {
    exec: { command: ["sh", "-c", `cut -d" " -f1 /proc/uptime >> /journal/${name}`] },
    periodSeconds: 1,
  };
  const main = {
    command: COMMAND,
    readinessProbe: probe,
    volumeMounts: [{ name: "journal", mountPath: "/journal" }],
  };
  return podOf(name, main, [{ name: "journal", hostPath: { path: journal } }]);
}

function podOf(name: string, main: object, volumes: readonly object[] = []): object {
  const container = { name: "main", image: IMAGE, imagePullPolicy: "IfNotPresent", ...main };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: "load", name } },
    spec: { terminationGracePeriodSeconds: 1, hostNetwork: true, containers: [container], volumes },
  };
}

class Load {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncGenerator<string, undefined>;

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#child = child;
    this.#lines = linesOf(child.stdout);
  }

  /** Resolves when its watches are open. */
  static async start(orders: string): Promise<Load> {
    const program = new URL("api-clients.ts", import.meta.url).pathname;
    const child = Bun.spawn([process.execPath, program, orders], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const load = new Load(child);
    const { value } = await load.#lines.next();
    if (value !== "ready") throw new Error(`the clients say ${value}`);
    return load;
  }

  get pid(): number {
    return this.#child.pid;
  }

  async stop(): Promise<Served> {
    await this.#child.stdin.end();
    const { value } = await this.#lines.next();
    await this.#child.exited;
    return JSON.parse(String(value)) as Served;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
  return undefined;
}

/** One pod after the other, each removed again. */
async function startPods(world: World, agent: AgentSide, until: number): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; performance.now() < until; count += 1) {
    const next = performance.now() + START_EACH_MS;
    const place = agent.prepare(`started-${count}`, podManifest(`started-${count}`));
    const mark = world.log.mark();
    const begin = performance.now();
    place();
    const { at } = await world.log.lastStart(mark, 1);
    times.push(at - begin);
    const gone = world.log.mark();
    agent.drop(`started-${count}`);
    await world.log.lastGone(gone, 1);
    await Bun.sleep(Math.max(100, next - performance.now()));
  }
  return times;
}

async function phase(stage: Stage, beside: Beside, percent: number): Promise<Phase> {
  const { world, agent, journal } = stage;
  await settled(agent.pid);
  const load = beside === "with clients" ? await Load.start(stage.orders) : undefined;
  const others = beside === "other programs" ? usingProcessors(percent) : [];
  await Bun.sleep(1_000);
  arrivals.clear();
  const execBefore = execTimes(journal).map((times) => times.length);
  const begin = memoryOf(agent.pid).rss;
  let peak = begin;
  const sampling = setInterval(() => (peak = Math.max(peak, memoryOf(agent.pid).rss)), SAMPLE_MS);
  const clientsMs = (): number => (load === undefined ? 0 : cpuMsOf(load.pid));
  const before = { cpu: cpuMsOf(agent.pid), waited: waitMsOf(agent.pid), clients: clientsMs() };
  const begun = performance.now();
  const starts = await startPods(world, agent, begun + seconds * 1_000);
  const share = (ms: number): number => (100 * ms) / (performance.now() - begun);
  const cpu = share(cpuMsOf(agent.pid) - before.cpu);
  const waited = share(waitMsOf(agent.pid) - before.waited);
  const clientsCpu = share(clientsMs() - before.clients);
  clearInterval(sampling);
  const http = [...arrivals.values()].flatMap(lateness);
  const exec = execTimes(journal).flatMap((times, at) => lateness(times.slice(execBefore[at])));
  const served = await load?.stop();
  for (const other of others) await other.stdin.end();
  await Promise.all(others.map(({ exited }) => exited));
  await Bun.sleep(1_000);
  const rss = { begin, peak, end: memoryOf(agent.pid).rss };
  const ofClients = served === undefined ? {} : { served, clientsCpu };
  return { beside, http, exec, starts, cpu, waited, rss, ...ofClients };
}

/** Programs that use `percent` of a core together. */
function usingProcessors(percent: number): readonly Bun.Subprocess<"pipe", "ignore", "inherit">[] {
  const program = new URL("busy-processor.ts", import.meta.url).pathname;
  const count = Math.max(1, Math.ceil(percent / 50));
  return Array.from({ length: count }, () =>
    Bun.spawn([process.execPath, program, String(percent / count)], {
      stdin: "pipe",
      stdout: "ignore",
      stderr: "inherit",
    }),
  );
}

/** Milliseconds, for each exec probe. */
function execTimes(journal: string): readonly (readonly number[])[] {
  return Array.from({ length: EXEC_PROBES }, (_, index) => {
    const text = readFileSync(join(journal, `exec-${index}`), "utf8");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Number(line) * 1000);
  });
}

interface Stage {
  readonly world: World;
  readonly agent: AgentSide;
  readonly journal: string;
  /** Path of the clients' orders. */
  readonly orders: string;
}

async function prepare(temp: TempDirectory, world: World): Promise<Stage> {
  const { endpoint, cgroupRoot } = world.containerd;
  const process_ = new AgentProcess(temp, {
    endpoint,
    cgroupRoot,
    nodeName: NODE,
    name: "api-load",
    config: { listen: `127.0.0.1:${PORT}` },
  });
  const agent = new AgentSide(process_, world.client);
  await process_.startReady();
  const journal = temp.directory("journal");
  mkdirSync(journal, { recursive: true });
  const probePort = serveProbes();
  const mark = world.log.mark();
  for (let index = 0; index < HTTP_PROBES; index += 1)
    process_.writeManifest(`http-${index}.yaml`, probedPod(`http-${index}`, probePort));
  for (let index = 0; index < EXEC_PROBES; index += 1)
    process_.writeManifest(`exec-${index}.yaml`, execPod(`exec-${index}`, journal));
  for (let index = 0; index < Number(flags.pods); index += 1) agent.put(`plain-${index}`);
  const talks = ["sh", "-c", "while true; do echo line of a log; sleep 1; done"];
  process_.writeManifest("talks.yaml", podOf("talks", { command: talks }));
  await world.log.lastStart(mark, HTTP_PROBES + EXEC_PROBES + Number(flags.pods) + 1);
  await eventually("every probe has come", () => arrivals.size === HTTP_PROBES, {
    timeout: 30_000,
  });
  const orders = join(temp.directory("clients"), "orders.json");
  mkdirSync(join(orders, ".."), { recursive: true });
  writeFileSync(orders, JSON.stringify(await ordersOf(process_)), { mode: 0o600 });
  return { world, agent, journal, orders };
}

async function ordersOf(agent: AgentProcess): Promise<Orders> {
  const made = await agent.cli("kubeconfig", "--user", "bench");
  if (made.code !== 0) throw new Error(made.stderr);
  const { clusters, users } = parse(made.stdout) as {
    readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
    readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
  };
  const plain = (data = ""): string => Buffer.from(data, "base64").toString();
  return {
    host: "127.0.0.1",
    port: PORT,
    ca: plain(clusters[0].cluster["certificate-authority-data"]),
    cert: plain(users[0].user["client-certificate-data"]),
    key: plain(users[0].user["client-key-data"]),
    watchers: Number(flags.watchers),
    perSecond: Number(flags.rate),
    pod: "default/talks",
  };
}

interface Idle {
  readonly cpu: number;
  readonly rss: number;
  readonly anonymous: number;
}

/** Two agents at the same time that have nothing to do; one of them listens. */
async function idleCost(temp: TempDirectory, world: World): Promise<Record<string, Idle>> {
  const { endpoint, cgroupRoot } = world.containerd;
  const sides = ["open", "closed"].map((name) => {
    const listen = name === "open" ? { listen: `127.0.0.1:${freePort()}` } : {};
    const options = { endpoint, cgroupRoot, nodeName: name, instance: name, name };
    return { name, agent: new AgentProcess(temp, { ...options, config: listen }) };
  });
  // The first start makes the certificates, once in a year.
  for (const { agent } of sides) await agent.startReady();
  await Bun.sleep(3_000);
  for (const { agent } of sides) await agent.restart();
  await Bun.sleep(15_000);
  const pidOf = (agent: AgentProcess): number => agent.pid ?? 0;
  const before = sides.map(({ agent }) => cpuMsOf(pidOf(agent)));
  await Bun.sleep(Number(flags.idle) * 1_000);
  const found = sides.map(({ name, agent }, at): [string, Idle] => {
    const cpu = (cpuMsOf(pidOf(agent)) - (before[at] ?? 0)) / (Number(flags.idle) * 10);
    return [name, { cpu, ...memoryOf(pidOf(agent)) }];
  });
  for (const { agent } of sides) await agent.kill("SIGTERM");
  return Object.fromEntries(found);
}

function row(name: string, ...cells: readonly string[]): string {
  return `| ${[name, ...cells].join(" | ")} |`;
}

function delays(values: readonly number[]): string {
  const at = (part: number): string => quantileOf(values, part).toFixed(1);
  return `${at(0.5)} / ${at(0.99)} / ${at(1)} ms (${values.length})`;
}

function print(phases: readonly Phase[], idle: Record<string, Idle>): void {
  const each = (read: (phase: Phase) => readonly number[]): string[] =>
    BESIDE.map((beside) => delays(phases.filter((one) => one.beside === beside).flatMap(read)));
  console.log(row("p50 / p99 / most (n)", ...BESIDE));
  console.log(row("---", ...BESIDE.map(() => "---")));
  console.log(row("an HTTP probe comes late by", ...each(({ http }) => http)));
  console.log(row("an exec probe comes late by", ...each(({ exec }) => exec)));
  console.log(row("manifest in place → running", ...each(({ starts }) => starts)));
  for (const { beside, cpu, waited, rss, served, clientsCpu } of phases) {
    const { begin, peak, end } = rss;
    const memory = `RSS ${begin.toFixed(0)} → ${end.toFixed(0)} MB, at most ${peak.toFixed(0)}`;
    const answers =
      served === undefined
        ? ""
        : `; answers ${JSON.stringify(served.codes)} in ${delays(served.latencies)}, ${(served.bytes / 1e6).toFixed(0)} MB; ${served.events} events to the watches, of which ${served.lostWatches} ended early; the clients used ${clientsCpu?.toFixed(0)} % CPU`;
    console.log(
      `${beside}: CPU ${cpu.toFixed(1)} %, waited for one ${waited.toFixed(1)} %, ${memory}${answers}`,
    );
  }
  for (const [name, { cpu, rss, anonymous }] of Object.entries(idle))
    console.log(
      `idle, listen ${name}: CPU ${cpu.toFixed(2)} %, RSS (anonymous) ${rss.toFixed(0)} (${anonymous.toFixed(0)}) MB`,
    );
}

/** Percent of a core that the last clients and the answers to them used. */
function takenBy(phases: readonly Phase[]): number {
  const [before, loaded] = phases.slice(-2);
  return Math.max(0, (loaded?.clientsCpu ?? 0) + (loaded?.cpu ?? 0) - (before?.cpu ?? 0));
}

async function main(): Promise<void> {
  const temp = makeTempDirectory();
  const world = await makeWorld(temp);
  if (typeof world === "string") {
    console.log(`skipped: ${world}`);
    return;
  }
  const phases: Phase[] = [];
  const stage = await prepare(temp, world);
  say("warm");
  for (let turn = 0; turn < turns; turn += 1)
    for (const beside of BESIDE) {
      say(`turn ${turn + 1} of ${turns}, ${beside}`);
      phases.push(await phase(stage, beside, takenBy(phases)));
    }
  await stage.agent.process.kill("SIGTERM");
  say("two idle agents");
  const idle = await idleCost(temp, world);
  print(phases, idle);
  const machine = `${process.arch}, ${cpus().length} cores, containerd ${world.containerd.version}`;
  console.log(`${machine}; load of the machine at the end ${loadavg()[0]?.toFixed(1)}`);
  if (flags.json !== undefined)
    writeFileSync(flags.json, `${JSON.stringify({ machine, phases, idle }, null, 1)}\n`);
}

await main();
process.exit(0);
