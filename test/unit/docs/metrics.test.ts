// Every metric that is declared is counted somewhere, and stands in the table of docs/monitoring.md.

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { COUNTERS, HISTOGRAMS } from "../../../src/lib/meter.ts";

const ROOT = join(import.meta.dir, "../../..");
const sources = [...new Glob("src/**/*.ts").scanSync(ROOT)]
  .filter((path) => path !== "src/lib/meter.ts")
  .map((path) => readFileSync(join(ROOT, path), "utf8"))
  .join("\n");
const table = readFileSync(join(ROOT, "docs/monitoring.md"), "utf8");
const declared = [...Object.keys(COUNTERS), ...Object.keys(HISTOGRAMS)];
/** Those that are read when they are asked for. */
const gauges = [...sources.matchAll(/(?:gauge|counter)\(\s*"(\w+)"/g)].map(([, name = ""]) => name);

test("every declared metric is counted", () => {
  expect(declared.filter((name) => !sources.includes(`"${name}"`))).toEqual([]);
});

test("every metric stands in the table of the documentation", () => {
  expect(gauges.length).toBeGreaterThan(15);
  const documented = (name: string): boolean => new RegExp(`\`${name}(?:\`|\\{)`).test(table);
  const missing = [...declared, ...gauges].filter((name) => !documented(name));
  expect(missing).toEqual([]);
});
