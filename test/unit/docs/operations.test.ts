import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";

import { decodeConfig } from "../../../src/config/config-decode.ts";
import {
  CONFIG_DEFAULTS,
  KNOWN_FIELDS,
  MQTT_DEFAULTS,
} from "../../../src/config/config-defaults.ts";

const PAGE = readFileSync(resolve(import.meta.dir, "../../../docs/operations.md"), "utf8");
const EXAMPLE = PAGE.split("\n## Configuration\n")[1]?.match(/```yaml\n([^]*?)```/)?.[1] ?? "";

function config(text: string): unknown {
  const read = decodeConfig(parse(text));
  return read.ok ? read.value : read.errors;
}

/** Lines that are marked as examples are no defaults. */
const WITHOUT_EXAMPLES = EXAMPLE.split("\n")
  .filter((line) => !/# example|File: /.test(line))
  .join("\n");

test("the configuration of the page is accepted, and what is no example is the default", () => {
  expect(config(EXAMPLE)).toMatchObject({ nodeLabels: { site: "berlin" } });
  expect(config(WITHOUT_EXAMPLES)).toMatchObject({ ...CONFIG_DEFAULTS, mqtt: MQTT_DEFAULTS });
});

test("the configuration of the page names every field", () => {
  const names = (path: string): readonly string[] => KNOWN_FIELDS[path] ?? [];
  for (const name of [...names(""), ...names("mqtt")])
    expect([name, new RegExp(`^ *${name}:`, "m").test(EXAMPLE)]).toEqual([name, true]);
});
