// Every manifest of test/fixtures: the valid ones say nothing, the invalid ones say exactly what stands beside them.

import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

import { decodeManifest, type DecodedManifest } from "../../../src/api/decode-manifest.ts";
import { sha256 } from "./digest.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures");

function decoded(path: string): DecodedManifest {
  const context = { source: "file", ref: basename(path), nodeName: "pi-1", sha256 } as const;
  return decodeManifest(readFileSync(path, "utf8"), context);
}

function findings(manifest: DecodedManifest): string {
  const all = [...manifest.errors, ...manifest.refusedKinds, ...manifest.notices];
  const lines = all.map(
    ({ line, column, code, path, message }) => `${line}:${column} ${code} ${path}: ${message}\n`,
  );
  return lines.join("");
}

function manifestsIn(directory: string): readonly string[] {
  const names = readdirSync(join(FIXTURES, directory)).filter((name) => name.endsWith(".yaml"));
  return names.toSorted().map((name) => join(FIXTURES, directory, name));
}

describe("valid manifests", () => {
  test.each(manifestsIn("valid"))("%s", (path) => {
    const manifest = decoded(path);
    expect(findings(manifest)).toBe("");
    expect(manifest.pods.length).toBeGreaterThan(0);
  });
});

describe("invalid manifests", () => {
  test.each(manifestsIn("invalid"))("%s", (path) => {
    expect(findings(decoded(path))).toBe(readFileSync(path.replace(/yaml$/, "errors"), "utf8"));
  });
});
