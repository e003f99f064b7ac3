// Of every field of the configuration: a value of another type is refused, with its path.

import { expect, test } from "bun:test";
import { fieldClass } from "../../../src/api/decode/field-rules.ts";
import { allFields } from "../../../src/api/schema/find-field.ts";
import { AGENT_CONFIGURATION, decodeConfig } from "../../../src/config/config.ts";

const FIELDS = allFields(AGENT_CONFIGURATION.level);
const supported = FIELDS.filter(({ field }) => fieldClass(field.rule) === "supported");

/** A document with one value: `mqtt.groups[].name` becomes {mqtt: {groups: [{name: value}]}}. */
function documentWith(path: string, value: unknown): unknown {
  return path.split(".").reduceRight<unknown>((inner, part) => {
    const name = part.replace("[]", "");
    return { [name]: part.endsWith("[]") ? [inner] : inner };
  }, value);
}

function pathsOf(document: unknown): readonly string[] {
  const read = decodeConfig(document);
  return read.ok ? [] : read.errors.map(({ path }) => path);
}

test("there are as many as the reference has", () => {
  expect(supported.length).toBeGreaterThan(80);
});

test.each(supported.map(({ path, field }) => [path, field.type] as const))(
  "%s (%s)",
  (path, type) => {
    const isScalar =
      !/^\[\]|^map/.test(type) && !/^[A-Z]\w*(Config|Configuration|Policy)$/.test(type);
    const wrong = isScalar ? { wrong: ["type"] } : "wrong";
    expect(pathsOf(documentWith(path, wrong))).toContain(path.replaceAll("[]", "[0]"));
  },
);

test("no field is reserved", () => {
  const reserved = FIELDS.filter(({ field }) => fieldClass(field.rule) === "refused");
  expect(reserved.map(({ path }) => path)).toEqual([]);
});
