import { describe, expect, test } from "bun:test";
import list from "../../../fixtures/pod-api/v1-pod-fields.json" with { type: "json" };
import { allFields, type FieldAt } from "../../../../src/api/schema/find-field.ts";
import type { Field } from "../../../../src/api/schema/type.ts";
import { SCHEMA_KINDS, type SchemaKind } from "../../../../src/api/schema/schema-kinds.ts";
import { classText, fieldClass } from "../../../../src/api/decode/field-rules.ts";

type Listed = Readonly<Record<string, string>>;

/** Of the newest Kubernetes the list is of. */
const LISTED: Readonly<Record<SchemaKind["kind"], Listed>> = list.fields;
/** Of an older one, and still met in manifests. */
const FORMER: Readonly<Record<string, Listed>> = list.formerFields;

const known = ({ level }: SchemaKind): ReadonlyMap<string, Field> =>
  new Map(allFields(level).map(({ path, field }) => [path, field]));

/** The field itself, or the one above it below which nothing is looked at. */
function judgedBy(path: string, fields: ReadonlyMap<string, Field>): Field | undefined {
  const field = fields.get(path);
  if (field !== undefined) return field;
  const parent = path.slice(0, Math.max(0, path.lastIndexOf("."))).replace(/\[\]$/, "");
  const above = parent === "" ? undefined : judgedBy(parent, fields);
  return above?.level === undefined && above?.rule.verdict.type !== "Supported" ? above : undefined;
}

/** Kubernetes writes a quantity as text. */
const asListed = (type: string): string => type.replace("Quantity", "string");

describe.each(SCHEMA_KINDS.map((kind) => [kind.kind, kind] as const))("%s", (name, kind) => {
  const fields = known(kind);
  const listed = LISTED[name];

  test("every field of Kubernetes has a class", () => {
    const without = Object.keys(listed).filter((path) => judgedBy(path, fields) === undefined);
    expect(without).toEqual([]);
  });

  test("no field is made up", () => {
    const everKnown = { ...listed, ...FORMER[name] };
    expect([...fields.keys()].filter((path) => everKnown[path] === undefined)).toEqual([]);
  });

  test("types are those of Kubernetes", () => {
    const everKnown = { ...listed, ...FORMER[name] };
    const different = [...fields]
      .filter(([path, { type }]) => asListed(type) !== everKnown[path])
      .map(([path, { type }]) => `${path}: ${type}, not ${everKnown[path]}`);
    expect(different).toEqual([]);
  });

  test("only what is supported is looked into, and it always is", () => {
    const isObject = ({ path }: FieldAt): boolean =>
      Object.keys(listed).some(
        (other) => other.startsWith(`${path}.`) || other.startsWith(`${path}[].`),
      );
    for (const at of allFields(kind.level))
      expect(`${at.path} ${at.field.level !== undefined}`).toBe(
        `${at.path} ${fieldClass(at.field.rule) === "supported" && isObject(at)}`,
      );
  });

  test("each is described by a sentence", () => {
    for (const { path, field } of allFields(kind.level))
      expect(`${path}: ${field.about}`).toMatch(/: [A-Za-z$].*[.…]$/);
  });
});

test("the list is of a whole version", () => {
  expect(list.kubernetesVersion).toMatch(/^1\.\d+$/);
  expect(Object.keys(LISTED.Pod).length).toBeGreaterThan(1000);
});

test("nothing is left for later", () => {
  const texts = SCHEMA_KINDS.flatMap(({ level }) =>
    allFields(level).map(({ field }) => classText(field.rule)),
  );
  expect(texts.filter((text) => text.includes("NotSupported"))).toEqual([]);
});
