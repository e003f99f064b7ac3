import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { EVICTION_SIGNALS, parseThreshold } from "../../../src/config/eviction-config.ts";
import {
  observations,
  type NodeReading,
  type Observations,
} from "../../../src/eviction/signals.ts";
import {
  actingThresholds,
  isMemoryNear,
  isMet,
  nextPressure,
  NO_PRESSURE,
  thresholdsOf,
  type PressureState,
  type Threshold,
} from "../../../src/eviction/thresholds.ts";

const MIB = 1024 ** 2;
const NOTHING = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
};
const TRANSITION_MS = 300_000;

function memory(available: number, capacity = 1000): Observations {
  return new Map([["memory.available", { capacity: capacity * MIB, available: available * MIB }]]);
}

function hard(value: string, minimum?: string): readonly Threshold[] {
  const reclaim = minimum === undefined ? {} : { "memory.available": minimum };
  const evictionHard = { "memory.available": value };
  return thresholdsOf({ ...NOTHING, evictionHard, evictionMinimumReclaim: reclaim });
}

describe("a threshold as written", () => {
  test.each([
    ["100Mi", { units: 100 * MIB }],
    ["5000", { units: 5000 }],
    ["10%", { share: 0.1 }],
    [" 2.5% ", { share: 0.025 }],
    ["0", { units: 0 }],
    ["101%", undefined],
    ["-1", undefined],
    ["lots", undefined],
    ["%", undefined],
    ["", undefined],
  ] as const)("%p is %p", (written, expected) => {
    expect(parseThreshold(written)).toEqual(expected);
  });

  test("0% and 100% turn a signal off, as in the kubelet", () => {
    expect(hard("0%")).toEqual([]);
    expect(hard("100%")).toEqual([]);
  });

  test("memory comes first, and the pods' own cgroup has the hard threshold too", () => {
    const evictionHard = {
      "pid.available": "10",
      "nodefs.available": "1%",
      "memory.available": "1Mi",
    };
    const evictionSoft = { "memory.available": "2Mi" };
    const evictionSoftGracePeriod = { "memory.available": 60_000 };
    const all = thresholdsOf({ ...NOTHING, evictionHard, evictionSoft, evictionSoftGracePeriod });
    expect(all.map(({ signal, softGraceMs }) => [signal, softGraceMs])).toEqual([
      ["memory.available", undefined],
      ["memory.available", 60_000],
      ["allocatableMemory.available", undefined],
      ["nodefs.available", undefined],
      ["pid.available", undefined],
    ]);
  });
});

describe("a threshold is met", () => {
  test("when less is available, not when exactly as much is", () => {
    const [threshold] = hard("100Mi");
    if (threshold === undefined) throw new Error("no threshold");
    expect(isMet(threshold, memory(99), false)).toBe(true);
    expect(isMet(threshold, memory(100), false)).toBe(false);
    expect(isMet(threshold, new Map(), false)).toBe(false);
  });

  test("as a share of the capacity", () => {
    const [threshold] = hard("10%");
    if (threshold === undefined) throw new Error("no threshold");
    expect(isMet(threshold, memory(99), false)).toBe(true);
    expect(isMet(threshold, memory(100), false)).toBe(false);
  });

  test("until its minimum reclaim is available too", () => {
    const thresholds = hard("100Mi", "50Mi");
    let state = look(NO_PRESSURE, thresholds, memory(120), 0);
    expect(state.met.size).toBe(0);
    state = look(state, thresholds, memory(90), 1);
    expect(state.met.size).toBe(1);
    state = look(state, thresholds, memory(120), 2);
    expect(state.met.size).toBe(1);
    state = look(state, thresholds, memory(150), 3);
    expect(state.met.size).toBe(0);
  });
});

function look(
  before: PressureState,
  thresholds: readonly Threshold[],
  observed: Observations,
  now: number,
): PressureState {
  const transitionMs = TRANSITION_MS;
  return nextPressure(before, { thresholds, observations: observed, now, transitionMs });
}

describe("a soft threshold", () => {
  const thresholds = thresholdsOf({
    ...NOTHING,
    evictionSoft: { "memory.available": "100Mi" },
    evictionSoftGracePeriod: { "memory.available": 90_000 },
  });

  test("is pressure at once, and acts after its grace period", () => {
    let state = look(NO_PRESSURE, thresholds, memory(50), 1000);
    expect([...state.conditions.keys()]).toEqual(["MemoryPressure"]);
    expect(actingThresholds(state)).toEqual([]);
    state = look(state, thresholds, memory(50), 90_999);
    expect(actingThresholds(state)).toEqual([]);
    state = look(state, thresholds, memory(50), 91_000);
    expect(actingThresholds(state)).toHaveLength(1);
  });

  test("counts anew after it was not met", () => {
    let state = look(NO_PRESSURE, thresholds, memory(50), 0);
    state = look(state, thresholds, memory(200), 60_000);
    state = look(state, thresholds, memory(50), 70_000);
    state = look(state, thresholds, memory(50), 100_000);
    expect(actingThresholds(state)).toEqual([]);
  });
});

describe("a soft threshold with a minimum reclaim", () => {
  const thresholds = thresholdsOf({
    ...NOTHING,
    evictionSoft: { "memory.available": "100Mi" },
    evictionSoftGracePeriod: { "memory.available": 90_000 },
    evictionMinimumReclaim: { "memory.available": "50Mi" },
  });

  test("is over within its grace period as soon as the threshold itself is available", () => {
    let state = look(NO_PRESSURE, thresholds, memory(90), 0);
    state = look(state, thresholds, memory(120), 80_000);
    expect(state.met.size).toBe(0);
    state = look(state, thresholds, memory(120), 90_000);
    expect(actingThresholds(state)).toEqual([]);
  });

  test("acts on until the reclaim is available once its grace period is over", () => {
    let state = look(NO_PRESSURE, thresholds, memory(90), 0);
    state = look(state, thresholds, memory(90), 90_000);
    state = look(state, thresholds, memory(149), 100_000);
    expect(actingThresholds(state)).toHaveLength(1);
    state = look(state, thresholds, memory(150), 110_000);
    expect(state.met.size).toBe(0);
  });
});

test("a condition stays for the transition period after its threshold was last met", () => {
  const thresholds = hard("100Mi");
  let state = look(NO_PRESSURE, thresholds, memory(50), 0);
  state = look(state, thresholds, memory(50), 10_000);
  state = look(state, thresholds, memory(500), 10_000 + TRANSITION_MS - 1);
  expect(state.conditions.size).toBe(1);
  expect(actingThresholds(state)).toEqual([]);
  state = look(state, thresholds, memory(500), 10_000 + TRANSITION_MS);
  expect(state.conditions.size).toBe(0);
});

test("a condition holds exactly if a threshold of it was met within the transition period", () => {
  const thresholds = hard("100Mi");
  const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 200_000 }), fc.boolean()), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(steps, (looks) => {
      let [state, now] = [NO_PRESSURE, 0];
      let last = Number.NEGATIVE_INFINITY;
      for (const [pause, isShort] of looks) {
        now += pause;
        if (isShort) last = now;
        state = look(state, thresholds, memory(isShort ? 50 : 500), now);
        expect(state.conditions.has("MemoryPressure")).toBe(now - last < TRANSITION_MS);
        expect(actingThresholds(state)).toHaveLength(isShort ? 1 : 0);
      }
    }),
  );
});

test("memory is near with less than three times its threshold or a quarter, and no disk is", () => {
  expect(isMemoryNear(hard("100Mi"), memory(299))).toBe(true);
  expect(isMemoryNear(hard("100Mi"), memory(300))).toBe(false);
  expect(isMemoryNear(hard("100Mi"), memory(999, 4000))).toBe(true);
  expect(isMemoryNear(hard("100Mi"), memory(1000, 4000))).toBe(false);
  expect(isMemoryNear([], memory(1))).toBe(false);
  const ofDisk = thresholdsOf({ ...NOTHING, evictionHard: { "nodefs.available": "10%" } });
  const full = new Map([["nodefs.available", { capacity: 100, available: 1 }]] as const);
  expect(isMemoryNear(ofDisk, full)).toBe(false);
});

test("every signal of the configuration can be observed", () => {
  const room = { capacity: 10, available: 1 };
  const disk = { device: "1", bytes: room, inodes: room };
  const reading: NodeReading = {
    memory: room,
    podsMemory: room,
    pids: room,
    nodefs: disk,
    imagefs: disk,
  };
  const seen = observations(reading);
  for (const signal of EVICTION_SIGNALS) expect([signal, seen.get(signal)]).toEqual([signal, room]);
  expect(observations({ ...reading, imagefs: undefined }).has("containerfs.available")).toBe(false);
});
