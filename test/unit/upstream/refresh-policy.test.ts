import { expect, test } from "bun:test";

import { connectScope, refreshScope, larger } from "../../../src/upstream/refresh-policy.ts";

test("every fourth refresh takes the pods along", () => {
  expect([1, 2, 3, 4, 5, 8].map(refreshScope)).toEqual([
    "report",
    "report",
    "report",
    "all",
    "report",
    "all",
  ]);
});

test("a session hears everything, also a kept one, but for a kept one of a metered line", () => {
  expect(connectScope(false, "normal")).toBe("all");
  expect(connectScope(false, "metered")).toBe("all");
  expect(connectScope(true, "normal")).toBe("all");
  expect(connectScope(true, "metered")).toBe("nothing");
});

test("what is owed is the larger of both", () => {
  expect(larger("nothing", "report")).toBe("report");
  expect(larger("all", "report")).toBe("all");
  expect(larger("nothing", "nothing")).toBe("nothing");
});
