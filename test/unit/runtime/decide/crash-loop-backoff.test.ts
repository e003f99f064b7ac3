import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { BackoffPolicy } from "../../../../src/lib/backoff.ts";
import {
  crashLoopPolicy,
  rememberExit,
  rememberKill,
  rememberRestart,
  restartTime,
  shouldRestart,
  type RestartMemory,
} from "../../../../src/runtime/decide/crash-loop-backoff.ts";
import { anInstance, aPod } from "../../../fakes/a-pod.ts";

const policy = crashLoopPolicy(300_000);

/** A container that runs for `lifetimes` ms each time; the delays it was given. */
function delays(lifetimes: readonly number[], under: BackoffPolicy = policy): number[] {
  let memory: RestartMemory | undefined;
  let now = 1_000;
  const given: number[] = [];
  for (const [index, lifetime] of lifetimes.entries()) {
    now += lifetime;
    const id = `a-${index}`;
    memory = rememberExit(memory, { id, seenAt: now }, under);
    const at = Math.max(now, restartTime(memory, id));
    given.push(at - now);
    now = at;
    memory = rememberRestart(memory, now, under);
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
    expect(delays([1, 1, 1, 1], crashLoopPolicy(2_000))).toEqual([0, 2_000, 2_000, 2_000]);
  });

  test("any cap holds for any lives, and no delay is shorter than the one before in short ones", () => {
    const caps = fc.integer({ min: 1_000, max: 3_600_000 });
    fc.assert(
      fc.property(caps, fc.array(fc.nat(1_200_000), { maxLength: 20 }), (cap, lifetimes) => {
        const given = delays(lifetimes, crashLoopPolicy(cap));
        expect(Math.max(0, ...given)).toBeLessThanOrEqual(cap);
        for (const [index, delay] of given.entries()) {
          if (index > 0 && (lifetimes[index] ?? 0) + (given[index - 1] ?? 0) <= 600_000)
            expect(delay).toBeGreaterThanOrEqual(given[index - 1] ?? 0);
        }
      }),
    );
  });

  test("a cap that changes on the way holds from then on", () => {
    const cap = fc.integer({ min: 1_000, max: 300_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(cap, fc.nat(60_000)), { maxLength: 20 }), (lives) => {
        let memory: RestartMemory | undefined;
        let now = 0;
        for (const [index, [max, lifetime]] of lives.entries()) {
          now += lifetime;
          memory = rememberExit(memory, { id: `a-${index}`, seenAt: now }, crashLoopPolicy(max));
          expect(restartTime(memory, `a-${index}`) - now).toBeLessThanOrEqual(max);
          now = Math.max(now, restartTime(memory, `a-${index}`));
          memory = rememberRestart(memory, now, crashLoopPolicy(max));
        }
      }),
    );
  });
});

describe("the wait of a container", () => {
  const exit = { id: "a-1", seenAt: 5_000 };

  test("is none for an exit that nothing is remembered of", () => {
    expect(restartTime(undefined, "a-0")).toBe(0);
    expect(restartTime({ backoff: undefined, exit }, "a-1")).toBe(0);
  });

  test("is none for another exit than the one remembered", () => {
    expect(restartTime({ backoff: { delay: 40_000, at: 0 }, exit }, "a-2")).toBe(0);
  });

  test("begins when the exit was seen", () => {
    expect(restartTime({ backoff: { delay: 40_000, at: 0 }, exit }, "a-1")).toBe(45_000);
  });

  test("becomes shorter when the cap is lowered while it lasts", () => {
    const waiting = { backoff: { delay: 160_000, at: 0 }, exit };
    const lower = rememberExit(waiting, exit, crashLoopPolicy(20_000));
    expect(restartTime(lower, "a-1")).toBe(25_000);
  });

  test("does not become longer when the cap is raised while it lasts", () => {
    const waiting = { backoff: { delay: 20_000, at: 0 }, exit };
    expect(rememberExit(waiting, exit, policy)).toBe(waiting);
  });

  test("is capped from the next exit on, however long the last one was", () => {
    const before = { backoff: { delay: 300_000, at: 0 }, exit: undefined };
    const now = rememberExit(before, exit, crashLoopPolicy(20_000));
    expect(restartTime(now, "a-1")).toBe(25_000);
  });
});

describe("an instance that was ended to make room for another", () => {
  const spec = aPod({ restartPolicy: "OnFailure" }).spec;
  const [container] = spec.containers;
  const follows = (memory: RestartMemory | undefined, of: PodSpec = spec): boolean => {
    const exited = anInstance("a", { state: "Exited", exitCode: 0 });
    return shouldRestart(of, { container: of.containers[0]!, exited, memory });
  };
  const killed = rememberKill(undefined, { id: "a-0", always: false });

  test("is followed by another though it exited with 0", () => {
    expect(container).toBeDefined();
    expect(follows(undefined)).toBe(false);
    expect(follows(killed)).toBe(true);
  });

  test("is followed by none under Never, unless it was not what the pod asks for", () => {
    const never = aPod({ restartPolicy: "Never" }).spec;
    expect(follows(killed, never)).toBe(false);
    expect(follows(rememberKill(undefined, { id: "a-0", always: true }), never)).toBe(true);
  });

  test("is remembered when its end is seen, and after a start that failed", () => {
    const seen = rememberExit(killed, { id: "a-0", seenAt: 5_000 }, policy);
    expect(follows(seen)).toBe(true);
    const tried = rememberRestart(seen, 6_000, policy);
    expect(follows(tried)).toBe(true);
    expect(restartTime(rememberExit(tried, { id: "a-0", seenAt: 7_000 }, policy), "a-0")).toBe(
      17_000,
    );
  });

  test("does not apply to the next instance", () => {
    const other = rememberKill(undefined, { id: "a-7", always: true });
    expect(follows(other)).toBe(false);
  });

  test("keeps the back-off of the instances before it", () => {
    const memory = { backoff: { delay: 40_000, at: 0 }, exit: undefined };
    const again = rememberExit(
      rememberKill(memory, { id: "a-0", always: false }),
      { id: "a-0", seenAt: 5_000 },
      policy,
    );
    expect(restartTime(again, "a-0")).toBe(45_000);
  });
});
