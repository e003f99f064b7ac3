import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";

import { allFields } from "../../../src/api/schema/find-field.ts";
import { AGENT_CONFIGURATION, decodeConfig } from "../../../src/config/config.ts";

const PAGE = readFileSync(resolve(import.meta.dir, "../../../docs/operations.md"), "utf8");
const EXAMPLE = PAGE.split("\n## Configuration\n")[1]?.match(/```yaml\n([^]*?)```/)?.[1] ?? "";
const BROKER = { url: "mqtts://broker.example:8883" };

function config(document: unknown): unknown {
  const read = decodeConfig(document);
  return read.ok ? read.value : read.errors;
}

test("the configuration of the page is accepted, and what is no example is the default", () => {
  expect(config(parse(EXAMPLE))).toMatchObject({ nodeLabels: { site: "berlin" } });
  const withoutExamples = EXAMPLE.split("\n").filter((line) => !line.includes("# example"));
  expect(config(parse(withoutExamples.join("\n")))).toEqual(config({ mqtt: BROKER }));
});

test("the configuration of the page names every field that has an effect", () => {
  const fields = allFields(AGENT_CONFIGURATION.level).filter(
    ({ path, field }) => field.rule.verdict.type === "Supported" && !/\[\]|podPolicy\./.test(path),
  );
  expect(fields.length).toBeGreaterThan(40);
  for (const { path } of fields) {
    const name = path.split(".").at(-1) ?? "";
    expect([path, new RegExp(`^ *${name}:`, "m").test(EXAMPLE)]).toEqual([path, true]);
  }
});
