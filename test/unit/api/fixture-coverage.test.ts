// The fixtures together write every field there is: what works in the valid ones, and what does not with what is said of it.

import { expect, test } from "bun:test";

import { allFields } from "../../../src/api/schema/find-field.ts";
import type { Field, Level } from "../../../src/api/schema/type.ts";
import { ALL_SCHEMA_KINDS } from "../../../src/api/schema/schema-kinds.ts";
import { readDocuments } from "../../../src/api/yaml/yaml-documents.ts";
import { decodeText, fixturesIn, type Fixture } from "./fixture-files.ts";
import { isJsonObject } from "../../../src/lib/json.ts";
import { fieldClass } from "../../../src/api/decode/field-rules.ts";

const FIELDS = ALL_SCHEMA_KINDS.flatMap(({ kind, level }) =>
  allFields(level).map(({ path, field }) => ({ path: `${kind} ${path}`, field })),
);

/** All probes share their fields, and this one is an error wherever it is written. */
const NEVER_VALID = /\.readinessProbe\.terminationGracePeriodSeconds$/;

/** `Pod spec.containers[].name` for every field that one of the files writes. */
function written(fixtures: readonly Fixture[]): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const { text } of fixtures)
    for (const { value } of readDocuments(text).documents)
      for (const object of objectsIn(value)) {
        const kind = ALL_SCHEMA_KINDS.find((one) => one.kind === object["kind"]);
        if (kind !== undefined) walk(object, kind.level, { prefix: `${kind.kind} `, paths });
      }
  return paths;
}

type JsonObject = Readonly<Record<string, unknown>>;

function objectsIn(value: unknown): readonly JsonObject[] {
  if (!isJsonObject(value)) return [];
  const items = value["items"];
  return Array.isArray(items) ? items.flatMap(objectsIn) : [value];
}

interface Walk {
  readonly prefix: string;
  readonly paths: Set<string>;
}

function walk(object: JsonObject, level: Level, { prefix, paths }: Walk): void {
  for (const [key, value] of Object.entries(object)) {
    const field = Object.hasOwn(level, key) ? level[key] : undefined;
    if (field === undefined || value === null) continue;
    paths.add(`${prefix}${key}`);
    for (const one of below(field, value))
      walk(one.object, one.level, { prefix: `${prefix}${key}${one.step}.`, paths });
  }
}

interface Below {
  readonly object: JsonObject;
  readonly level: Level;
  readonly step: "" | "[]";
}

function below({ level, type }: Field, value: unknown): readonly Below[] {
  if (level === undefined) return [];
  if (!type.startsWith("[]"))
    return isJsonObject(value) ? [{ object: value, level, step: "" }] : [];
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter(isJsonObject).map((object) => ({ object, level, step: "[]" }));
}

test("the valid manifests write every field that is supported or harmless", () => {
  const covered = written(fixturesIn("valid"));
  const wanted = FIELDS.filter(({ field }) =>
    ["supported", "harmless"].includes(fieldClass(field.rule)),
  );
  const paths = wanted.map(({ path }) => path).filter((path) => !NEVER_VALID.test(path));
  expect(paths.filter((path) => !covered.has(path))).toEqual([]);
});

test("the manifests have a finding for every field that is refused or ignored", () => {
  const said = new Set(
    [...fixturesIn("invalid"), ...fixturesIn("valid")].flatMap((fixture) => {
      const { errors, notices } = decodeText(fixture);
      return [...errors, ...notices].map(
        ({ kind, path }) => `${kind} ${path.replaceAll(/\[\d+\]/g, "[]")}`,
      );
    }),
  );
  const wanted = FIELDS.filter(({ field }) =>
    ["refused", "ignored"].includes(fieldClass(field.rule)),
  );
  expect(wanted.map(({ path }) => path).filter((path) => !said.has(path))).toEqual([]);
});
