// The whole agent on a board whose supply, temperature, card and clock have trouble: what the node says, and for how long.

import { expect, test } from "bun:test";
import type { BoardReadings } from "../../src/host/board.ts";
import type { NodeCondition } from "../../src/api/v1/pod-status.ts";
import { UpstreamBench } from "./upstream-bench.ts";

const MINUTE = 60_000;
const CALM: BoardReadings = {
  cpu: { celsius: 51.4, throttlesAt: 80 },
  throttled: 0,
  storage: [{ device: "mmcblk0", lifeTime: "0x01 0x01", endOfLife: "0x01" }],
};

function isOfBoard({ type }: NodeCondition): boolean {
  return ["UnderVoltage", "ThermalThrottling", "StorageWear", "ClockUntrusted"].includes(type);
}

/** `UnderVoltage True VoltageLow`, … */
function shown(conditions: readonly NodeCondition[] = []): readonly string[] {
  return conditions
    .filter(isOfBoard)
    .map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

const QUIET = [
  "UnderVoltage False VoltageOk",
  "ThermalThrottling False FullSpeed",
  "StorageWear False StorageOk",
];

test("trouble of the board is a condition and an event, here and upstream, and ends ten minutes after it", async () => {
  let readings = CALM;
  let isSynchronised = true;
  using bench = new UpstreamBench({
    edges: { board: () => readings, clockSynchronised: () => isSynchronised },
  });
  bench.start();
  await bench.clock.advance(2 * MINUTE);
  const here = (): readonly string[] => shown(bench.facts.node().status.conditions);
  const upstream = (): readonly string[] => shown(bench.report()?.status.conditions);
  expect([here(), upstream()]).toEqual([QUIET, QUIET]);
  expect(bench.facts.node().cpuCelsius).toBe(51);

  readings = {
    cpu: { celsius: 84.6, throttlesAt: 80 },
    throttled: 0x1_0001,
    storage: [{ device: "mmcblk0", lifeTime: "0x0b 0x01", endOfLife: "0x01" }],
  };
  isSynchronised = false;
  await bench.clock.advance(2 * MINUTE);
  const trouble = [
    "UnderVoltage True VoltageLow",
    "ThermalThrottling True CPUSlowedDown",
    "StorageWear True NearlyWornOut",
    "ClockUntrusted True NotSynchronised",
  ];
  expect([here(), upstream()]).toEqual([trouble, trouble]);
  expect(bench.facts.node().cpuCelsius).toBe(85);
  const events = bench.facts.events().map(({ reason }) => reason);
  for (const reason of ["VoltageLow", "CPUSlowedDown", "NearlyWornOut"])
    expect(events.filter((one) => one === reason)).toEqual([reason]);

  readings = { ...CALM, throttled: 0x1_0000 };
  isSynchronised = true;
  await bench.clock.advance(5 * MINUTE);
  expect(here().slice(0, 2)).toEqual(trouble.slice(0, 2));
  await bench.clock.advance(10 * MINUTE);
  const after = ["UnderVoltage False VoltageWasLow", ...QUIET.slice(1)];
  expect([here(), upstream()]).toEqual([after, after]);
  const ready = bench.facts.node().status.conditions.find(({ type }) => type === "Ready");
  expect(ready?.status).toBe("True");
  await bench.stop();
});

test("a board without sensors has no condition, and a report neither images nor what only the node shows", async () => {
  using bench = new UpstreamBench();
  bench.start();
  await bench.clock.advance(2 * MINUTE);
  expect(shown(bench.facts.node().status.conditions)).toEqual([]);
  expect(Object.keys(bench.report()?.status ?? {}).toSorted()).toEqual([
    "addresses",
    "allocatable",
    "capacity",
    "conditions",
    "nodeInfo",
  ]);
  await bench.stop();
});
