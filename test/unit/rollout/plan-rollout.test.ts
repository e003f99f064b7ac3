import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { NO_ROLLOUT, type RolloutState } from "../../../src/api/pod/rollout.ts";
import { planRollout, type RolloutPolicy } from "../../../src/rollout/plan-rollout.ts";
import type { RolloutStep } from "../../../src/rollout/rollback.ts";
import type { TrialFacts, TrialHealth } from "../../../src/rollout/trial-facts.ts";
import { forgetBad } from "../../../src/rollout/bad-revisions.ts";

const OLD = { revision: "old", generation: 1 };
const NEW = { revision: "new", generation: 2 };
const ROLL_BACK: RolloutPolicy = { onFailure: "rollback", atomic: false };
const GOOD: RolloutState = { good: OLD, bad: [] };

function facts(more: Partial<TrialFacts> = {}): TrialFacts {
  return {
    wanted: NEW,
    minReadySeconds: 10,
    progressDeadlineSeconds: 600,
    retryFailed: false,
    now: 0,
    bootId: "boot-1",
    health: undefined,
    isMeantToFinish: false,
    registryAnswers: true,
    upstream: "NotNeeded",
    ...more,
  };
}

function health(stage: TrialHealth["stage"], more: Partial<TrialHealth> = {}): TrialHealth {
  return { stage, readySince: undefined, hasBegun: false, totalCrashes: 0, ...more };
}

function step(state: RolloutState, more: Partial<TrialFacts> = {}, policy = ROLL_BACK) {
  const [first] = planRollout(
    [{ name: "default/web", state, facts: facts(more) }],
    policy,
    new Map(),
  );
  if (first === undefined) throw new Error("no step");
  return first;
}

/** The new revision is on trial since 0, nothing of it is there yet. */
const BEGUN: RolloutState = step(GOOD).state;

/** Looks at the pod every 10 s for so long; what it is then. */
function over(seconds: number, state: RolloutState, more: Partial<TrialFacts>): RolloutStep {
  let last = step(state, more);
  for (let at = 10; at <= seconds; at += 10) last = step(last.state, { ...more, now: at * 1000 });
  return last;
}

const saidOf = ({ run, status }: RolloutStep): string =>
  `${run}: ${status.type}${"why" in status && typeof status.why !== "string" ? ` ${status.why.reason}` : ""}`;

describe("a new revision", () => {
  test("is tried, and that is written down first", () => {
    const { run, status, save, state } = step(GOOD);
    expect({ run, status, save }).toEqual({
      run: "Wanted",
      status: { type: "OnTrial" },
      save: true,
    });
    expect(state).toMatchObject({ good: OLD, trial: { revision: "new", elapsedMs: 0, boots: 1 } });
  });

  test("is good when it has been ready for minReadySeconds, not before", () => {
    const ready = health("Running", { readySince: 1_000 });
    expect(saidOf(step(BEGUN, { health: ready, now: 10_999 }))).toBe("Wanted: OnTrial");
    const done = step(BEGUN, { health: ready, now: 11_000 });
    expect(done).toMatchObject({ run: "Wanted", status: { type: "Good" }, save: true });
    expect(done.state).toEqual({ good: NEW, bad: [] });
  });

  test("that is meant to finish is good when it has succeeded", () => {
    const more = { isMeantToFinish: true, health: health("Succeeded") };
    expect(saidOf(step(GOOD, more))).toBe("Wanted: Good");
    expect(
      saidOf(
        step(GOOD, {
          isMeantToFinish: true,
          health: health("Running", { readySince: 0 }),
          now: 99_000,
        }),
      ),
    ).toBe("Wanted: OnTrial");
  });

  test.each<[string, Partial<TrialFacts>, string]>([
    [
      "an image that is not available",
      { fatal: { reason: "ImageNotFound", message: "" } },
      "ImageNotFound",
    ],
    ["a pod that has failed", { health: health("Failed") }, "PodFailed"],
    [
      "three crashes in a row",
      { health: health("Starting", { totalCrashes: 3 }) },
      "CrashLoopBackOff",
    ],
  ])("goes back at once: %s", (_name, more, reason) => {
    const { run, state, status, save } = step(BEGUN, more);
    expect({ run, save }).toEqual({ run: "Good", save: true });
    expect(status).toMatchObject({ type: "RolledBack", isKnownBad: false, why: { reason } });
    expect(state).toMatchObject({ good: OLD, bad: [{ ...NEW, reason }] });
    expect(state).not.toHaveProperty("trial");
  });

  test("two crashes are not three", () => {
    const crashed = { health: health("Starting", { totalCrashes: 2 }) };
    expect(saidOf(step(BEGUN, crashed))).toBe("Wanted: OnTrial");
  });

  test("that never becomes ready goes back when its time is over", () => {
    expect(saidOf(over(590, GOOD, { health: health("Running") }))).toBe("Wanted: OnTrial");
    expect(saidOf(over(600, GOOD, { health: health("Running") }))).toBe(
      "Good: RolledBack ProgressDeadlineExceeded",
    );
  });

  test("does not lose time while the registry does not answer, nor while it is held", () => {
    const pulling = health("Downloading");
    expect(saidOf(over(5_000, GOOD, { health: pulling, registryAnswers: false }))).toBe(
      "Wanted: OnTrial",
    );
    expect(saidOf(over(600, GOOD, { health: pulling }))).toBe(
      "Good: RolledBack ProgressDeadlineExceeded",
    );
    expect(saidOf(over(5_000, GOOD, { hold: "agent hold" }))).toBe("Good: Held");
  });

  test("once started is on the clock whatever happens, and no hold stops it", () => {
    const started = step(GOOD, { health: health("Running") });
    const offline = { health: health("Downloading"), registryAnswers: false, hold: "somebody" };
    const later = step(started.state, { ...offline, now: 600_000 });
    expect(saidOf(later)).toBe("Good: RolledBack ProgressDeadlineExceeded");
  });

  test("of a machine that boots for the third time while it is judged has failed", () => {
    const first = step(GOOD, { bootId: "boot-1" });
    const second = step(first.state, { bootId: "boot-2", now: 5_000 });
    expect(saidOf(second)).toBe("Wanted: OnTrial");
    expect(second.save).toBe(true);
    const third = step(second.state, { bootId: "boot-3", now: 5_000 });
    expect(saidOf(third)).toBe("Good: RolledBack RebootedTooOften");
  });

  test("must reach the broker again where it could have cut it off", () => {
    const ready = { health: health("Running", { readySince: 0 }) };
    expect(saidOf(over(590, GOOD, { ...ready, upstream: "Awaited" }))).toBe("Wanted: OnTrial");
    expect(saidOf(over(600, GOOD, { ...ready, upstream: "Awaited" }))).toBe(
      "Good: RolledBack UpstreamLost",
    );
    expect(saidOf(step(BEGUN, { ...ready, upstream: "Confirmed", now: 10_000 }))).toBe(
      "Wanted: Good",
    );
  });
});

describe("a revision that has failed", () => {
  const BAD: RolloutState = { good: OLD, bad: [{ ...NEW, reason: "PodFailed", message: "" }] };

  test("is not tried again, not by a newer document either", () => {
    expect(step(BAD)).toMatchObject({ run: "Good", save: true, status: { isKnownBad: false } });
    const newer = { wanted: { revision: "new", generation: 3 } };
    expect(step(BAD, newer)).toMatchObject({ run: "Good", status: { isKnownBad: true } });
  });

  test("is tried once more when a newer document asks for it, and only once", () => {
    const again = { wanted: { revision: "new", generation: 3 }, retryFailed: true };
    expect(saidOf(step(BAD, again))).toBe("Wanted: OnTrial");
    const failed = step(BAD, { ...again, health: health("Failed") });
    expect(saidOf(failed)).toBe("Good: RolledBack PodFailed");
    expect(failed.state.bad).toHaveLength(1);
    expect(saidOf(step(failed.state, again))).toBe("Good: RolledBack PodFailed");
  });

  test("is tried again when it is released, or when it is another one", () => {
    expect(saidOf(step(forgetBad(BAD)))).toBe("Wanted: OnTrial");
    expect(saidOf(step(BAD, { wanted: { revision: "newer", generation: 3 } }))).toBe(
      "Wanted: OnTrial",
    );
  });

  test("is forgotten after five others", () => {
    let state = GOOD;
    for (let generation = 2; generation < 9; generation += 1) {
      const wanted = { revision: `r${generation}`, generation };
      state = step(state, { wanted, health: health("Failed") }).state;
    }
    expect(state.bad.map(({ revision }) => revision)).toEqual(["r4", "r5", "r6", "r7", "r8"]);
  });

  test("with nothing to go back to goes on trying, and may yet become good", () => {
    const first = step(NO_ROLLOUT);
    const failed = step(first.state, { health: health("Starting", { totalCrashes: 3 }) });
    expect(saidOf(failed)).toBe("Wanted: Failed CrashLoopBackOff");
    expect(failed.save).toBe(true);
    const calm = step(failed.state, { health: health("Starting"), now: 60_000 });
    expect(saidOf(calm)).toBe("Wanted: Failed CrashLoopBackOff");
    const well = step(calm.state, { health: health("Running", { readySince: 0 }), now: 60_000 });
    expect(saidOf(well)).toBe("Wanted: Good");
  });

  test.each<[RolloutPolicy["onFailure"], string]>([
    ["keep", "Wanted: Failed PodFailed"],
    ["hold", "Nothing: Failed PodFailed"],
  ])("with onFailure %s does not go back", (onFailure, expected) => {
    const failed = step(GOOD, { health: health("Failed") }, { onFailure, atomic: false });
    expect(saidOf(failed)).toBe(expected);
    expect(failed.state).toMatchObject({
      good: OLD,
      bad: [],
      trial: { failed: { reason: "PodFailed" } },
    });
  });

  test("what is stopped stays stopped, although nothing is wrong with it any more, until a newer document asks", () => {
    const hold: RolloutPolicy = { onFailure: "hold", atomic: false };
    const failed = step(GOOD, { health: health("Failed") }, hold);
    const gone = step(failed.state, { health: undefined, now: 1_000 }, hold);
    expect(saidOf(gone)).toBe("Nothing: Failed PodFailed");
    const newer = { health: undefined, wanted: { ...NEW, generation: NEW.generation + 1 } };
    expect(saidOf(step(gone.state, newer, hold))).toBe("Nothing: Failed PodFailed");
    const again = step(gone.state, { ...newer, retryFailed: true }, hold);
    expect(saidOf(again)).toBe("Wanted: OnTrial");
    expect(again.save).toBe(true);
  });
});

test("of a pod that goes on with a new content what was before counts for nothing", () => {
  const before = { readySince: 0, totalCrashes: 7 };
  const first = step(GOOD, { now: 50_000, health: health("Running", before) });
  expect(saidOf(first)).toBe("Wanted: OnTrial");
  const later = (now: number, totalCrashes: number) =>
    step(first.state, { now, health: health("Running", { ...before, totalCrashes }) });
  expect(saidOf(later(59_999, 8))).toBe("Wanted: OnTrial");
  expect(saidOf(later(60_000, 8))).toBe("Wanted: Good");
  expect(saidOf(later(59_999, 10))).toBe("Good: RolledBack CrashLoopBackOff");
});

test("what crashed before a process that does not know the runtime yet counts for nothing", () => {
  const first = step(GOOD, { mayHaveRun: true });
  expect(saidOf(first)).toBe("Wanted: OnTrial");
  // Not looked at yet by the next process either.
  const next = step(first.state, { mayHaveRun: true, now: 10_000 });
  const crashed = (totalCrashes: number) => ({
    now: 20_000,
    health: health("Starting", { hasBegun: true, totalCrashes }),
  });
  const known = step(next.state, crashed(7));
  expect(saidOf(known)).toBe("Wanted: OnTrial");
  expect(known.save).toBe(true);
  expect(saidOf(step(known.state, crashed(9)))).toBe("Wanted: OnTrial");
  expect(saidOf(step(known.state, crashed(10)))).toBe("Good: RolledBack CrashLoopBackOff");
});

describe("a held update", () => {
  test("keeps what runs; without anything that runs it holds nothing", () => {
    expect(step(GOOD, { hold: "agent hold" })).toMatchObject({
      run: "Good",
      status: { type: "Held", why: "agent hold" },
    });
    expect(saidOf(step(NO_ROLLOUT, { hold: "agent hold" }))).toBe("Wanted: OnTrial");
  });
});

describe("an atomic document", () => {
  const all: RolloutPolicy = { onFailure: "rollback", atomic: true };
  const ready = health("Running", { readySince: 0 });
  function both(one: Partial<TrialFacts>, other: Partial<TrialFacts>): readonly string[] {
    const pods = [one, other].map((more, index) => ({
      name: `default/${index}`,
      state: "wanted" in more ? GOOD : BEGUN,
      facts: facts({ now: 20_000, ...more }),
    }));
    return planRollout(pods, all, new Map()).map(saidOf);
  }

  test("is good when all are", () => {
    expect(both({ health: ready }, { health: ready })).toEqual(["Wanted: Good", "Wanted: Good"]);
    expect(both({ health: ready }, {})).toEqual(["Wanted: OnTrial", "Wanted: OnTrial"]);
  });

  test("goes back as a whole", () => {
    expect(both({ health: ready }, { health: health("Failed") })).toEqual([
      "Good: RolledBack AtomicUpdate",
      "Good: RolledBack PodFailed",
    ]);
  });

  test("leaves what has not changed alone", () => {
    expect(both({ wanted: OLD }, { health: health("Failed") })).toEqual([
      "Wanted: Good",
      "Good: RolledBack PodFailed",
    ]);
  });

  test("writes nothing while a pod that is ready waits for one that is at work", () => {
    let states = [BEGUN, BEGUN];
    let saved = new Map<string, RolloutState>();
    const saves: number[] = [];
    for (let now = 20_000; now < 7_200_000; now += 20_000) {
      const pods = states.map((state, index) => ({
        name: `default/${index}`,
        state,
        facts: facts({ now, health: ready, isMeantToFinish: index === 1 }),
      }));
      const steps = planRollout(pods, all, saved);
      expect(steps.map(saidOf)).toEqual(["Wanted: OnTrial", "Wanted: OnTrial"]);
      saves.push(...steps.filter(({ save }) => save).map(() => now));
      states = steps.map(({ state }) => state);
      saved = new Map(
        steps.map(({ name, state, save }) => [name, save ? state : (saved.get(name) ?? state)]),
      );
    }
    expect(saves).toEqual([20_000, 20_000]);
  });

  test("is held as a whole", () => {
    expect(both({}, { hold: "lock" })).toEqual(["Good: Held", "Good: Held"]);
  });
});

describe("whatever happens", () => {
  const healths = fc.option(
    fc.record({
      stage: fc.constantFrom<TrialHealth["stage"]>(
        "Pending",
        "Downloading",
        "Starting",
        "Running",
        "Succeeded",
        "Failed",
      ),
      totalCrashes: fc.nat(4),
      hasBegun: fc.boolean(),
      readySince: fc.option(fc.constant(0), { nil: undefined }),
    }),
    { nil: undefined },
  );
  const moments = fc.array(
    fc.record({
      pass: fc.nat(200_000),
      health: healths,
      generation: fc.nat(3),
      revision: fc.constantFrom("old", "new", "newer"),
      registryAnswers: fc.boolean(),
      hold: fc.boolean(),
      retryFailed: fc.boolean(),
      upstream: fc.constantFrom<TrialFacts["upstream"]>("NotNeeded", "Awaited", "Confirmed"),
      onFailure: fc.constantFrom<RolloutPolicy["onFailure"]>("rollback", "hold", "keep"),
      reboot: fc.boolean(),
      crash: fc.boolean(),
    }),
    { maxLength: 40 },
  );

  test("nothing is good that has not been ready, what is run exists, and looking twice changes nothing", () => {
    fc.assert(
      fc.property(moments, (history) => {
        let state: RolloutState = NO_ROLLOUT;
        let saved: RolloutState | undefined;
        let now = 0;
        let generation = 1;
        let boot = 0;
        for (const moment of history) {
          generation += moment.generation;
          boot += moment.reboot ? 1 : 0;
          now = moment.reboot ? moment.pass : now + moment.pass;
          // A process that dies goes on from what is on the disk.
          if (moment.crash || moment.reboot) state = saved ?? NO_ROLLOUT;
          const {
            revision,
            hold,
            health: seen,
            reboot: _r,
            crash: _c,
            pass: _p,
            onFailure,
            generation: _g,
            ...rest
          } = moment;
          const input = facts({
            ...rest,
            now,
            bootId: `boot-${boot}`,
            wanted: { revision, generation },
            health: seen,
            ...(hold ? { hold: "held" } : {}),
          });
          const pods = [{ name: "web", state, facts: input }];
          const policy = { onFailure, atomic: false };
          const known = new Map(saved === undefined ? [] : [["web", saved]]);
          const [next] = planRollout(pods, policy, known);
          if (next === undefined) throw new Error("no step");
          if (next.run === "Good") expect(next.state.good).toBeDefined();
          if (next.state.good?.revision !== state.good?.revision) {
            const proven = seen?.stage === "Running" && seen.readySince !== undefined;
            expect(proven).toBe(true);
            expect(next.state.good).toEqual({ revision, generation });
          }
          expect(next.state.bad.length).toBeLessThanOrEqual(5);
          expect(next.state.bad.map((one) => one.revision)).not.toContain(
            next.state.good?.revision,
          );
          if (next.save) saved = next.state;
          const [again] = planRollout(
            [{ ...pods[0], name: "web", state: next.state, facts: input }],
            policy,
            new Map(saved === undefined ? [] : [["web", saved]]),
          );
          expect(again?.state).toEqual(next.state);
          expect(again?.save).toBe(false);
          expect(again?.run).toBe(next.run);
          state = next.state;
        }
      }),
      { numRuns: 500 },
    );
  });
});
