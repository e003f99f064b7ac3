// What the node remembers of a pod of a document over an update: the good revision, the trial, the bad revisions.

import { boolean, fieldOf, list, listOf, map, objectType, type Decoded } from "../schema/codec.ts";
import { storedFlag, storedNumber, storedText } from "../schema/stored-fields.ts";
import { exactText } from "../schema/values.ts";
import type { SourceName } from "./labels.ts";

/** A spec with the content of the ConfigMaps and Secrets it reads, by name: 16 hex digits. */
export type Revision = string;

const WANTED = {
  revision: storedText("Revision of the pod."),
  generation: storedNumber("Generation of the document that asks for it."),
};
const WANTED_REVISION = objectType("WantedRevision", WANTED);

const FAILURE = objectType("Failure", {
  reason: storedText(
    "One word: ProgressDeadlineExceeded, CrashLoopBackOff, InvalidImageName, UpstreamLost, …",
  ),
  message: storedText("What happened."),
});

/** A revision that has not proved itself yet. Its clock counts in one boot by CLOCK_BOOTTIME. */
const TRIAL = objectType("Trial", {
  ...WANTED,
  // What was ready before proves nothing of a new content.
  since: storedNumber("Begin, or first look in this boot; monotonic milliseconds."),
  // A new content does not make it a new pod.
  crashesBefore: storedNumber(
    "How often the pod had crashed before the trial; -1 = not known yet.",
  ),
  elapsedMs: storedNumber("Milliseconds counted up to `at`."),
  at: storedNumber("Monotonic milliseconds up to which time was counted."),
  // Not while it is held, nor while a registry does not answer.
  counts: storedFlag("Whether time counts from `at` on."),
  bootId: storedText("Boot that `at` belongs to."),
  boots: storedNumber("Boots of the machine inside the trial, this one included."),
  // From then on its clock never stands still.
  started: storedFlag("Whether a container has run."),
  needsUpstream: boolean({
    about: "It could cut the node off: it is good only when the broker was reached again.",
    keep: true,
  }),
  failed: fieldOf(FAILURE)({
    about: "Why it failed where there is no good revision, or its policy forbids the rollback.",
  }),
});

const BAD_REVISION = objectType("BadRevision", { ...WANTED, ...FAILURE.level });

/** Of one namespace/name of one document source. */
export const ROLLOUT_STATE = objectType("RolloutState", {
  good: fieldOf(WANTED_REVISION)({ about: "Last revision that has converged; absent = none yet." }),
  trial: fieldOf(TRIAL)({ about: "Revision on trial." }),
  bad: fieldOf(
    listOf(BAD_REVISION),
    [],
  )({ about: "Revisions that are not tried again, the newest last.", required: true, keep: true }),
});

/** A revision with all that it is made of. */
export const GOOD_COPY = objectType("GoodCopy", {
  pod: storedText("The pod as its author wrote it, JSON."),
  objects: list(exactText, { about: "The ConfigMaps and Secrets that it read, JSON." }),
  images: map(exactText, { about: "Container name → the runtime's name of the image it ran." }),
  signed: boolean({
    about: "Whether its document had a signature that was verified; absent = no.",
  }),
});

export type WantedRevision = Decoded<typeof WANTED_REVISION>;
export type Failure = Decoded<typeof FAILURE>;
export type Trial = Decoded<typeof TRIAL>;
export type BadRevision = Decoded<typeof BAD_REVISION>;
export type RolloutState = Decoded<typeof ROLLOUT_STATE>;
export type GoodCopy = Decoded<typeof GOOD_COPY>;

export interface PodOfSource {
  readonly source: SourceName;
  /** `namespace/name`. */
  readonly name: string;
}

export const NO_ROLLOUT: RolloutState = { bad: [] };

export type OnFailure = "rollback" | "hold" | "keep";

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
