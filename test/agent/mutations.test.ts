// The deliberate bugs stay possible: whoever moves the line that one of them changes, moves it along.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MUTATIONS } from "./mutations.ts";
import { FOUND } from "./simulation-seeds.ts";

const ROOT = join(import.meta.dirname, "../..");

test.each(MUTATIONS)("$name: its line is there, once", ({ file, search, replacement }) => {
  expect(readFileSync(join(ROOT, file), "utf8").split(search)).toHaveLength(2);
  expect(replacement).not.toBe(search);
});

test("names are names, and every seed that is kept has one", () => {
  const names = new Set(MUTATIONS.map(({ name }) => name));
  expect(names.size).toBe(MUTATIONS.length);
  expect(FOUND.filter(({ mutation }) => !names.has(mutation))).toEqual([]);
});
