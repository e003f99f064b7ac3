// Identifies pods by hashes over what their author wrote, other objects by their names; stable across agent versions.

import type { PodUID } from "../v1/pod.ts";
import { type JsonObject, canonicalJson } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

interface WrittenPod {
  readonly namespace: string;
  readonly name: string;
  /** `spec` as written, before defaults. */
  readonly spec: JsonObject;
  /** Annotation `agent/devices`; absent = "". */
  readonly devices?: string;
}

/** UUIDv8 of sha256 over namespace, name, spec and devices. Frozen: a change here restarts every pod in the field. */
export function podUID(written: WrittenPod, sha256: Sha256): PodUID {
  const { namespace, name, spec, devices = "" } = written;
  return uuidOf(sha256(canonicalJson([namespace, name, spec, devices])));
}

interface NamedObject {
  readonly kind: string;
  /** Absent = the kind has none. */
  readonly namespace?: string;
  readonly name: string;
  /** The source that declares it; absent = none does. */
  readonly source?: string;
}

/**
 * Of an object that is no pod: the same over edits, as in Kubernetes, and over restarts of the agent. Unlike there an object
 * that was deleted and made again has it again: its file does not show which of the two it is.
 */
export function objectUID(
  { kind, namespace = "", name, source = "" }: NamedObject,
  sha256: Sha256,
): string {
  return uuidOf(sha256(canonicalJson([kind, namespace, name, source])));
}

function uuidOf(hash: string): string {
  const variant = ((Number.parseInt(hash.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join("-");
}

/** `v1:` + sha256 of one container as written. */
export function containerHash(container: unknown, sha256: Sha256): string {
  return `v1:${sha256(canonicalJson(container))}`;
}

/** First 16 hex digits of sha256 of the spec as written. */
export function specHash(spec: JsonObject, sha256: Sha256): string {
  return sha256(canonicalJson(spec)).slice(0, 16);
}
