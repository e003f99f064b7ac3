// What decoding requires beside the text, and what it returns.

import type { DesiredPod, Rejection, SourceName } from "../pod/desired-pod.ts";
import type { ReadContext } from "./field-errors.ts";
import type { FieldPath } from "./field-path.ts";
import type { DesiredObject } from "../v1/object/local-object.ts";
import type { JsonObject } from "../../lib/json.ts";

/** sha256 of text (as UTF-8) or bytes, as 64 lower-case hexadecimal digits. */
export type Sha256 = (data: string | Uint8Array) => string;

export interface PodContext extends ReadContext {
  /** undefined = the pod may name any node. */
  readonly nodeName: string | undefined;
  readonly sha256: Sha256;
  /** Whether this node has name servers for `dnsPolicy: ClusterFirst`. */
  readonly clusterDNS?: boolean;
}

export interface DecodeContext extends PodContext {
  readonly source: SourceName;
  /** For `Rejection.ref`: file path or topic. */
  readonly ref: string;
  /** For `DesiredPod.sourceRef`: `path#document` or `generation N`. */
  readonly sourceRef: string;
  /** The path of an item of a list; absent = the object is no item. */
  readonly item?: FieldPath;
}

export interface DecodedPod {
  readonly desired: DesiredPod;
  /** As in the context. */
  readonly item?: FieldPath;
  /** The whole object as written, fit for JSON. */
  readonly written: JsonObject;
}

export interface DecodedLocalObject {
  readonly desired: DesiredObject;
  /** As in the context. */
  readonly item?: FieldPath;
  /** The whole object as written, fit for JSON. A Secret's must not reach a log or a status. */
  readonly written: JsonObject;
}

/** Everything one object (a Pod, a ConfigMap, …, or a list of them) turned into. */
export interface DecodedObject {
  readonly pods: readonly DecodedPod[];
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DecodedLocalObject[];
  /** Errors of pods and local objects, and of what might be one: these are in neither list. */
  readonly errors: readonly Rejection[];
  /** Objects of kinds this node does not run. */
  readonly refusedKinds: readonly Rejection[];
  /** Reported without refusing anything: `Ignored` fields, `NotForThisNode`. */
  readonly notices: readonly Rejection[];
}
