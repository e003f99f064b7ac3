// What the node remembers of a pod of a document over an update: the good revision, the trial, the bad revisions.

import type { Monotonic } from "../../lib/clock.ts";
import type { SourceName } from "./labels.ts";

/** A spec with the content of the ConfigMaps and Secrets it reads, by name: 16 hex digits. */
export type Revision = string;

export interface WantedRevision {
  readonly revision: Revision;
  /** Of the document that asks for it. */
  readonly generation: number;
}

/** A revision that has not proved itself yet. Its clock counts in one boot by CLOCK_BOOTTIME. */
export interface Trial extends WantedRevision {
  /** Begin, or first look in this boot: what was ready before proves nothing of a new content. */
  readonly since: Monotonic;
  /** How often the pod had crashed by then: a new content does not make it a new pod. */
  readonly crashesBefore: number;
  /** Counted up to `at`, ms. */
  readonly elapsedMs: number;
  readonly at: Monotonic;
  /** Whether time counts from `at` on: not while it is held, nor while a registry does not answer. */
  readonly counts: boolean;
  /** The boot that `at` is of. */
  readonly bootId: string;
  /** Boots of the machine inside the trial, this one included. */
  readonly boots: number;
  /** A container of it has run: from then on its clock never stands still. */
  readonly started: boolean;
  /** It could cut the node off: it is good only when the broker was reached again; absent = no. */
  readonly needsUpstream?: boolean;
  /** Why it failed where there is no good revision, or its policy forbids the rollback. */
  readonly failed?: Failure;
}

export interface Failure {
  /** One word: `ProgressDeadlineExceeded`, `CrashLoopBackOff`, `InvalidImageName`, `UpstreamLost`, … */
  readonly reason: string;
  readonly message: string;
}

export interface BadRevision extends Failure, WantedRevision {}

export interface PodOfSource {
  readonly source: SourceName;
  /** `namespace/name`. */
  readonly name: string;
}

/** Of one namespace/name of one document source. */
export interface RolloutState {
  /** The last revision that has converged; absent = none yet. */
  readonly good?: WantedRevision;
  readonly trial?: Trial;
  /** Not tried again, the newest last. */
  readonly bad: readonly BadRevision[];
}

export const NO_ROLLOUT: RolloutState = { bad: [] };

export type OnFailure = "rollback" | "hold" | "keep";

/** A revision with all that it is made of, fit for a checkpoint. */
export interface GoodCopy {
  /** The pod as its author wrote it, JSON. */
  readonly pod: string;
  /** The ConfigMaps and Secrets that it read, JSON. */
  readonly objects: readonly string[];
  /** Container name → the runtime's name of the image it ran. */
  readonly images: Readonly<Record<string, string>>;
}

/** How the update of a pod stands: to its document, not to the runtime. */
export type RolloutStatus =
  | { readonly type: "Good" }
  | { readonly type: "OnTrial" }
  | { readonly type: "Held"; readonly why: string }
  /** Its last good revision runs. */
  | { readonly type: "RolledBack"; readonly why: Failure; readonly isKnownBad: boolean }
  /** It failed, and there is no good revision or its policy forbids the rollback. */
  | { readonly type: "Failed"; readonly why: Failure };

export interface PodRolloutStatus {
  /** `namespace/name`. */
  readonly name: string;
  readonly status: RolloutStatus;
  /** Generation of the document of the last good revision; absent = there is none. */
  readonly goodGeneration?: number;
}
