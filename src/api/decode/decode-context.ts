// What decoding requires beside the text, and what it returns.

import type { DesiredPod, Rejection, SourceName } from "../pod/desired-pod.ts";
import type { ReadContext } from "./field-errors.ts";
import type { FieldPath } from "./field-path.ts";
import type { DesiredRun } from "../workload/desired-job.ts";
import type { DesiredObject } from "../v1/object/local-object.ts";
import type { DesiredService } from "../v1/object/service.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

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
  /** Index of the document in its file; absent = 0. */
  readonly document?: number;
  /** The path of an item of a list; absent = the object is no item. */
  readonly item?: FieldPath;
}

export interface DecodedItem<D> {
  readonly desired: D;
  /** As in the context. */
  readonly document: number;
  /** As in the context. */
  readonly item?: FieldPath;
  /** The whole object as written, fit for JSON. A Secret's must not reach a log or a status. */
  readonly written: JsonObject;
}

/** Everything that objects (a Pod, a ConfigMap, …, or a list of them) turned into. */
export interface DecodedObject {
  readonly pods: readonly DecodedItem<DesiredPod>[];
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DecodedItem<DesiredObject>[];
  /** Jobs and CronJobs. */
  readonly runs: readonly DecodedItem<DesiredRun>[];
  /** Services that are names; each is among `ignoredKinds` too. */
  readonly services: readonly DecodedItem<DesiredService>[];
  /** Errors of pods and local objects, and of what might be one: these are in neither list. */
  readonly errors: readonly Rejection[];
  /** Objects that are left out, as their kind means nothing or little on one node: `Ignored`, and what to write instead. */
  readonly ignoredKinds: readonly Rejection[];
  /** Reported without refusing anything: `Ignored` fields, `NotForThisNode`. */
  readonly notices: readonly Rejection[];
}

export const NOTHING_DECODED: DecodedObject = {
  pods: [],
  objects: [],
  runs: [],
  services: [],
  errors: [],
  ignoredKinds: [],
  notices: [],
};

/** What several objects turned into, in their order. */
export function mergeDecoded(decoded: readonly DecodedObject[]): DecodedObject {
  const ignored = decoded.flatMap(({ ignoredKinds }) => ignoredKinds);
  // One that has no kind is the count of a list inside.
  const isCount = ({ kind }: Rejection): boolean => kind === undefined;
  const more = { code: "Ignored", what: "objects of kinds that do not run on this node" };
  return {
    pods: decoded.flatMap(({ pods }) => pods),
    objects: decoded.flatMap(({ objects }) => objects),
    runs: decoded.flatMap(({ runs }) => runs),
    services: decoded.flatMap(({ services }) => services),
    errors: decoded.flatMap(({ errors }) => errors),
    ignoredKinds: few(ignored, isCount, more),
    notices: decoded.flatMap(({ notices }) => notices),
  };
}

/** Of one list, file or document; further ones are only counted. */
const MAX_REJECTIONS = 100;

interface More {
  readonly code: string;
  readonly what: string;
}

/** Only the first hundred of those that need not be kept, and how many more there were. */
export function few(
  all: readonly Rejection[],
  isKept: (rejection: Rejection) => boolean,
  { code, what }: More,
): readonly Rejection[] {
  const others = all.filter((one) => !isKept(one));
  const omitted = others[MAX_REJECTIONS];
  if (omitted === undefined) return all;
  const { kind: _kind, namespace: _namespace, name: _name, ...place } = omitted;
  const reported = new Set(others.slice(0, MAX_REJECTIONS));
  const message = `and ${others.length - MAX_REJECTIONS} more ${what}`;
  return [
    ...all.filter((one) => isKept(one) || reported.has(one)),
    { ...place, code, path: "", message },
  ];
}
