import { expect, test } from "bun:test";
import { growth, timeToFill } from "../../../../src/runtime/logs/log-watch.ts";

const before = { at: 1000, size: 100, identity: "a" };

test("a log that grows is full when its rate fills it", () => {
  expect(timeToFill(before, { at: 2000, size: 300, identity: "a" }, 700)).toBe(2000);
});

test("a quiet, new, replaced or cut log is never full soon", () => {
  const now = { at: 2000, size: 100, identity: "a" };
  expect(timeToFill(before, now, 700)).toBe(Number.POSITIVE_INFINITY);
  expect(timeToFill(undefined, now, 700)).toBe(Number.POSITIVE_INFINITY);
  expect(timeToFill(before, { ...now, identity: "b", size: 300 }, 700)).toBe(Infinity);
  expect(timeToFill(before, { ...now, size: 50 }, 700)).toBe(Number.POSITIVE_INFINITY);
});

test("the growth of another file is all that is in it", () => {
  expect(growth(before, { at: 2000, size: 150, identity: "a" })).toBe(50);
  expect(growth(before, { at: 2000, size: 150, identity: "b" })).toBe(150);
  expect(growth(undefined, before)).toBe(100);
  expect(growth(before, { at: 2000, size: 10, identity: "a" })).toBe(0);
});
