// When a CronJob starts a Job: a table, and a device over many days whose clock jumps.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  decideCron,
  MAX_ACTIVE_JOBS,
  type CronFacts,
  type CronMemory,
  type CronTerms,
} from "../../../../src/source/workload/cron-decision.ts";
import { scheduleOf } from "../../../../src/source/workload/cron-state.ts";

const MINUTE = 60_000;
const at = (text: string): number => Date.parse(`2026-03-01T${text}Z`);
const hourly: CronTerms = {
  schedule: scheduleOf("0 * * * *"),
  suspend: false,
  concurrencyPolicy: "Allow",
};
const since = at("00:30");

interface Case {
  readonly terms?: Partial<CronTerms>;
  readonly memory?: CronMemory;
  readonly facts?: Partial<CronFacts>;
  readonly expected: object;
}

describe("a CronJob", () => {
  const start = (time: string): object => ({
    type: "Start",
    at: at(time),
    replace: false,
    manyMissed: false,
  });
  const wait = (why: string, time?: string): object => ({
    type: "Wait",
    why,
    ...(time === undefined ? {} : { at: at(time) }),
  });
  const cases: Readonly<Record<string, Case>> = {
    "counts from when it was first seen": {
      memory: {},
      expected: { type: "Begin", since: at("03:10") },
    },
    "starts the newest missed minute, and no other": { expected: start("03:00") },
    "starts no minute twice": { memory: { since, last: at("03:00") }, expected: wait("NotDue") },
    "starts nothing after the clock was set back": {
      memory: { since, last: at("04:00") },
      expected: wait("NotDue"),
    },
    "begins anew if the stored minute is a day ahead": {
      memory: { since, last: at("03:11") + 86_400_000 },
      expected: { type: "Begin", since: at("03:10") },
    },
    "starts nothing while the clock is not trusted": {
      facts: { isTrusted: false },
      expected: wait("ClockUntrusted"),
    },
    "starts nothing while it is suspended": {
      terms: { suspend: true },
      expected: wait("Suspended"),
    },
    "starts within the deadline": {
      terms: { startingDeadlineSeconds: 601 },
      expected: start("03:00"),
    },
    "misses its start after the deadline": {
      terms: { startingDeadlineSeconds: 599 },
      expected: wait("TooLate", "03:00"),
    },
    "runs beside the last Job": { facts: { active: 1 }, expected: start("03:00") },
    "waits for the last Job if it forbids concurrency": {
      terms: { concurrencyPolicy: "Forbid" },
      facts: { active: 1 },
      expected: wait("JobActive", "03:00"),
    },
    "replaces the last Job": {
      terms: { concurrencyPolicy: "Replace" },
      facts: { active: 1 },
      expected: { ...start("03:00"), replace: true },
    },
    "starts so long after the last start as @every names": {
      terms: { schedule: scheduleOf("@every 45m") },
      memory: { since, last: at("01:35") },
      expected: start("03:05"),
    },
    "keeps the beat of @every within a deadline that is shorter": {
      terms: { schedule: scheduleOf("@every 45m"), startingDeadlineSeconds: 301 },
      memory: { since, last: at("01:35") },
      expected: start("03:05"),
    },
    "does not fill the node": {
      facts: { active: MAX_ACTIVE_JOBS },
      expected: wait("TooMany", "03:00"),
    },
    "reports more than a hundred missed minutes, and starts the newest": {
      memory: { since: at("00:30") - 101 * 60 * MINUTE },
      expected: { ...start("03:00"), manyMissed: true },
    },
  };
  test.each(Object.entries(cases))(
    "%s",
    (_name, { terms, memory = { since }, facts, expected }) => {
      const now = { now: at("03:10"), isTrusted: true, active: 0 };
      expect(decideCron({ ...hourly, ...terms }, memory, { ...now, ...facts })).toEqual(
        expected as ReturnType<typeof decideCron>,
      );
    },
  );
});

test("on a device whose clock jumps, no minute starts twice, each start is due, and none while in doubt", () => {
  const event = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant("passes" as const),
        minutes: fc.integer({ min: 1, max: 400 }),
      }),
    },
    fc.record({
      type: fc.constant("jumps" as const),
      minutes: fc.integer({ min: -1000, max: 5000 }),
    }),
    fc.record({ type: fc.constant("trust" as const), on: fc.boolean() }),
  );
  const every = fc.constantFrom("0 * * * *", "*/20 * * * *", "30 3 * * *", "@every 25m");
  const deadline = fc.option(fc.integer({ min: 60, max: 7200 }), { nil: undefined });
  fc.assert(
    fc.property(every, deadline, fc.array(event, { maxLength: 40 }), (text, seconds, events) => {
      const terms: CronTerms = {
        ...hourly,
        schedule: scheduleOf(text),
        ...(seconds === undefined ? {} : { startingDeadlineSeconds: seconds }),
      };
      const started = new Set<number>();
      let memory: CronMemory = {};
      let isTrusted = true;
      let now = at("00:00");
      /** The agent looks each half minute. */
      const look = (): void => {
        const decision = decideCron(terms, memory, { now, isTrusted, active: 0 });
        if (decision.type === "Begin") {
          memory = { since: decision.since };
          started.clear();
        }
        if (decision.type !== "Start") return;
        expect([isTrusted, started.has(decision.at)]).toEqual([true, false]);
        if (!text.startsWith("@every")) expect(decision.at % MINUTE).toBe(0);
        expect(decision.at).toBeLessThanOrEqual(now);
        if (seconds !== undefined) expect(decision.at).toBeGreaterThan(now - seconds * 1000);
        started.add(decision.at);
        memory = { ...memory, last: decision.at };
        // The same moment starts nothing more.
        expect(decideCron(terms, memory, { now, isTrusted, active: 0 }).type).toBe("Wait");
      };
      for (const one of events) {
        if (one.type === "trust") isTrusted = one.on;
        const before = started.size;
        if (one.type === "jumps") now += one.minutes * MINUTE;
        if (one.type !== "passes") {
          look();
          // A jump starts one at most.
          expect(started.size - before).toBeLessThanOrEqual(1);
          continue;
        }
        for (let half = 0; half < one.minutes * 2; half += 1) {
          now += MINUTE / 2;
          look();
        }
      }
    }),
    { numRuns: 40 },
  );
});
