// What updates are made of: a document as it is judged, and where it is written down how it stands. Types only.

import type { DecodeContext } from "../api/decode/decode-context.ts";
import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import type { LocalObjects } from "../api/v1/local-object.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { GoodCopy, PodOfSource, Revision, RolloutState } from "../api/pod/rollout.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { RolloutPolicy, RolloutStep } from "./next-step.ts";
import type { PodProgress, TrialPolicy, UpstreamFacts } from "./trial-facts.ts";
import type { JsonObject } from "../lib/json.ts";

/** The checkpoint. What `save` has returned from is on the disk; when it throws, nothing is. */
export interface RolloutStore {
  of(source: SourceName): ReadonlyMap<string, RolloutState>;
  copy(
    pod: PodOfSource,
  ): { readonly type: "Found"; readonly copy: GoodCopy } | { readonly type: "Lost" };
  save(
    changes: readonly (PodOfSource & { readonly state: RolloutState; readonly copy?: GoodCopy })[],
  ): void;
  forget(pods: readonly PodOfSource[]): void;
}

/** A pod as the newest document has it. */
export interface RolloutPod {
  readonly desired: DesiredPod;
  /** The object as its author wrote it. */
  readonly written: JsonObject;
}

export interface RolloutDocument {
  readonly generation: number;
  readonly policy: RolloutPolicy & TrialPolicy;
  readonly pods: readonly RolloutPod[];
}

export interface DocumentRolloutsOptions {
  readonly source: SourceName;
  readonly store: RolloutStore;
  readonly bootId: string;
  /** To read a good copy with. */
  readonly context: Omit<DecodeContext, "lenient" | "locate" | "source" | "sourceRef">;
  readonly revision: (desired: DesiredPod, objects: LocalObjects) => Revision;
  /** What the pod finds at this moment, by the newest word of all sources. */
  readonly objects: (desired: DesiredPod) => LocalObjects;
  /** What it reads and may still come (`ConfigMap default/web`): that it is missing says nothing yet. */
  readonly late: (desired: DesiredPod) => readonly string[];
  /** Another source has its name: it is not this document's to run. */
  readonly isShadowed: (desired: DesiredPod) => boolean;
  /** Something of this source and `namespace/name` is there. */
  readonly isThere: (name: string) => boolean;
  /** The runtime has something of this UID. */
  readonly isKnown: (uid: PodUID) => boolean;
  /** A container of this UID runs. */
  readonly isRunning: (uid: PodUID) => boolean;
  /** It could not start now: an image of it was asked for and did not come, or nobody has what it reads. */
  readonly isKeptWaiting: (desired: DesiredPod) => boolean;
  /** Who keeps a pod that runs from being taken away; undefined = nobody. */
  readonly holdOf: (running: DesiredPod, policy: TrialPolicy) => string | undefined;
  /** How the pod of this UID does, and what else its trial depends on. */
  readonly progress: (desired: DesiredPod, policy: TrialPolicy) => PodProgress;
  readonly upstream: () => UpstreamFacts;
  /** Container name → what the runtime calls the image that the pod of this UID runs. */
  readonly images: (uid: PodUID) => Readonly<Record<string, string>>;
  readonly now: () => Monotonic;
}

/** What may run, and how it stands. */
export interface RolloutOutcome {
  /** Of the document that it speaks of; 0 = there is none. */
  readonly generation: number;
  readonly pods: readonly DesiredPod[];
  /** Names (`namespace/name`) under which whatever runs goes on. */
  readonly held: readonly string[];
  readonly steps: readonly RolloutStep[];
  /** Pods that find other objects or images from now on than they did before. */
  readonly repinned: readonly PodUID[];
  /** When time alone may change it. */
  readonly reviewAt: Monotonic | undefined;
  /** What could not be written down, so that only what the disk knows is done; absent = nothing. */
  readonly trouble?: unknown;
}
