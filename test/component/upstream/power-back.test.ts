// Power comes back everywhere at once, or the broker does: no second holds more than a tenth of the fleet's connects.

import { expect, test } from "bun:test";
import { BrokerClient } from "../../harness/broker-client.ts";
import { eventually } from "../../harness/eventually.ts";
import { Mosquitto } from "../mqtt/mosquitto.ts";
import { PowerFleet } from "./power-fleet.ts";

const NODES = 200;
const JUST_BOOTED_MS = 20_000;
const LONG_UP_MS = 3_600_000;
const MOST_A_SECOND = NODES / 10;
const TIMEOUT_MS = 120_000;

/** One line for each second since `from`. */
function show(what: string, fleet: PowerFleet, from: number): void {
  const connects = fleet.perSecond("connect", from);
  const subscribes = fleet.perSecond("subscribe", from);
  const publishes = fleet.perSecond("publish", from);
  const most = Math.max(...connects);
  const lines = connects.map((count, second) => {
    const bar = "#".repeat(count).padEnd(MOST_A_SECOND);
    const beside = `${subscribes[second] ?? 0} SUBSCRIBE, ${publishes[second] ?? 0} PUBLISH`;
    return `${String(second).padStart(4)} s ${bar} ${String(count).padStart(3)}   ${beside}`;
  });
  const share = `${most} of ${NODES} connects in the fullest second: ${((most / NODES) * 100).toFixed(1)} %`;
  console.log([`${what}: ${share}`, ...lines].join("\n"));
}

function expectSpread(fleet: PowerFleet, from: number): void {
  const connects = fleet.perSecond("connect", from);
  expect(connects.reduce((sum, count) => sum + count, 0)).toBe(NODES);
  expect(Math.max(...connects)).toBeLessThanOrEqual(MOST_A_SECOND);
  // What follows a connect comes with it, not in step.
  for (const deed of ["subscribe", "publish"] as const) {
    const each = fleet.perSecond(deed, from);
    const all = each.reduce((sum, count) => sum + count, 0);
    expect(all).toBeGreaterThanOrEqual(NODES);
    expect(Math.max(...each)).toBeLessThanOrEqual(all / 10);
  }
}

/** Every node's birth and report, as the broker has them. */
async function expectHeard(broker: Mosquitto): Promise<void> {
  await using client = await BrokerClient.connect(broker.url);
  const births = await client.collect("agent/v1/node/+/state");
  const reports = await client.collect("agent/v1/node/+/reported");
  const online = () => births.messages.filter(({ payload }) => payload.includes('"online"'));
  await eventually("every birth and report is there", () => {
    const topics = new Set([...online(), ...reports.messages].map(({ topic }) => topic));
    return topics.size === 2 * NODES;
  });
}

test(
  "200 machines that boot in the same second connect over half a minute",
  async () => {
    await using broker = await Mosquitto.start();
    await using fleet = await PowerFleet.make({
      nodes: NODES,
      url: broker.url,
      uptime: JUST_BOOTED_MS,
    });
    const from = fleet.clock.monotonic();
    fleet.start();
    await fleet.clock.advance(40_000);
    show("power comes back", fleet, from);
    expectSpread(fleet, from);
    expect(fleet.perSecond("connect", from).length).toBeLessThanOrEqual(30);
    await expectHeard(broker);
  },
  TIMEOUT_MS,
);

test(
  "the broker goes away for a minute, and all of them come back",
  async () => {
    await using broker = await Mosquitto.start();
    await using fleet = await PowerFleet.make({
      nodes: NODES,
      url: broker.url,
      uptime: LONG_UP_MS,
    });
    fleet.start();
    await fleet.clock.advance(90_000);
    expect(fleet.traffic.live).toBe(NODES);
    await broker.stop();
    await eventually("all of them know", () => fleet.traffic.live === 0);
    await fleet.clock.advance(60_000);
    const from = fleet.clock.monotonic();
    await broker.start();
    await fleet.clock.advance(400_000);
    show("the broker was away for a minute", fleet, from);
    expectSpread(fleet, from);
    await expectHeard(broker);
  },
  TIMEOUT_MS,
);
