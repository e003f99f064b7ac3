// A Job step by step: a table, and properties against a model that only counts.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { MAX_PARALLEL, type JobSpec } from "../../../../src/api/workload/job.ts";
import {
  jobDueAt,
  MAX_KEPT,
  newJob,
  stepJob,
  type JobState,
  type PodOutcome,
} from "../../../../src/source/workload/job-state.ts";

const SPEC: JobSpec = {
  backoffLimit: 6,
  suspend: false,
  completionMode: "NonIndexed",
};

const ON_FAILURE: Partial<JobSpec> = { template: { spec: { restartPolicy: "OnFailure" } } };

/** A Job whose pods end as the test wants. */
class Runner {
  spec: JobSpec;
  state: JobState = newJob("boot-1");
  now = 1000;
  bootId = "boot-1";
  readonly outcomes = new Map<string, PodOutcome>();

  constructor(spec: Partial<JobSpec> = {}) {
    this.spec = { ...SPEC, ...spec };
    this.step();
  }

  step(): void {
    const facts = {
      now: this.now,
      bootId: this.bootId,
      outcome: ({ suffix }: { readonly suffix: string }): PodOutcome =>
        this.outcomes.get(suffix) ?? { type: "Active", restarts: 0 },
    };
    this.state = stepJob(this.spec, this.state, facts);
    // A fixed point.
    expect(stepJob(this.spec, this.state, facts)).toEqual(this.state);
    const due = jobDueAt(this.spec, this.state);
    if (due !== undefined) expect(due).toBeGreaterThan(this.now);
  }

  get active(): readonly string[] {
    return this.state.pods.filter(({ ended }) => ended === undefined).map(({ suffix }) => suffix);
  }

  ends(suffix: string, how: "Succeeded" | "Failed", exitCode = 1): void {
    this.outcomes.set(
      suffix,
      how === "Succeeded"
        ? { type: "Succeeded" }
        : { type: "Failed", exits: [{ container: "a", exitCode }], conditions: [] },
    );
    this.step();
  }

  passes(ms: number): void {
    this.now += ms;
    this.step();
  }
}

describe("a Job", () => {
  test("runs one pod to its end, once", () => {
    const job = new Runner();
    expect(job.active).toEqual(["0"]);
    job.ends("0", "Succeeded");
    expect(job.state.end?.type).toBe("Complete");
    job.passes(86_400_000);
    expect(job.active).toEqual([]);
  });

  test("runs as many at once as parallelism permits, until enough have succeeded", () => {
    const job = new Runner({ completions: 3, parallelism: 2 });
    expect(job.active).toEqual(["0", "1"]);
    job.ends("1", "Succeeded");
    expect(job.active).toEqual(["0", "2"]);
    job.ends("0", "Succeeded");
    expect(job.active).toEqual(["2"]);
    job.ends("2", "Succeeded");
    expect(job.state.end?.type).toBe("Complete");
  });

  test("of a work queue starts no pod after a success, and waits for the others", () => {
    const job = new Runner({ parallelism: 2 });
    job.ends("0", "Succeeded");
    expect([job.active, job.state.end]).toEqual([["1"], undefined]);
    job.ends("1", "Failed");
    expect(job.state.end?.type).toBe("Complete");
  });

  test("tries a failed pod again after a growing pause, until the limit", () => {
    const job = new Runner({ backoffLimit: 2 });
    job.ends("0", "Failed");
    expect(job.active).toEqual([]);
    job.passes(9_999);
    expect(job.active).toEqual([]);
    job.passes(1);
    expect(job.active).toEqual(["1"]);
    job.ends("1", "Failed");
    job.passes(19_999);
    expect(job.active).toEqual([]);
    job.passes(1);
    job.ends("2", "Failed");
    expect(job.state.end).toMatchObject({ type: "Failed", reason: "BackoffLimitExceeded" });
  });

  test("counts restarts in place", () => {
    const job = new Runner({ ...ON_FAILURE, backoffLimit: 2 });
    job.outcomes.set("0", { type: "Active", restarts: 1 });
    job.step();
    expect(job.state.end).toBeUndefined();
    job.outcomes.set("0", { type: "Active", restarts: 2 });
    job.step();
    expect([job.active, job.state.end?.reason]).toEqual([[], "BackoffLimitExceeded"]);
  });

  test("does not count restarts of the sidecars of pods that never restart", () => {
    const job = new Runner({ backoffLimit: 2 });
    job.outcomes.set("0", { type: "Active", restarts: 9 });
    job.step();
    expect([job.active, job.state.end]).toEqual([["0"], undefined]);
  });

  test("fails at the first restart in place if it may not fail at all", () => {
    const job = new Runner({ ...ON_FAILURE, backoffLimit: 0 });
    job.outcomes.set("0", { type: "Active", restarts: 1 });
    job.step();
    expect(job.state.end?.reason).toBe("BackoffLimitExceeded");
  });

  test("that is suspended has no deadline; it begins anew with the next start", () => {
    const job = new Runner({ activeDeadlineSeconds: 60 });
    job.spec = { ...job.spec, suspend: true };
    job.passes(61_000);
    expect([job.active, job.state.end]).toEqual([[], undefined]);
    job.spec = { ...job.spec, suspend: false };
    job.step();
    job.passes(59_999);
    expect(job.active).toEqual(["1"]);
    job.passes(1);
    expect(job.state.end?.reason).toBe("DeadlineExceeded");
  });

  test("fails at its deadline, which begins anew after a reboot", () => {
    const job = new Runner({ activeDeadlineSeconds: 60 });
    job.passes(59_000);
    job.bootId = "boot-2";
    job.now = 5;
    job.step();
    expect(job.active).toEqual(["0"]);
    job.passes(59_999);
    expect(job.active).toEqual(["0"]);
    job.passes(1);
    expect([job.active, job.state.end?.reason]).toEqual([[], "DeadlineExceeded"]);
  });

  test("lets its pods go when it has been over for long enough, and remembers that it ran", () => {
    const job = new Runner({ ttlSecondsAfterFinished: 10 });
    job.ends("0", "Succeeded");
    expect(job.state.pods).toHaveLength(1);
    job.passes(10_000);
    expect(job.state).toMatchObject({ pods: [], expired: true, end: { type: "Complete" } });
    expect(jobDueAt(job.spec, job.state)).toBeUndefined();
  });

  test("that is suspended stops its pods without counting them, and goes on later", () => {
    const job = new Runner({ completions: 2 });
    job.ends("0", "Succeeded");
    job.spec = { ...job.spec, suspend: true };
    job.step();
    expect([job.active, job.state.failed]).toEqual([[], 0]);
    job.spec = { ...job.spec, suspend: false };
    job.step();
    expect(job.active).toEqual(["2"]);
    job.ends("2", "Succeeded");
    expect(job.state.end?.type).toBe("Complete");
  });

  test("with indexes runs each until it has succeeded once", () => {
    const job = new Runner({ completionMode: "Indexed", completions: 3, parallelism: 2 });
    expect(job.active).toEqual(["0-0", "1-1"]);
    job.ends("0-0", "Failed");
    job.passes(10_000);
    expect(job.active).toEqual(["1-1", "0-2"]);
    job.ends("1-1", "Succeeded");
    expect(job.active).toEqual(["0-2", "2-3"]);
    job.ends("2-3", "Succeeded");
    expect([job.active, job.state.done]).toEqual([["0-2"], "1-2"]);
    job.ends("0-2", "Succeeded");
    expect([job.state.end?.type, job.state.done]).toEqual(["Complete", "0-2"]);
  });

  test("follows the first rule of its podFailurePolicy that matches", () => {
    const podFailurePolicy: JobSpec["podFailurePolicy"] = {
      rules: [
        { action: "Ignore", onExitCodes: { operator: "In", values: [42] }, onPodConditions: [] },
        {
          action: "FailJob",
          onExitCodes: { operator: "NotIn", values: [1, 42] },
          onPodConditions: [],
        },
      ],
    };
    const job = new Runner({ podFailurePolicy });
    job.ends("0", "Failed", 42);
    // It does not count, and is no reason to hurry either.
    expect([job.state.failed, job.active]).toEqual([0, []]);
    job.passes(10_000);
    expect(job.active).toEqual(["1"]);
    job.ends("1", "Failed", 1);
    expect([job.state.failed, job.state.end]).toEqual([1, undefined]);
    job.passes(20_000);
    job.ends("2", "Failed", 3);
    expect(job.state.end?.reason).toBe("PodFailurePolicy");
  });

  test("with nothing to complete is complete at once", () => {
    expect(new Runner({ completions: 0 }).state.end?.type).toBe("Complete");
  });
});

test("whatever happens, never more pods than asked for run or succeed, and none runs twice", () => {
  const event = fc.oneof(
    fc.record({ type: fc.constant("ends" as const), which: fc.nat(9), isGood: fc.boolean() }),
    fc.record({ type: fc.constant("passes" as const), ms: fc.nat(700_000) }),
    fc.record({ type: fc.constant("reboots" as const) }),
    fc.record({ type: fc.constant("suspend" as const), on: fc.boolean() }),
  );
  const spec = fc.record({
    completions: fc.nat(6),
    parallelism: fc.integer({ min: 0, max: MAX_PARALLEL + 20 }),
    backoffLimit: fc.nat(4),
    completionMode: fc.constantFrom("NonIndexed" as const, "Indexed" as const),
  });
  fc.assert(
    fc.property(spec, fc.array(event, { maxLength: 60 }), (wanted, events) => {
      const job = new Runner(wanted);
      const begun = new Set(job.active);
      let model = { succeeded: 0, failed: 0 };
      for (const one of events) {
        const before = new Set(job.active);
        const wasOver = job.state.end !== undefined;
        if (one.type === "ends") {
          const suffix = job.active[one.which];
          if (suffix === undefined) continue;
          model = one.isGood
            ? { ...model, succeeded: model.succeeded + 1 }
            : { ...model, failed: model.failed + 1 };
          job.ends(suffix, one.isGood ? "Succeeded" : "Failed");
        } else if (one.type === "passes") job.passes(one.ms);
        else if (one.type === "suspend") {
          job.spec = { ...job.spec, suspend: one.on };
          job.step();
        } else {
          job.bootId += "+";
          job.now = 0;
          job.step();
        }
        for (const suffix of job.active) {
          if (before.has(suffix)) continue;
          expect([suffix, begun.has(suffix)]).toEqual([suffix, false]);
          expect([wasOver, job.spec.suspend]).toEqual([false, false]);
          begun.add(suffix);
        }
        expect(job.active.length).toBeLessThanOrEqual(Math.min(wanted.parallelism, MAX_PARALLEL));
        expect(job.active.length + model.succeeded).toBeLessThanOrEqual(wanted.completions);
        const over = job.state.pods.length - job.active.length;
        expect(over).toBeLessThanOrEqual(MAX_KEPT);
        if (model.succeeded >= wanted.completions) expect(job.state.end?.type).toBe("Complete");
        else if (model.failed > wanted.backoffLimit) expect(job.state.end?.type).toBe("Failed");
        else expect(job.state.end).toBeUndefined();
      }
    }),
    { numRuns: 300 },
  );
});
