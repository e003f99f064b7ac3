import { describe, expect, test } from "bun:test";
import { RESOURCES } from "../../../../src/cli/get/resources.ts";
import { wordsOf } from "../../../../src/cli/get/resource-type.ts";

test("no name is shared by two resources", () => {
  const words = RESOURCES.flatMap(wordsOf);
  expect(words).toEqual([...new Set(words)]);
});

describe.each(RESOURCES.map((resource) => [resource.name, resource] as const))(
  "%s",
  (_name, resource) => {
    const long = Object.keys(resource.flags).map((usage) => /--[a-z-]+/.exec(usage)?.[0]);

    test("can be printed in every format", () => {
      expect(long).toContain("--output");
    });

    test("has an identity if it can be watched, so that ages alone print nothing", () => {
      expect(resource.identity !== undefined).toBe(long.includes("--watch"));
    });

    test("has a namespace unless there is one only", () => {
      expect(long.includes("--namespace")).toBe(resource.isSingle !== true);
      expect(long.includes("--all-namespaces")).toBe(resource.isSingle !== true);
    });

    test("names a column that exists for what is gone", () => {
      const titles = resource.columns.map(({ title }) => title);
      if (resource.goneColumn !== undefined) expect(titles).toContain(resource.goneColumn);
      else expect(titles).not.toContain("");
    });
  },
);
