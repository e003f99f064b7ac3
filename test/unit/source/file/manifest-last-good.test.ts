import { expect, test } from "bun:test";

import type { DecodedObject } from "../../../../src/api/decode/decode-context.ts";
import { decodeManifest } from "../../../../src/api/decode/decode-manifest.ts";
import { entriesOf, entryKey } from "../../../../src/source/file/manifest-entry.ts";
import { outcomeOf } from "../../../../src/source/file/manifest-last-good.ts";
import { sha256 } from "../../api/digest.ts";

const PATH = "/m/a.yaml";

function pod(name: string): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: a, image: "x:1"}]}\n`;
}

function decoded(...documents: readonly string[]): DecodedObject {
  const context = { source: "file", ref: PATH, nodeName: "pi-1", sha256 } as const;
  return decodeManifest(documents.join("---\n"), context);
}

/** What counts of a file that held the pods `a` and `b` and now holds these documents. */
function countingOf(...documents: readonly string[]): readonly string[] {
  const manifest = decoded(...documents);
  const look = { size: 1, modified: 1, changed: 1, inode: 1 } as never;
  const reading = { type: "Decoded", digest: "d", manifest } as const;
  const entries = entriesOf(decoded(pod("a"), pod("b")));
  const word = outcomeOf({ path: PATH, look, reading }, { entries, lost: [], refused: [] });
  return word.entries.map(entryKey);
}

test.each([
  ["monitoring.coreos.com/v1", "PodMonitor"],
  ["external-secrets.io/v1", "SecretStore"],
  ["secrets-store.csi.x-k8s.io/v1", "SecretProviderClass"],
  ["policy/v1beta1", "PodSecurityPolicy"],
])("a pod that was taken out goes, though its file also holds a %s %s", (apiVersion, kind) => {
  const foreign = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: m}\n`;
  expect(countingOf(pod("a"), foreign)).toEqual(["Pod default/a"]);
});

test("a pod whose kind is misspelt keeps its last good version", () => {
  expect(countingOf(pod("a"), pod("b").replace("kind: Pod", "kind: Pdo"))).toEqual([
    "Pod default/a",
    "Pod default/b",
  ]);
});
