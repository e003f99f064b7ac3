import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DAILY_BUDGET_BYTES, WriteBudget } from "../../../../src/node/storage/write-budget.ts";

const HOUR = 3_600_000;
const kinds = (database: number, images = 0) =>
  new Map([
    ["database", database],
    ["images", images],
  ]);

describe("the budget of a day", () => {
  test("is judged by what the kernel counts, and explained by kinds, the largest first", () => {
    const budget = new WriteBudget();
    budget.note({ total: DAILY_BUDGET_BYTES, kinds: new Map([["journal", 5e6]]) }, 0);
    expect(budget.conditions()).toEqual([]);
    const all = new Map([
      ["journal", 5e6],
      ["database", 400e6],
      ["images", 9e9],
    ]);
    budget.note({ total: DAILY_BUDGET_BYTES + 1, kinds: all }, 1);
    const [condition] = budget.conditions();
    expect(condition).toMatchObject({ type: "WritesOverBudget", status: "True" });
    expect(condition?.message).toContain("written 512 MiB to the disk in 24 hours");
    expect(condition?.message).toContain("database 381 MiB, journal 5 MiB");
    expect(condition?.message).not.toContain("images");
  });

  test("is judged by the kinds without images where the kernel does not count", () => {
    const budget = new WriteBudget();
    budget.note({ total: undefined, kinds: kinds(100, 9e9) }, 0);
    expect(budget.day).toBe(100);
    expect(budget.conditions()).toEqual([]);
    budget.note({ total: undefined, kinds: kinds(DAILY_BUDGET_BYTES + 1, 9e9) }, 1);
    expect(budget.conditions()).toHaveLength(1);
  });

  test("ends when the hours with the writes are a day old", () => {
    const budget = new WriteBudget();
    const total = DAILY_BUDGET_BYTES + 1;
    budget.note({ total, kinds: new Map() }, 0);
    budget.note({ total, kinds: new Map() }, 23 * HOUR);
    expect(budget.conditions()).toHaveLength(1);
    budget.note({ total, kinds: new Map() }, 24 * HOUR);
    expect(budget.conditions()).toEqual([]);
    expect(budget.day).toBe(0);
  });

  test("a day is never more than all that was written, and all of it within a day", () => {
    const step = fc.record({ more: fc.nat(1e9), ms: fc.nat(3 * HOUR) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new WriteBudget();
        let [total, now] = [0, 0];
        for (const { more, ms } of steps) {
          total += more;
          now += ms;
          budget.note({ total, kinds: new Map() }, now);
          expect(budget.day).toBeLessThanOrEqual(total);
          if (now < 23 * HOUR) expect(budget.day).toBe(total);
        }
      }),
    );
  });
});
