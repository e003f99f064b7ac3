// An accepted MQTT document and how the node stands to it.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import type { GroupMember } from "./groups.ts";
import type { DesiredObject } from "../api/v1/object/local-object.ts";
import type { PodRolloutStatus } from "../api/pod/rollout.ts";
import type { DocumentTerms } from "../api/pod/update-policy.ts";

const GROUP = "mqtt:group/";

/** A document after all checks; what is checkpointed is its payload, this is read from it. */
export interface DesiredDocument extends DocumentTerms {
  readonly source: SourceName;
  readonly epoch: string;
  /** sha256 of the payload bytes, lower-case hex with the prefix `sha256:`. */
  readonly digest: string;
  /** A signature was verified when it was accepted; absent = no. */
  readonly signed?: boolean;
  /** Wall ms at which whoever signed it says to have done so; absent = nobody whose signature counts says anything. */
  readonly issuedAt?: number;
  /** Wall ms from which on it should no longer be what runs; it runs all the same. */
  readonly expiresAt?: number;
  readonly pods: readonly DesiredPod[];
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DesiredObject[];
  /** Only a node document says these: groups that the node is in, and labels of it. Absent = none. */
  readonly groups?: readonly GroupMember[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** What one document is told apart by. */
export interface DocumentVersion {
  readonly epoch: string;
  readonly generation: number;
  readonly digest: string;
  /** A signature was verified when it was accepted; absent = no. */
  readonly signed?: boolean;
  /** Highest generation of this epoch that has converged; 0 = none. */
  readonly observedGeneration: number;
}

/** The checkpoint of one source: the truth is `payload`, the rest saves reading it. */
export interface AcceptedDocument extends DocumentVersion {
  readonly source: SourceName;
  /** Empty when it is lost. */
  readonly payload: Uint8Array;
  /** Whether the payload holds a Secret, and is encrypted at rest; absent = no. */
  readonly holdsSecrets?: boolean;
  /** Why the payload is there and cannot be opened any more; its version counts all the same. */
  readonly lost?: string;
  /** Trust was reset since: a document of any epoch and generation follows it. */
  readonly versionForgotten?: boolean;
  /** Wall ms of acceptance; for showing only. */
  readonly acceptedAt: number;
  /** Whose place it took before that had come to an end, well or badly; absent = nobody's. */
  readonly superseded?: DocumentVersion;
}

export interface RefusedDocument {
  readonly generation?: number;
  readonly digest: string;
  readonly code: number;
  readonly message: string;
  /** Wall ms of the latest refusal of this digest. */
  readonly at: number;
  readonly count: number;
}

/** What `upstream/report` needs of one document source. */
export interface DocumentState {
  readonly source: SourceName;
  /** undefined = nothing accepted yet. */
  readonly document: DesiredDocument | undefined;
  readonly observedGeneration: number;
  readonly acceptedAt: number;
  /** As in the checkpoint. */
  readonly superseded?: DocumentVersion;
  readonly lastRejected: RefusedDocument | undefined;
  /** How its pods stand to it; those that are not in it were not judged. */
  readonly rollout?: readonly PodRolloutStatus[];
  /** Of all its pods; absent = nobody has counted. */
  readonly images?: ImageProgress;
}

/** How many images a document's pods ask for, each of each pod, and how many of them are here. */
export interface ImageProgress {
  readonly images: number;
  readonly imagesDone: number;
}

/** Where a document arrived. */
export interface DocumentAddress {
  readonly source: SourceName;
  readonly topic: string;
  /** This node's name. */
  readonly node: string;
}

/** `node`, `group/<g>`: how reports and `requires.documents` call a document source. */
export function documentName(source: SourceName): string {
  return source.startsWith("mqtt:") ? source.slice("mqtt:".length) : source;
}

/** undefined = it is the node's own topic. */
export function groupOf({ source }: Pick<DocumentAddress, "source">): string | undefined {
  return source.startsWith(GROUP) ? source.slice(GROUP.length) : undefined;
}
