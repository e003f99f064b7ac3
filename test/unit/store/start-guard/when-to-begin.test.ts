import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  isSuspect,
  nextDueAt,
  nextToTry,
  notBefore,
  waitMessage,
} from "../../../../src/store/start-guard/when-to-begin.ts";

const STARTED = 1_000;
const MINUTE = 60_000;
const alone = { startedAt: STARTED, askedAt: undefined };
const asked = { startedAt: STARTED, askedAt: STARTED + 4_000 };

test("one death is no suspicion, two are", () => {
  expect([0, 1, 2, 3].map(isSuspect)).toEqual([false, false, true, true]);
});

describe("the earliest try", () => {
  test("after two deaths is when MQTT was asked, without an answer a minute after the start", () => {
    expect(notBefore(2, asked)).toBe(STARTED + 4_000);
    expect(notBefore(2, alone)).toBe(STARTED + MINUTE);
    expect(notBefore(2, { startedAt: STARTED, askedAt: STARTED + 2 * MINUTE })).toBe(
      STARTED + MINUTE,
    );
  });

  test("from the third death on is 5 minutes after the start, doubled up to an hour", () => {
    const minutes = [3, 4, 5, 6, 7, 50].map(
      (deaths) => (notBefore(deaths, asked) - STARTED) / MINUTE,
    );
    expect(minutes).toEqual([5, 10, 20, 40, 60, 60]);
  });

  test("is never given up, and never earlier after one more death", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 1_000 }), fc.boolean(), (deaths, isAsked) => {
        const times = isAsked ? asked : alone;
        expect(notBefore(deaths, times)).toBeLessThanOrEqual(STARTED + 60 * MINUTE);
        expect(notBefore(deaths + 1, times)).toBeGreaterThanOrEqual(notBefore(deaths, times));
      }),
    );
  });
});

describe("of several that wait", () => {
  const [often, first, second] = [
    { name: "often", deaths: 3 },
    { name: "first", deaths: 2 },
    { name: "second", deaths: 2 },
  ];

  test("the one with the fewest deaths is tried first, then the one that has waited longest", () => {
    expect(nextToTry([often, first, second], STARTED + 10 * MINUTE, asked)).toBe(first);
    expect(nextToTry([often, second, first], STARTED + 10 * MINUTE, asked)).toBe(second);
  });

  test("nothing is tried before it is due", () => {
    expect(nextToTry([often, first], STARTED + 3_999, asked)).toBeUndefined();
    expect(nextToTry([often], STARTED + 4 * MINUTE, asked)).toBeUndefined();
    expect(nextDueAt([often, first], asked)).toBe(STARTED + 4_000);
    expect(nextDueAt([], asked)).toBeUndefined();
  });
});

test("the message says what happened, when it is tried again and what to do", () => {
  const hand = { kind: "Pod", id: "u-1", name: "default/web" } as const;
  expect(waitMessage(hand, 2)).toBe(
    "the agent ended 2 times while it worked on pod default/web; it goes on without and tries again once the broker was asked for a newer document, at most 60 s after the start; if that keeps happening, change or remove the pod",
  );
  expect(waitMessage({ ...hand, kind: "File", name: "/m/web.yaml" }, 4)).toContain(
    "while it read /m/web.yaml; it goes on without and tries again 10 min after the start; if that keeps happening, replace the file or remove it",
  );
});
