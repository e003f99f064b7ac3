// What updates are made of: a document as it is judged, and where it is written down how it stands. Types only.

import type { JsonObject } from "../api/decode-context.ts";
import type { DesiredPod, SourceName } from "../api/desired-pod.ts";
import type { GoodCopy, PodOfSource, RolloutState } from "../api/rollout.ts";
import type { RolloutPolicy } from "./rollout.ts";
import type { TrialPolicy } from "./trial-facts.ts";

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
