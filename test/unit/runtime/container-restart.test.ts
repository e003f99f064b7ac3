import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  crashLoopPolicy,
  rememberExit,
  rememberRestart,
  restartTime,
  shouldRestart,
  type RestartMemory,
} from "../../../src/runtime/container-restart.ts";
import { anInstance } from "../../fakes/a-pod.ts";

const policy = crashLoopPolicy(300_000);

/** A container that runs for `lifetimes` ms each time; the delays it was given. */
function delays(lifetimes: readonly number[]): number[] {
  let memory: RestartMemory | undefined;
  let now = 1_000;
  const given: number[] = [];
  for (const [index, lifetime] of lifetimes.entries()) {
    now += lifetime;
    const id = `a-${index}`;
    memory = rememberExit(memory, { id, seenAt: now }, policy);
    const at = Math.max(now, restartTime(memory, id));
    given.push(at - now);
    now = at;
    memory = rememberRestart(memory, now, policy);
  }
  return given;
}

describe("crash-loop back-off", () => {
  test("restarts at once, then after 10 s, 20 s … 300 s", () => {
    expect(delays(Array.from({ length: 8 }, () => 1_000))).toEqual([
      0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000,
    ]);
  });

  test("begins anew after ten minutes well, and not before", () => {
    expect(delays([1_000, 1_000, 1_000, 600_001, 1_000])).toEqual([0, 10_000, 20_000, 0, 10_000]);
    expect(delays([1_000, 1_000, 1_000, 599_000, 1_000])).toEqual([
      0, 10_000, 20_000, 40_000, 80_000,
    ]);
  });

  test("waiting is no wellness: a container that dies at once stays at the longest delay", () => {
    expect(delays(Array.from({ length: 12 }, () => 301_000)).slice(6)).toEqual(
      Array.from({ length: 6 }, () => 300_000),
    );
  });

  test("an exit that was seen before does not move the time", () => {
    const first = rememberExit(undefined, { id: "a-1", seenAt: 5_000 }, policy);
    expect(rememberExit(first, { id: "a-1", seenAt: 99_000 }, policy)).toBe(first);
  });

  test("is monotone for short lives and never exceeds the cap", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200_000), { maxLength: 20 }), (lifetimes) => {
        const given = delays(lifetimes);
        expect(given.toSorted((a, b) => a - b)).toEqual(given);
        expect(Math.max(0, ...given)).toBeLessThanOrEqual(300_000);
      }),
    );
  });

  test("a cap below ten seconds holds from the first delay", () => {
    expect(crashLoopPolicy(2_000).initial).toBe(2_000);
  });
});

test.each([
  ["Always", 0, true],
  ["Always", 1, true],
  ["OnFailure", 0, false],
  ["OnFailure", 137, true],
  ["Never", 0, false],
  ["Never", 1, false],
] as const)(
  "restartPolicy %s after exit code %i: restarts = %p",
  (restartPolicy, exitCode, answer) => {
    expect(shouldRestart(restartPolicy, anInstance("a", { state: "Exited", exitCode }))).toBe(
      answer,
    );
  },
);
