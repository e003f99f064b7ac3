// Performs: what all desired documents of a node have in common: where they are kept, and what they are judged by.

import type { Sha256 } from "../../api/decode/decode-context.ts";
import type { AcceptedDocument } from "../../protocol/desired-document.ts";
import type { SourceName } from "../../api/pod/desired-pod.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { PodRules } from "../policy/pod-policy.ts";
import type { NodeFacts } from "./requirements.ts";
import type { Trust } from "../../trust/trust.ts";

/** The checkpoint. What `accept` has returned from is on the disk; when it throws nothing was accepted. */
export interface DocumentStore {
  get(source: SourceName): AcceptedDocument | undefined;
  accept(document: AcceptedDocument): void;
  setObserved(source: SourceName, generation: number): void;
  forgetVersion(source: SourceName): void;
}

/** What all documents of a node have in common. */
export interface DocumentRules {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sha256: Sha256;
  /** `mqtt.fleet`; absent = any. */
  readonly fleet?: string;
  readonly facts: NodeFacts;
  readonly trust: Pick<Trust, "look" | "verify">;
  readonly podRules: PodRules;
  /** Whether the kernel says that the clock is synchronised. */
  readonly clockTrusted: () => boolean;
  /** It is that late at least, wall ms: a signature that counts says so. */
  readonly onIssued: (at: number) => void;
  /** Whether this generation of a source was judged and has failed: nothing of it is on its way any more. */
  readonly hasFailed: (source: SourceName, generation: number) => boolean;
}
