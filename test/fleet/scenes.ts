// What happens to a fleet, and how long that takes: all are switched on, nothing happens, a document comes, the broker restarts.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { connectAsync } from "mqtt";

import { agentBinary } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import { output } from "../harness/run-command.ts";
import { aPodNamed } from "../agent/upstream-bench.ts";
import { GROUP, type Deed } from "./load-node.ts";
import type { LoadNodes } from "./load-nodes.ts";

export interface Stage {
  readonly broker: Broker;
  readonly nodes: LoadNodes;
  readonly count: number;
  readonly directory: string;
}

/** Seconds until so many of all. */
export interface Shares {
  readonly half: number;
  readonly most: number;
  readonly all: number;
}

export interface Storm extends Shares {
  /** Connections in each second. */
  readonly perSecond: readonly number[];
  /** Connections that ended again. */
  readonly kicked: number;
  /** Of those, by the reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** The broker's own time on a core, s. */
  readonly brokerCpu: number;
}

const MOST = 0.99;
/** After the last connection: the broker ends a session that it has not heard for one and a half keep-alives of 60 s. */
const WATCH_MS = 100_000;

/** All machines are switched on at the same moment. */
export async function switchOn(stage: Stage): Promise<Storm> {
  const { nodes, count } = stage;
  const cpu = brokerUsage(stage.broker).cpu;
  const at = Date.now();
  await nodes.start();
  await nodes.until("all nodes are connected", () => nodes.connected === count);
  return { ...storm(nodes.deeds, at, count), brokerCpu: brokerUsage(stage.broker).cpu - cpu };
}

/** `watch`: ms after the last connection in which none may end again. */
export async function restartBroker(
  stage: Stage,
  watch = WATCH_MS,
): Promise<Storm & { readonly away: number }> {
  const { broker, nodes, count } = stage;
  await nodes.look();
  const stoppedAt = Date.now();
  await broker.restart();
  const at = Date.now();
  const before = nodes.deeds.length;
  await nodes.until("all nodes are back", () => nodes.connected === count);
  const brokerCpu = brokerUsage(broker).cpu;
  await Bun.sleep(watch);
  await nodes.look();
  const deeds = nodes.deeds
    .slice(before)
    .filter(({ what, since }) => what !== "ended" || (since ?? 0) >= at);
  return { ...storm(deeds, at, count), brokerCpu, away: (at - stoppedAt) / 1_000 };
}

function storm(deeds: readonly Deed[], from: number, count: number): Omit<Storm, "brokerCpu"> {
  const times = deeds.filter(({ what }) => what === "connected").map(({ at }) => at - from);
  const perSecond: number[] = [];
  for (const time of times) {
    const second = Math.max(0, Math.floor(time / 1_000));
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  const ended = deeds.filter(({ what }) => what === "ended");
  const reasons: Record<string, number> = {};
  for (const { why = "unknown" } of ended) reasons[why] = (reasons[why] ?? 0) + 1;
  return {
    ...sharesOf(times, count),
    kicked: ended.length,
    reasons,
    perSecond: Array.from(perSecond, (one) => one ?? 0),
  };
}

function sharesOf(times: readonly number[], count: number): Shares {
  const sorted = times.toSorted((a, b) => a - b);
  const after = (share: number): number =>
    Math.round((sorted[Math.ceil(share * count) - 1] ?? Number.NaN) / 10) / 100;
  return { half: after(0.5), most: after(MOST), all: after(1) };
}

export interface Idle {
  readonly seconds: number;
  /** MQTT bytes of one node in an hour, both directions, without TCP. */
  readonly bytesPerHour: number;
  /** Of a core, the broker. */
  readonly brokerShare: number;
  readonly brokerMegabytes: number;
  /** Longest that a process with nodes was not at its sockets, ms. */
  readonly stalled: number;
  /** Connections that ended. */
  readonly ended: number;
}

export async function idle({ broker, nodes, count }: Stage, seconds: number): Promise<Idle> {
  const before = await nodes.look();
  const { cpu } = brokerUsage(broker);
  const deeds = nodes.deeds.length;
  await Bun.sleep(seconds * 1_000);
  const after = await nodes.look();
  const usage = brokerUsage(broker);
  const bytes = after.bytesIn + after.bytesOut - before.bytesIn - before.bytesOut;
  return {
    seconds,
    bytesPerHour: Math.round((bytes / count / seconds) * 3_600),
    brokerShare: (usage.cpu - cpu) / seconds,
    brokerMegabytes: usage.megabytes,
    stalled: Math.round(after.stalled),
    ended: nodes.deeds.slice(deeds).filter(({ what }) => what === "ended").length,
  };
}

export interface DocumentTimes {
  /** From its arrival at the broker to the nodes. */
  readonly accepted: Shares;
  /** To the report that the pod of the document runs well, back at the broker; the pod itself takes two seconds. */
  readonly healthy: Shares;
  /** Seconds that `agent fleet apply` took. */
  readonly apply: number;
}

export async function groupDocument(stage: Stage): Promise<DocumentTimes> {
  const { broker, nodes, count, directory } = stage;
  const file = join(directory, "app.json");
  writeFileSync(file, JSON.stringify(aPodNamed("app")));
  await nodes.look();
  const before = nodes.deeds.length;
  const { arrival } = await awaitDocument(broker.url);
  const began = Date.now();
  const to = ["--group", GROUP, "--url", broker.url];
  await output([agentBinary(), "fleet", "apply", "-f", file, ...to], 120_000);
  const apply = (Date.now() - began) / 1_000;
  const times = (what: Deed["what"]): readonly number[] =>
    nodes.deeds.slice(before).flatMap((deed) => (deed.what === what ? [deed.at] : []));
  await nodes.until("all nodes have the document", () => times("accepted").length === count);
  await nodes.until("all nodes report it as Healthy", () => times("healthy").length === count);
  const arrivedAt = await arrival;
  const since = (what: Deed["what"]): Shares =>
    sharesOf(
      times(what).map((at) => at - arrivedAt),
      count,
    );
  return { apply, accepted: since("accepted"), healthy: since("healthy") };
}

/** Subscribed when it resolves; `arrival`: when the group's next document is at the broker, in wall-clock milliseconds. */
async function awaitDocument(url: string): Promise<{ readonly arrival: Promise<number> }> {
  const client = await connectAsync(url, { protocolVersion: 5 });
  const arrived = Promise.withResolvers<number>();
  client.on("message", () => arrived.resolve(Date.now()));
  await client.subscribeAsync(`agent/v1/group/${GROUP}/desired`, { qos: 0 });
  return { arrival: arrived.promise.finally(() => void client.endAsync()) };
}

/** Seconds on a core, and resident memory. */
export function brokerUsage({ pid }: Broker): { readonly cpu: number; readonly megabytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  return { cpu: ticks / 100, megabytes: Math.round(kilobytes / 1_024) };
}
