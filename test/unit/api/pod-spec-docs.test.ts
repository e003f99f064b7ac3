import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  documentedFields,
  isDocumented,
  podSpecDocument,
  proofsOf,
} from "../../pod-spec/document.ts";
import { PROOFS } from "../../pod-spec/proofs.ts";

const ROOT = join(import.meta.dir, "../../..");

describe("docs/pod-spec.md", () => {
  test("is what the generator writes (bun test/pod-spec/generate.ts)", () => {
    const written = readFileSync(join(ROOT, "docs/pod-spec.md"), "utf8");
    expect(written === podSpecDocument()).toBe(true);
  });

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
