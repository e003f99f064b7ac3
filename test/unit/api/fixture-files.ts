// The manifests of test/fixtures and what decoding says about them.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

import type { DecodedObject } from "../../../src/api/decode/decode-context.ts";
import { decodeManifest } from "../../../src/api/decode/decode-manifest.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import { sha256 } from "./digest.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures");
const MANIFEST = /\.(yaml|yml|json)$/;

export interface Fixture {
  /** Name of the file. */
  readonly file: string;
  readonly text: string;
  /** What stands in the file of the same name with another ending; undefined = no such file. */
  readonly beside: (ending: string) => string | undefined;
}

export function fixturesIn(directory: "valid" | "invalid"): readonly Fixture[] {
  return filesIn(directory)
    .filter((file) => MANIFEST.test(file) && !file.endsWith(".decoded.json"))
    .map((file) => {
      const path = join(FIXTURES, directory, file);
      const beside = (ending: string): string | undefined => {
        const other = `${path.replace(MANIFEST, "")}.${ending}`;
        return existsSync(other) ? readFileSync(other, "utf8") : undefined;
      };
      return { file, text: readFileSync(path, "utf8"), beside };
    });
}

/** Every file, sorted. */
export function filesIn(directory: "valid" | "invalid"): readonly string[] {
  return readdirSync(join(FIXTURES, directory)).toSorted();
}

export function decodeText({ file, text }: Pick<Fixture, "file" | "text">): DecodedObject {
  const context = { source: "file", ref: basename(file), nodeName: "pi-1", sha256 } as const;
  return decodeManifest(text, context);
}

/** One line each: `line:column code path: message`. */
export function findingLines(findings: readonly Rejection[]): string {
  const lines = findings.map(
    ({ line, column, code, path, message }) => `${line}:${column} ${code} ${path}: ${message}\n`,
  );
  return lines.join("");
}

/** The pods and objects as JSON; bytes as base64. */
export function decodedText({ pods, objects }: DecodedObject): string {
  const decoded = {
    pods: pods.map(({ desired }) => desired.pod),
    objects: objects.map(({ desired }) => desired.object),
  };
  const plain = (_key: string, value: unknown): unknown =>
    value instanceof Uint8Array ? value.toBase64() : value;
  return `${JSON.stringify(decoded, plain, 2)}\n`;
}
