// What a node that has nothing to say costs: bytes of real MQTT encodings, both directions, on virtual time.

import { expect, test } from "bun:test";
import { Upstream } from "../../src/upstream/upstream.ts";
import type { LinkBytes } from "../../src/upstream/link/link-bytes.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import { measured } from "../fakes/measured-link.ts";
import { aDocument, aPodNamed, UpstreamBench, type BenchOptions } from "./upstream-bench.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A node with ten pods that has said all there is to say. */
async function idle(options: BenchOptions): Promise<UpstreamBench> {
  const clock = new VirtualClock();
  const bench = new UpstreamBench({
    clock,
    wrap: (link) => measured(link, clock),
    ...options,
  });
  const resources = Array.from({ length: 10 }, (_, index) => aPodNamed(`web-${index}`));
  bench.broker.publish("agent/v1/node/pi-1/desired", aDocument(1, { resources }));
  bench.start();
  await clock.advance(5 * MINUTE);
  expect(bench.report()?.pods).toHaveLength(10);
  expect(bench.report()?.desired).toMatchObject([{ source: "static" }, { code: 200 }]);
  return bench;
}

/** Both directions, by class. */
function totals(bytes: LinkBytes): ReadonlyMap<string, number> {
  return new Map(Object.entries(bytes).map(([name, count]) => [name, count.in + count.out]));
}

/** By class, since `before`. */
function since(before: LinkBytes, bench: UpstreamBench): ReadonlyMap<string, number> {
  const then = totals(before);
  const now = totals(bench.facts.node().mqttBytes ?? {});
  const rows = [...now].map(([name, bytes]) => [name, bytes - (then.get(name) ?? 0)] as const);
  return new Map(rows.filter(([, bytes]) => bytes > 0));
}

function sum(bytes: ReadonlyMap<string, number>): number {
  return [...bytes.values()].reduce((all, some) => all + some, 0);
}

function say(what: string, bytes: ReadonlyMap<string, number>): void {
  const classes = [...bytes].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(`${what}: ${sum(bytes)} bytes (${classes})`);
}

for (const protocolVersion of [5, 4] as const) {
  test(`an idle hour costs at most 1 kB a minute with MQTT ${protocolVersion === 5 ? "5" : "3.1.1"}`, async () => {
    using bench = await idle({ mqtt: { protocolVersion } });
    const before = bench.facts.node().mqttBytes ?? {};
    await bench.clock.advance(HOUR);
    const bytes = since(before, bench);
    say(`idle hour, protocol ${protocolVersion}, ${Math.round(sum(bytes) / 60)} a minute`, bytes);
    expect(sum(bytes)).toBeLessThanOrEqual(60 * 1000);
    // It did say that it is there.
    expect(bytes.get("reported")).toBeGreaterThan(3 * 1000);
    expect(bytes.get("other")).toBeGreaterThan(50 * 4);
    await bench.stop();
  });
}

/** The half that talks, with pods that do not change: a whole agent takes minutes for a month of looking at them. */
async function speakFor(days: number, bench: UpstreamBench): Promise<LinkBytes> {
  const truth = bench.facts.truth();
  const stop = new AbortController();
  const upstream = new Upstream({
    edges: bench.edges,
    config: bench.mqtt,
    frequency: bench.config.nodeStatusReportFrequencyMs,
    nodeName: "pi-1",
    agentVersion: "1.0.0",
    truth: () => truth,
    onMessage: () => undefined,
    onConverged: () => undefined,
    onSession: () => undefined,
    onSetAside: () => undefined,
  });
  const running = upstream.run(stop.signal);
  await bench.clock.advance(days * DAY);
  stop.abort();
  await bench.clock.advance(10_000);
  await running;
  return upstream.bytes();
}

test("a metered month costs at most 1 MB, from its first connect", async () => {
  using bench = await idle({ profile: "metered" });
  await bench.clock.advance(2 * DAY);
  const first = since({}, bench);
  say("metered, two days of a whole agent", first);
  await bench.stop();
  const rest = totals(await speakFor(28, bench));
  say("metered, 28 days after a reconnect", rest);
  const month = sum(first) + sum(rest);
  console.log(`metered month: ${month} bytes`);
  expect(month).toBeLessThanOrEqual(1_000_000);
  expect(rest.get("reported")).toBeGreaterThan(27 * 1000);
  for (const bytes of [first, rest]) expect(bytes.has("pod")).toBe(false);
  expect(bench.broker.connects).toHaveLength(2);
}, 60_000);

test("what a metered node does not say: Normal events and the topics of pods", async () => {
  using bench = await idle({ profile: "metered" });
  expect(bench.broker.retainedTopics("agent/v1/node/pi-1/reported/pod/")).toEqual([]);
  expect(bench.broker.texts("agent/v1/node/pi-1/event")).toEqual([]);
  const resources = [aPodNamed("broken", { containers: [{ name: "a", image: "NOT:valid:x" }] })];
  bench.broker.publish("agent/v1/node/pi-1/desired", aDocument(2, { resources }));
  await bench.clock.advance(5 * MINUTE);
  const events = bench.broker.texts("agent/v1/node/pi-1/event").join("");
  expect(events).toContain('"type":"Warning"');
  expect(events).not.toContain('"type":"Normal"');
  await bench.stop();
});
