// The checkpoint of manifest files as pods: what the files say until they are read.

import type { Sha256 } from "../api/decode-context.ts";
import { decodeObject } from "../api/decode-object.ts";
import type { ManifestPod } from "../api/decode-manifest.ts";
import type { LastGood } from "../api/last-good.ts";
import type { PodsByFile } from "./manifest-state.ts";

export interface RestoreContext {
  readonly nodeName: string;
  readonly sha256: Sha256;
}

export interface RestoredPods {
  readonly pods: PodsByFile;
  /** `path#document` of rows that no pod can be made of. */
  readonly unreadable: readonly string[];
}

/** Leniently: what was accepted once is never judged again (law 11). */
export function restorePods(rows: readonly LastGood[], context: RestoreContext): RestoredPods {
  const byFile = new Map<string, ManifestPod[]>();
  const unreadable: string[] = [];
  for (const row of rows) {
    const sourceRef = `${row.path}#${row.document}`;
    const origin = { source: "file", ref: row.path, sourceRef } as const;
    const { nodeName, sha256 } = context;
    const value = parseJson(row.text);
    const { pods } = decodeObject(value, { ...origin, nodeName, sha256, lenient: true });
    if (pods.length === 0) unreadable.push(sourceRef);
    const known = byFile.get(row.path) ?? [];
    byFile.set(row.path, [...known, ...pods.map((pod) => ({ ...pod, document: row.document }))]);
  }
  return { pods: byFile, unreadable };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A damaged row decodes to nothing, and is named as unreadable.
    return undefined;
  }
}
