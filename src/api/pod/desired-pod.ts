// What a source asks for: a defaulted pod with its identity and its origin.

import type { DesiredRun } from "../workload/desired-job.ts";
import type { DesiredObject } from "../v1/object/local-object.ts";
import type { DesiredService } from "../v1/object/service.ts";
import type { Pod, PodUID } from "../v1/pod.ts";
import type { DocumentTerms } from "./update-policy.ts";
import type { SourceName } from "./labels.ts";
import type { FieldError } from "../../lib/result.ts";

export type { SourceName };

export interface DesiredPod {
  readonly uid: PodUID;
  /** `metadata.uid` equals `uid`. */
  readonly pod: Pod;
  readonly source: SourceName;
  /** `path#document` (first document = 0) or `generation N`. */
  readonly sourceRef: string;
  /** First 16 hex digits of sha256 of the canonical JSON of the spec as written. */
  readonly specHash: string;
  /** Container name → `v1:` + sha256 of the container as written. */
  readonly containerHashes: Readonly<Record<string, string>>;
  /** Of a document whose signature was verified; absent = no. */
  readonly signed?: boolean;
  /** It takes its predecessor's place before its images are here; absent = no. */
  readonly stopFirst?: boolean;
  /** Its document lists it no more: it runs until the pods that are listed are good, or need its place. Absent = no. */
  readonly lingers?: boolean;
  /** A pod of a Job that has ended: nothing of it starts again, also if the runtime has lost it. Absent = no. */
  readonly ended?: boolean;
}

/** The `sourceRef` of what a manifest file declares. */
export function manifestRef(path: string, document: number): string {
  return `${path}#${document}`;
}

/** The manifest file of a `sourceRef`; any other `sourceRef` is returned unchanged. */
export function manifestPath(sourceRef: string): string {
  return sourceRef.replace(/#\d+$/, "");
}

/** One thing a source refused, shadowed or ignored; shown under `get pods` and upstream as `rejected`. */
export interface Rejection extends FieldError {
  readonly source: SourceName;
  /** Where it stands: file path, or topic. */
  readonly ref: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** What runs, or is meant not to run here; every other rejection is a mistake. */
const WARNINGS: ReadonlySet<string> = new Set([
  "Ignored",
  "InsecureURL",
  "NotForThisNode",
  "NotStarted",
  "RemovalsWait",
  "SecretInSharedDocument",
  "Shadowed",
  "UnpinnedImage",
]);

export function isWarning({ code }: Pick<Rejection, "code">): boolean {
  return WARNINGS.has(code);
}

/** All that one source contains at this moment; the newest snapshot replaces the one before. */
export interface SourceSnapshot {
  readonly source: SourceName;
  /** Whether the source has synced (own-source-first); until then none of its running pods is orphaned. */
  readonly ready: boolean;
  readonly pods: readonly DesiredPod[];
  readonly objects: readonly DesiredObject[];
  /** Jobs and CronJobs; their pods are not among `pods`. Absent = none. */
  readonly runs?: readonly DesiredRun[];
  /** Absent = none. */
  readonly services?: readonly DesiredService[];
  readonly rejected: readonly Rejection[];
  /** The accepted document behind it, if there is one and it could be read whole: its pods are judged when they change. */
  readonly document?: DocumentTerms & { readonly digest?: string };
  /** namespace/name under which whatever runs goes on; absent = none. */
  readonly held?: readonly string[];
}

/** What the whole node shall run: the merge of all snapshots by precedence. */
export interface DesiredState {
  readonly pods: readonly DesiredPod[];
  /** Each name of a kind once. */
  readonly objects: readonly DesiredObject[];
  /** Of all sources, in order of precedence; absent = none. */
  readonly services?: readonly DesiredService[];
  /** namespace/name of pods that are asked for and have no room: what runs under the name goes on. */
  readonly held: ReadonlySet<string>;
  readonly ready: ReadonlySet<SourceName>;
  readonly rejected: readonly Rejection[];
  /** Pods that the node has no room for, or cannot run; each is in `rejected` too. */
  readonly notAdmitted: readonly NotAdmittedPod[];
}

export interface NotAdmittedPod {
  readonly desired: DesiredPod;
  readonly why: Rejection;
}

/** Before any source has synced. */
export const NOTHING_DESIRED: DesiredState = {
  pods: [],
  objects: [],
  held: new Set(),
  ready: new Set(),
  rejected: [],
  notAdmitted: [],
};

export interface Removal {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  /**
   * `Deleted`: its source dropped it, everything goes. Logs and last status stay for diagnosis if another spec of its name
   * follows (`Replaced`), if it made room for a pod that comes first (`Preempted`), if the node ran short of something and the
   * pod waits (`Evicted`), or if the node shuts down (`Shutdown`).
   */
  readonly why: "Deleted" | "Replaced" | "Preempted" | "Evicted" | "Shutdown";
}
