// What a source of one desired document needs: what it is judged by, where it is kept, and the node that has it among others.

import type { DocumentAddress } from "../../protocol/desired-document.ts";
import type { SourceName, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import type { Documents } from "../../store/document/documents.ts";
import type { WorkGuard } from "../../store/start-guard/start-guard.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Trust } from "../../trust/trust.ts";
import type { JudgeContext, JudgeRules } from "./judge-document.ts";

/** The checkpoint. What `accept` has returned from is on the disk; when it throws nothing was accepted. */
export type DocumentStore = Pick<
  Documents,
  "get" | "accept" | "setObserved" | "forgetVersion" | "synced" | "remove"
>;

/** What all documents of a node are judged by, and where they are kept. */
export interface DocumentRules extends JudgeRules {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly trust: Pick<Trust, "look" | "verify">;
  /** Whether the kernel reports the clock as synchronised. */
  readonly clockTrusted: () => boolean;
  /** Called with the `issuedAt` of a signed document, wall-clock milliseconds: the time is at least that. */
  readonly onIssued: (at: number) => void;
  /** Absent = no document waits. */
  readonly guard?: WorkGuard;
  /** A document was judged: the broker has been asked. Absent = not of interest. */
  readonly onJudged?: () => void;
  /** Whether this generation of a source was judged and has failed: it can no longer be superseded. */
  readonly hasFailed: (source: SourceName, generation: number) => boolean;
}

/** What one document needs of the node that has it among others. */
export interface DocumentHost {
  /** Generations of all accepted documents of the node by name. */
  generations(): JudgeContext["accepted"];
  /** What releases staged documents of the group; undefined = `source` is the node's own document. */
  staged(source: SourceName): JudgeContext["staged"];
  /** Called after every change. */
  publish(snapshot: SourceSnapshot): void;
  /** `state()` has changed. */
  stateChanged(): void;
  /** A document of `source` was accepted, and its snapshot and state were published. */
  accepted(source: SourceName): void;
}

export interface DocumentSourceOptions {
  readonly rules: DocumentRules;
  readonly address: DocumentAddress;
  readonly host: DocumentHost;
}
