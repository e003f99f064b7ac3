// A desired document that was accepted over MQTT: its content, its checkpoint, and its state.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import type { AgentUpdate } from "./agent-release.ts";
import type { RemoteSettings } from "./remote-settings.ts";
import type { GroupMember } from "./groups.ts";
import type { DesiredRun } from "../api/workload/desired-job.ts";
import type { DesiredObject } from "../api/v1/object/local-object.ts";
import type { DesiredService } from "../api/v1/object/service.ts";
import type { PodRolloutStatus } from "../api/pod/rollout.ts";
import type { DocumentTerms } from "../api/pod/update-policy.ts";

const GROUP = "mqtt:group/";

/** A document after all checks. Its payload is checkpointed, and this is read from it. */
export interface DesiredDocument
  extends DocumentTerms, Omit<DocumentVersion, "observedGeneration"> {
  readonly source: SourceName;
  /** Wall-clock milliseconds of the signature; absent = no signature that counts has a time. */
  readonly issuedAt?: number;
  /** Wall-clock milliseconds from which on it is no longer accepted; what runs continues to run. */
  readonly expiresAt?: number;
  readonly pods: readonly DesiredPod[];
  /** ConfigMaps, Secrets and claims. */
  readonly objects: readonly DesiredObject[];
  /** Jobs and CronJobs; absent = none. */
  readonly runs?: readonly DesiredRun[];
  /** Absent = none. */
  readonly services?: readonly DesiredService[];
  /** `namespace/name` of the Secrets among `objects` that were sealed, sorted. Absent = none. */
  readonly opened?: readonly string[];
  /** Groups and labels of the node; only in the node's own document. Absent = none. */
  readonly groups?: readonly GroupMember[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Only of a signed document. Absent = the version of the agent stays. */
  readonly agent?: AgentUpdate;
  /** Only of a signed document. Absent = the settings in force stay. */
  readonly config?: RemoteSettings;
}

/** Identifies one document. */
export interface DocumentVersion {
  readonly epoch: string;
  readonly generation: number;
  /** sha256 of the payload bytes, lower-case hex with the prefix `sha256:`. */
  readonly digest: string;
  /** A signature was verified when it was accepted; absent = no. */
  readonly signed?: boolean;
  /** Highest generation of this epoch that has converged; 0 = none. */
  readonly observedGeneration: number;
}

/** The checkpoint of one source. `payload` decides; the rest saves reading it. */
export interface AcceptedDocument extends DocumentVersion {
  readonly source: SourceName;
  /** Empty when it is lost. */
  readonly payload: Uint8Array;
  /** Whether the payload holds a Secret, and is encrypted at rest; absent = no. */
  readonly holdsSecrets?: boolean;
  /** Why the stored payload can no longer be used (decrypted, or its digest); its version counts all the same. */
  readonly lost?: string;
  /** Trust was reset since: a document of any epoch and generation may follow. */
  readonly versionForgotten?: boolean;
  /** Wall-clock milliseconds of acceptance; only shown. */
  readonly acceptedAt: number;
  /** The document that it replaced before that had converged or failed; absent = none. */
  readonly superseded?: DocumentVersion;
}

export interface RefusedDocument {
  readonly generation?: number;
  readonly digest: string;
  readonly code: number;
  readonly message: string;
  /** Wall-clock milliseconds of the latest refusal of this digest. */
  readonly at: number;
  readonly count: number;
}

/** What `upstream/report` needs of one document source. */
export interface DocumentState extends Pick<
  AcceptedDocument,
  "source" | "observedGeneration" | "acceptedAt" | "superseded"
> {
  /** undefined = nothing accepted yet. */
  readonly document: DesiredDocument | undefined;
  readonly lastRejected: RefusedDocument | undefined;
  /** The node's signature of `document.opened`; absent = nothing was sealed. */
  readonly openedSignature?: Uint8Array;
  /** Rollout status of its pods; pods that are absent were not judged. */
  readonly rollout?: readonly PodRolloutStatus[];
  /** Of all its pods; absent = not counted. */
  readonly images?: ImageProgress;
}

/** Number of images that the pods of a document need, counted per pod, and how many of them are present. */
export interface ImageProgress {
  readonly images: number;
  readonly imagesDone: number;
  /** Of the images that are pulled now, and of which that is known; absent = none. */
  readonly bytes?: number;
  /** In tenths of each image: it is sent over the network. */
  readonly bytesDone?: number;
}

/** Where a document arrived. */
export interface DocumentAddress {
  readonly source: SourceName;
  /** Its topic; the file of a document that is not published yet. */
  readonly ref: string;
  /** This node's name. */
  readonly node: string;
}

/** The source of a group's document. */
export function groupSource(group: string): SourceName {
  return `${GROUP}${group}`;
}

/** undefined = it is the node's own topic. */
export function groupOf({ source }: Pick<DocumentAddress, "source">): string | undefined {
  return source.startsWith(GROUP) ? source.slice(GROUP.length) : undefined;
}
