import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { documentedFields, isDocumented, proofsOf } from "../../pod-spec/documented-fields.ts";
import { PROOFS } from "../../pod-spec/proofs.ts";

const ROOT = join(import.meta.dir, "../../..");

describe("the proofs of fields", () => {
  test("names a test for every supported field", () => {
    const without = documentedFields().filter((at) => proofsOf(at).length === 0);
    expect(without.map(({ path }) => path)).toEqual([]);
  });

  test.each([...new Map(PROOFS.map((proof) => [`${proof.test}: ${proof.title}`, proof]))])(
    "%s",
    (_name, { test: file, title }) => {
      const path = join(ROOT, file);
      expect(existsSync(path)).toBe(true);
      expect(title.length).toBeGreaterThan(5);
      expect(readFileSync(path, "utf8").includes(title)).toBe(true);
    },
  );

  test("names tests for fields that there are", () => {
    const unknown = PROOFS.flatMap(({ fields }) => fields).filter((one) => !isDocumented(one));
    expect(unknown).toEqual([]);
  });
});
