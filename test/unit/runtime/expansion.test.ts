import { expect, test } from "bun:test";
import { expand } from "../../../src/runtime/expansion.ts";

const values = new Map([
  ["A", "1"],
  ["EMPTY", ""],
  ["NESTED", "$(A)"],
  ["a.b-c", "dots"],
]);

test.each([
  ["nothing", "nothing"],
  ["$(A)", "1"],
  ["x$(A)y$(A)", "x1y1"],
  ["[$(EMPTY)]", "[]"],
  ["$(a.b-c)", "dots"],
  ["$(UNKNOWN)", "$(UNKNOWN)"],
  ["$(NESTED)", "$(A)"],
  ["$A ${A}", "$A ${A}"],
  ["$$(A)", "$(A)"],
  ["$$$(A)", "$1"],
  ["$$$$(A)", "$$(A)"],
  ["cost: 5$", "cost: 5$"],
  ["$(A", "$(A"],
  ["$()", "$()"],
])("%s becomes %s", (text, expected) => {
  expect(expand(text, values)).toBe(expected);
});
