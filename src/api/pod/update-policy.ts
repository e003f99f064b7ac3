// How a document wants what it changes to be carried out (MQTT.md §2, `policy`).

import type { OnFailure } from "./rollout.ts";

/** How an update is carried out (`policy` of a document). */
export interface UpdatePolicy {
  readonly minReadySeconds: number;
  readonly progressDeadlineSeconds: number;
  readonly onFailure: OnFailure;
  readonly strategy: UpdateStrategy;
  /** All pods of a generation or none. */
  readonly atomic: boolean;
  /** Whether a changed pod is good only once the broker was reached again; `auto`: if it could cut the node off. */
  readonly requireUpstream: "auto" | "always" | "never";
  /** What has failed once may be tried again by a newer generation. */
  readonly retryFailed: boolean;
  /** How long the lock of an application may hold an update up. */
  readonly maxLockSeconds: number;
}

/** `stop-then-pull`: for a disk that cannot hold two images. */
export type UpdateStrategy = "pull-then-replace" | "stop-then-pull";

/** What an accepted document says beside its objects. */
export interface DocumentTerms {
  readonly generation: number;
  readonly policy: UpdatePolicy;
  /** The pods by `namespace/name`, as their author wrote them. */
  readonly written: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}
