import { expect, test } from "bun:test";

import { classOf, LinkMeter } from "../../../../src/upstream/link/link-bytes.ts";

const NODE = "agent/v1/node/pi-1";

test.each([
  ["state", `${NODE}/state`],
  ["desired", `${NODE}/desired`],
  ["desired", "agent/v1/group/kiosks/desired"],
  ["desired", "agent/v1/group/kiosks/rollout"],
  ["reported", `${NODE}/reported`],
  ["pod", `${NODE}/reported/pod/default/web`],
  ["event", `${NODE}/event`],
  ["command", `${NODE}/command`],
  ["command", "agent/v1/group/kiosks/command"],
  ["response", `${NODE}/response`],
  ["response", `${NODE}/response/operator-1`],
  ["log", `${NODE}/log/default/web/main`],
  ["blob", `agent/v1/blob/${"a".repeat(64)}`],
  ["trust", "agent/v1/trust"],
  ["other", "somebody/elses"],
  ["other", undefined],
] as const)("%s: %s", (name, topic) => {
  expect(classOf("agent/v1", topic)).toBe(name);
});

test("adds up by class and direction", () => {
  const meter = new LinkMeter("agent/v1");
  expect(meter.bytes()).toEqual({});
  meter.count({ direction: "out", bytes: 100, topic: `${NODE}/state` });
  meter.count({ direction: "out", bytes: 20, topic: `${NODE}/state` });
  meter.count({ direction: "in", bytes: 3, topic: `${NODE}/desired` });
  meter.count({ direction: "in", bytes: 2 });
  expect(meter.bytes()).toEqual({
    state: { in: 0, out: 120 },
    desired: { in: 3, out: 0 },
    other: { in: 2, out: 0 },
  });
});
