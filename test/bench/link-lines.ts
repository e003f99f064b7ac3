// What a node with nothing to say costs on the line: an agent for each transport and profile, and every byte of its TCP stream.

import { makeTempDirectory } from "../harness/temp-directory.ts";
import { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { CertificateAuthority } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { podManifest } from "./agent-side.ts";
import { BUDGETS } from "./budgets.ts";
import { CountingLine, type LineBytes } from "./counting-line.ts";
import { valueLine, type Line } from "./report.ts";
import type { World } from "./world.ts";

const PROFILES = ["normal", "metered"] as const;
const TRANSPORTS = ["TCP", "TLS"] as const;

export interface LinkTimes {
  /** Seconds from the connect at least: birth is told once more after 60. */
  readonly first: number;
  /** Then so many without a byte, and on an agent that never falls quiet a minute of waiting for them. */
  readonly quiet: number;
  /** Seconds of idleness. */
  readonly idle: number;
}

/** Bytes of both directions. */
export interface Cost {
  /** As the agent counts its MQTT packets. */
  readonly mqtt: number;
  /** What TCP carried: with TLS its records. */
  readonly tcp: number;
  /** The same with IPv4 and TCP headers, acknowledgements too; absent = this machine has no `ss`. */
  readonly wire: number | undefined;
}

export interface LinkCost {
  readonly profile: (typeof PROFILES)[number];
  readonly transport: (typeof TRANSPORTS)[number];
  /** Before it is idle: TLS, connect, subscriptions, birth, reports. */
  readonly first: Cost;
  readonly idle: Cost;
}

const PODS = 10;
const AT_MOST_MS = 60_000;
/** Question and answer in records of TLS. */
const KEEP_ALIVE_BYTES = 60;
/** IPv4 and TCP with timestamps. */
const HEADER_BYTES = 52;

/** All four at once: bytes do not mind company. */
export async function linkCosts(world: World, times: LinkTimes): Promise<readonly LinkCost[]> {
  using temp = makeTempDirectory();
  const authority = new CertificateAuthority(temp.directory("link-ca"));
  const { cert, key } = authority.issue("broker", "broker", { altName: "IP:127.0.0.1" });
  const secure = await startBroker(temp, {
    name: "link-tls",
    listener: ["allow_anonymous true", `certfile ${cert}`, `keyfile ${key}`],
  });
  const ports = { TCP: world.broker.port, TLS: secure.port } as const;
  const each = PROFILES.flatMap((profile) =>
    TRANSPORTS.map(async (transport) => {
      await using line = await CountingLine.open(ports[transport]);
      const scheme = transport === "TLS" ? "mqtts" : "mqtt";
      const name = `link-${transport.toLowerCase()}-${profile}`;
      const agent = new AgentProcess(temp, {
        endpoint: world.containerd.endpoint,
        cgroupRoot: world.containerd.cgroupRoot,
        mqttUrl: `${scheme}://127.0.0.1:${line.port}`,
        mqtt: { profile, ...(transport === "TLS" ? { caFile: authority.cert } : {}) },
        nodeName: name,
        instance: name,
        name,
      });
      return { profile, transport, ...(await withPods(agent, () => measure(agent, line, times))) };
    }),
  );
  return await Promise.all(each);
}

/** They come before the agent, and go before it. */
async function withPods<T>(agent: AgentProcess, work: () => Promise<T>): Promise<T> {
  const names = Array.from({ length: PODS }, (_, index) => `${agent.nodeName}-${index}`);
  for (const name of names) agent.writeManifest(`${name}.yaml`, podManifest(name));
  try {
    return await work();
  } finally {
    for (const name of names) agent.removeManifest(`${name}.yaml`);
    await eventually("its pods are gone", async () => (await podCount(agent)) === 0, {
      timeout: 60_000,
      explain: () => agent.logTail(),
    });
    await agent.kill("SIGTERM");
  }
}

async function measure(
  agent: AgentProcess,
  line: CountingLine,
  times: LinkTimes,
): Promise<{ readonly first: Cost; readonly idle: Cost }> {
  await agent.startReady();
  const explain = (): string => agent.logTail();
  await eventually("it is connected", () => line.bytes().tcp > 0, { timeout: 60_000, explain });
  await Bun.sleep(times.first * 1_000);
  await fallQuiet(line, times.quiet);
  const atRest = await look(agent, line);
  await Bun.sleep(times.idle * 1_000);
  const afterwards = await look(agent, line);
  return { first: costOf(NOTHING, atRest), idle: costOf(atRest, afterwards) };
}

/** A keep-alive is no news. */
async function fallQuiet(line: CountingLine, seconds: number): Promise<void> {
  const end = performance.now() + AT_MOST_MS;
  let [told, since] = [line.bytes().tcp, performance.now()];
  while (performance.now() < end && performance.now() - since < seconds * 1_000) {
    await Bun.sleep(200);
    const { tcp } = line.bytes();
    if (tcp - told > KEEP_ALIVE_BYTES) [told, since] = [tcp, performance.now()];
  }
}

interface Look extends LineBytes {
  readonly mqtt: number;
}

const NOTHING: Look = { mqtt: 0, tcp: 0, segments: 0 };

async function look(agent: AgentProcess, line: CountingLine): Promise<Look> {
  const [bytes, segments] = [line.bytes(), await line.segments()];
  return { mqtt: await mqttBytes(agent), tcp: bytes.tcp, segments };
}

function costOf(before: Look, after: Look): Cost {
  const tcp = after.tcp - before.tcp;
  const wire =
    before.segments === undefined || after.segments === undefined
      ? undefined
      : tcp + (after.segments - before.segments) * HEADER_BYTES;
  return { mqtt: after.mqtt - before.mqtt, tcp, wire };
}

async function mqttBytes(agent: AgentProcess): Promise<number> {
  const { metrics } = (await (await agent.api("/node")).json()) as {
    readonly metrics?: {
      readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
    };
  };
  const classes = Object.values(metrics?.mqttBytes ?? {});
  return classes.reduce((sum, count) => sum + count.in + count.out, 0);
}

async function podCount(agent: AgentProcess): Promise<number> {
  const { items } = (await (await agent.api("/pods")).json()) as { readonly items: unknown[] };
  return items.length;
}

/** A minute of it; beside it what MQTT, and what the wire, made of the same, and what the connect had cost. */
export function linkLine({ profile, transport, first, idle }: LinkCost, times: LinkTimes): Line {
  const perMinute = (bytes: number): number => Math.round((bytes * 60) / times.idle);
  const labels = { ...BUDGETS.link, what: `${BUDGETS.link.what}: ${profile}, ${transport}` };
  const { value, text, notes } = {
    value: perMinute(idle.mqtt),
    text: `${perMinute(idle.tcp)} B (MQTT ${perMinute(idle.mqtt)})`,
    notes: [
      `over ${times.idle} s with ${PODS} pods: ${told(idle)}`,
      `before that, from the connect on, with subscriptions, birth and reports: ${told(first)}`,
    ],
  };
  const details = { profile, transport, times, first, idle };
  return { ...valueLine(labels, { value, text, notes }), details };
}

function told({ mqtt, tcp, wire }: Cost): string {
  const headers = wire === undefined ? "" : `, ${wire} with IPv4 and TCP headers`;
  return `${mqtt} bytes of MQTT packets, ${tcp} of TCP payload${headers}`;
}
