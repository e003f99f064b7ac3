// Every field of the kinds that pods need, and the tests that show that it works.

import { allFields, type FieldAt } from "../../src/api/schema/find-field.ts";
import { SCHEMA_KINDS, type SchemaKind } from "../../src/api/schema/schema-kinds.ts";
import { PROOFS } from "./proofs.ts";
import type { Proof } from "./proof.ts";
import { fieldClass } from "../../src/api/decode/field-rules.ts";

/** An init container has the fields of a container: they stand in the table once. */
const TWIN = "pod.spec.initContainers[].";

/** What every refused, ignored or harmless field is shown by. */
const BY_CLASS: Proof = {
  fields: [],
  proof: "here",
  test: "test/unit/api/field-classes.test.ts",
  title: "%s is treated according to its class",
};

/** With the kind's word before its path, as `agent explain fields` prints it. */
export function documentedFields(): readonly FieldAt[] {
  return SCHEMA_KINDS.flatMap(({ words, level }: SchemaKind) =>
    allFields(level, `${words[0]}.`),
  ).filter(({ path }) => !path.startsWith(TWIN));
}

/** The proofs that name the field; else those that name the nearest field above it with all that is below. */
export function proofsOf({ path, field }: FieldAt): readonly Proof[] {
  if (fieldClass(field.rule) !== "supported") return [BY_CLASS];
  const patterns = [plain(path), ...above(plain(path)).map((parent) => `${parent}.*`)];
  for (const pattern of patterns) {
    const found = PROOFS.filter(({ fields }) => fields.some((one) => plain(one) === pattern));
    if (found.length > 0) return found;
  }
  return [];
}

/** True for a path or pattern of a proof that means at least one field. */
export function isDocumented(pattern: string): boolean {
  const wanted = plain(pattern);
  return documentedFields().some(({ path }) =>
    wanted.endsWith(".*") ? plain(path).startsWith(wanted.slice(0, -1)) : plain(path) === wanted,
  );
}

function plain(path: string): string {
  return path.replaceAll("[]", "");
}

/** The fields above a field, nearest first. */
function above(path: string): readonly string[] {
  const steps = path.split(".");
  return steps
    .map((_, index) => steps.slice(0, index).join("."))
    .filter((text) => text !== "")
    .toReversed();
}
