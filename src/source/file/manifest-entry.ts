// One manifest file as read, and its entries: pods, and the objects that pods refer to.

import type { DecodedObject } from "../../api/decode/decode-context.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import { MANIFEST_KINDS, type ManifestKind } from "../../api/decode/manifest-kinds.ts";
import type { KeptKind } from "../../api/pod/last-good.ts";
import { isWorkloadKind, replicaName } from "../../api/workload/workload-kinds.ts";
import { nameOf as nameOfObject } from "../rejections.ts";
import type { Hand } from "../../store/start-guard/hand.ts";
import type { Look } from "./manifest-settle.ts";
import { compareText } from "../../lib/compare.ts";

/** Neither hidden files nor backups such as `web.yaml.bak` or `web.yaml~`. */
export const MANIFEST_NAME = /^[^.].*\.(yaml|yml|json)$/;

export type ManifestEntry =
  | ({ readonly type: "Pod" } & DecodedObject["pods"][number])
  | ({ readonly type: "Object" } & DecodedObject["objects"][number])
  | ({ readonly type: "Run" } & DecodedObject["runs"][number])
  | ({ readonly type: "Service" } & DecodedObject["services"][number]);

export interface EntryName {
  readonly kind: KeptKind;
  readonly namespace: string;
  readonly name: string;
}

/** Ordered by their place in the file. */
export function entriesOf({
  pods,
  objects,
  runs,
  services,
}: DecodedObject): readonly ManifestEntry[] {
  const entries: readonly ManifestEntry[] = [
    ...pods.map((pod) => ({ type: "Pod" as const, ...pod })),
    ...objects.map((object) => ({ type: "Object" as const, ...object })),
    ...runs.map((run) => ({ type: "Run" as const, ...run })),
    ...services.map((service) => ({ type: "Service" as const, ...service })),
  ];
  return entries.toSorted(byPlace);
}

/** For `toSorted`: the order of the documents in the file. */
export function byPlace(a: ManifestEntry, b: ManifestEntry): number {
  return a.document - b.document;
}

export function nameOf(entry: ManifestEntry): EntryName {
  switch (entry.type) {
    case "Pod":
      return nameOfObject(entry.desired.pod);
    case "Object":
      return nameOfObject(entry.desired.object);
    case "Run":
    case "Service": {
      const { kind, namespace, name } = entry.desired;
      return { kind, namespace, name };
    }
  }
}

/** `Pod default/web`: unique among the entries that are in effect. */
export function keyOf({ kind, namespace, name }: EntryName): string {
  return `${kind} ${namespace}/${name}`;
}

export function entryKey(entry: ManifestEntry): string {
  return keyOf(nameOf(entry));
}

/** The key of a refused object, if its kind and name are known; of a workload, that of its pod. */
export function rejectedKey({ kind, namespace, name }: Rejection): string | undefined {
  if (isWorkloadKind(kind) && namespace !== undefined && name !== undefined)
    return keyOf({ kind: "Pod", namespace, name: replicaName(name) });
  if (!isManifestKind(kind) || namespace === undefined || name === undefined) return undefined;
  return keyOf({ kind, namespace, name });
}

export function isManifestKind(kind: string | undefined): kind is ManifestKind {
  return MANIFEST_KINDS.some((known) => known === kind);
}

export type Reading =
  | { readonly type: "Decoded"; readonly digest: string; readonly manifest: DecodedObject }
  /** Not readable as a manifest; `mayHoldPods` is false for what is not a regular file. */
  | {
      readonly type: "Refused";
      readonly rejection: Rejection;
      readonly mayHoldPods: boolean;
      /** It was not read, because reading it has ended the agent twice; absent = it was read. */
      readonly waits?: Hand;
    };

export interface ManifestFile {
  readonly path: string;
  readonly look: Look;
  readonly reading: Reading;
}

/** sha256 of the content; empty if it is not a manifest. */
export function digestOf({ reading }: ManifestFile): string {
  return reading.type === "Decoded" ? reading.digest : "";
}

export function byPath(a: ManifestFile, b: ManifestFile): number {
  return compareText(a.path, b.path);
}
