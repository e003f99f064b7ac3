// What decoding has to know beside the text, and what it gives back.

import type { DesiredPod, Rejection, SourceName } from "../pod/desired-pod.ts";
import type { FindingsBudget } from "./field-errors.ts";
import type { FieldPath, Locate } from "./field-path.ts";
import type { DesiredObject } from "../v1/object/local-object.ts";
import type { JsonObject } from "../../lib/json.ts";

/** sha256 of text (as UTF-8) or bytes, as 64 lower-case hexadecimal digits. */
export type Sha256 = (data: string | Uint8Array) => string;

export interface DecodeContext {
  readonly source: SourceName;
  /** Where the object stands, for `Rejection.ref`: file path or topic. */
  readonly ref: string;
  /** For `DesiredPod.sourceRef`: `path#document` or `generation N`. */
  readonly sourceRef: string;
  /** undefined = every node is the right one. */
  readonly nodeName: string | undefined;
  readonly sha256: Sha256;
  /** True for checkpoints: what was accepted once is never judged again (boring-restart). */
  readonly lenient?: boolean;
  /** Line and column of fields, where the text is known. */
  readonly locate?: Locate;
  /** The path to it, of an item of a list; absent = it stands by itself. */
  readonly item?: FieldPath;
  /** Whether this node has name servers for `dnsPolicy: ClusterFirst`. */
  readonly clusterDNS?: boolean;
  /** Of the whole file or document; absent = of this value alone. */
  readonly budget?: FindingsBudget;
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
  /** The whole object as written, fit for JSON. Of a Secret: nothing for a log or a status. */
  readonly written: JsonObject;
}

/** Everything one object (a Pod, a ConfigMap, …, or a list of them) turned into. */
export interface DecodedObject {
  readonly pods: readonly DecodedPod[];
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DecodedLocalObject[];
  /** What is wrong with pods and local objects (or what might be one): these are in neither list. */
  readonly errors: readonly Rejection[];
  /** Objects of kinds this node does not run. */
  readonly refusedKinds: readonly Rejection[];
  /** What refuses nothing but must be visible: `Ignored` fields, `NotForThisNode`. */
  readonly notices: readonly Rejection[];
}
