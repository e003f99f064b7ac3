import { expect, test } from "bun:test";

import { againAtConnect, againAtRefresh, both } from "../../../src/upstream/refresh-policy.ts";

test("every fourth refresh takes the pods along", () => {
  expect([1, 2, 3, 4, 5, 8].map(againAtRefresh)).toEqual([
    "report",
    "report",
    "report",
    "all",
    "report",
    "all",
  ]);
});

test("a session hears everything, also a kept one, but for a kept one of a metered line", () => {
  expect(againAtConnect(false, "normal")).toBe("all");
  expect(againAtConnect(false, "metered")).toBe("all");
  expect(againAtConnect(true, "normal")).toBe("all");
  expect(againAtConnect(true, "metered")).toBe("nothing");
});

test("what is owed is the larger of both", () => {
  expect(both("nothing", "report")).toBe("report");
  expect(both("all", "report")).toBe("all");
  expect(both("nothing", "nothing")).toBe("nothing");
});
