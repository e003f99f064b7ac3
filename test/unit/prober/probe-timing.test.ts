import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Probe } from "../../../src/api/v1/probe.ts";
import {
  firstProbe,
  giveUpAt,
  mayHaveRunBefore,
  nextProbe,
} from "../../../src/prober/probe-timing.ts";

const probe: Probe = {
  handler: { type: "tcpSocket", port: 80 },
  initialDelaySeconds: 30,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

describe("the first question", () => {
  const sighting = { probe, seen: 1000, random: 0.5 };

  test("to a new instance comes exactly after the initial delay", () => {
    for (const kind of ["liveness", "readiness", "startup"] as const)
      expect(firstProbe({ ...sighting, kind, ranBefore: false })).toEqual({
        at: 31_000,
        failuresFrom: 31_000,
      });
  });

  test("to one that ran before comes somewhere in a period; none may kill it before the delay", () => {
    const ranBefore = true;
    expect(firstProbe({ ...sighting, kind: "liveness", ranBefore })).toEqual({
      at: 36_000,
      failuresFrom: 31_000,
    });
    expect(firstProbe({ ...sighting, kind: "startup", ranBefore })).toEqual({
      at: 6000,
      failuresFrom: 31_000,
    });
    expect(firstProbe({ ...sighting, kind: "readiness", ranBefore })).toEqual({
      at: 6000,
      failuresFrom: 1000,
    });
  });

  test("is spread only right after the agent's start", () => {
    expect(mayHaveRunBefore(9_999)).toBe(true);
    expect(mayHaveRunBefore(10_000)).toBe(false);
  });

  test("is spread over ten seconds at most, even if the period is a day", () => {
    const daily = { ...probe, periodSeconds: 86_400 };
    const first = firstProbe({
      probe: daily,
      seen: 0,
      random: 0.9,
      kind: "readiness",
      ranBefore: true,
    });
    expect(first.at).toBe(9000);
  });
});

describe("the next question", () => {
  test("comes a period after the last one was due, however long that took", () => {
    expect(nextProbe(probe, 1000, 1500)).toEqual({ at: 11_000, due: 11_000 });
    expect(nextProbe(probe, 1000, 10_999)).toEqual({ at: 11_000, due: 11_000 });
  });

  test("comes at once when the last one took longer than a period, and then in step again", () => {
    const late = nextProbe(probe, 1000, 25_000);
    expect(late).toEqual({ at: 25_000, due: 21_000 });
    expect(nextProbe(probe, late.due, 25_100)).toEqual({ at: 31_000, due: 31_000 });
  });

  test("never comes before now, nor more than a period later, and keeps the step", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.nat(1_000_000),
        fc.nat(1_000_000),
        (periodSeconds, due, took) => {
          const next = nextProbe({ ...probe, periodSeconds }, due, due + took);
          expect(next.at).toBeGreaterThanOrEqual(due + took);
          expect(next.at).toBeLessThanOrEqual(due + took + periodSeconds * 1000);
          expect((next.due - due) % (periodSeconds * 1000)).toBe(0);
        },
      ),
    );
  });
});

test("an edge without an end is given up long after its time", () => {
  expect(giveUpAt(probe, 1000)).toBe(32_000);
});
