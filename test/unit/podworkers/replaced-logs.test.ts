import { expect, test } from "bun:test";
import fc from "fast-check";
import { trimPlan, type LogFile } from "../../../src/podworkers/replaced-logs.ts";

const log = (attempt: number, size: number): LogFile => ({
  path: `a/${attempt}.log`,
  size,
  attempt,
  rotations: 0,
  isCompressed: false,
});

test("of one attempt, what was rotated first goes first, and compressed logs go whole", () => {
  const rotated = (rotations: number, size: number): LogFile => ({
    ...log(1, size),
    path: `a/1.log.${rotations}`,
    rotations,
    isCompressed: rotations > 1,
  });
  expect(trimPlan([rotated(2, 5), log(1, 60), rotated(1, 90)], 100)).toEqual([
    { path: "a/1.log.1", keepBytes: 40 },
    { path: "a/1.log.2", keepBytes: 0 },
  ]);
  expect(trimPlan([rotated(2, 50), log(1, 60), rotated(1, 20)], 100)).toEqual([
    { path: "a/1.log.2", keepBytes: 0 },
  ]);
});

test("nothing is cut while all of it fits", () => {
  expect(trimPlan([log(0, 40), log(1, 60)], 100)).toEqual([]);
});

test("the newest attempts stay, of the one that does not fit its end, older ones go", () => {
  expect(trimPlan([log(0, 50), log(1, 80), log(2, 60)], 100)).toEqual([
    { path: "a/1.log", keepBytes: 40 },
    { path: "a/0.log", keepBytes: 0 },
  ]);
});

test("never keeps more than the limit, and all of it where there is more", () => {
  const logs = fc.uniqueArray(fc.record({ attempt: fc.nat(9), size: fc.nat(200) }), {
    selector: ({ attempt }) => attempt,
  });
  fc.assert(
    fc.property(logs, fc.nat(500), (sizes, limit) => {
      const files = sizes.map(({ attempt, size }) => log(attempt, size));
      const plan = new Map(trimPlan(files, limit).map((step) => [step.path, step.keepBytes]));
      const kept = files.reduce((sum, file) => sum + (plan.get(file.path) ?? file.size), 0);
      const all = files.reduce((sum, file) => sum + file.size, 0);
      expect(kept).toBe(Math.min(all, limit));
    }),
  );
});
