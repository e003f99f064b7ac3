// What a node publishes of itself: its state (birth, clean stop, last will), its reports, and a report for each pod.

import type { NodeStatus, PodStatus } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { Phase, SettingsPhase } from "./status-codes.ts";
import { jsonBytes } from "./wire-text.ts";
import { fieldOf, list, objectType, type Decoded } from "../api/schema/codec.ts";
import { exactText } from "../api/schema/values.ts";
import { writeKeys, type PublishedKeys } from "./node-keys.ts";
import { complete, count, flag, maybeCount, maybeText, text } from "./read-published.ts";

const REJECTED = objectType("LastRejected", {
  generation: maybeCount("Generation of the refused document."),
  digest: text("sha256 of its payload."),
  code: count("Why it was refused."),
  message: text("Why it was refused."),
  at: text("Time of the latest refusal."),
  count: count("Number of refusals.", 1),
});

const OPENED = objectType("Opened", {
  secrets: list(exactText, { about: "Each as namespace/name, sorted." }),
  sig: fieldOf(exactText)({
    about:
      "The node's signature of node, source, epoch, generation, digest and secrets, in base64.",
  }),
});

/** Ack as any agent publishes it: its phase may be one of a newer agent. */
export const ACK = objectType("Ack", {
  source: text("node, group/<name> or static."),
  epoch: text("Epoch of the accepted document."),
  generation: count("Generation of the accepted document; 0 is none."),
  observedGeneration: count("Last generation that has converged; 0 is none."),
  digest: text("sha256 of the payload."),
  signed: flag("Whether a signature was verified."),
  phase: text("How the document runs."),
  code: count("The same as a number."),
  message: maybeText("The same as a sentence."),
  since: text("Time since which phase and code are what they are."),
  lastGood: fieldOf(
    complete(objectType("LastGood", { generation: maybeCount("Generation that runs instead.") })),
  )({ about: "What runs instead." }),
  lastRejected: fieldOf(REJECTED)({ about: "The document that was refused last." }),
  opened: fieldOf(complete(OPENED))({ about: "Sealed Secrets that the node has opened." }),
  progress: fieldOf(
    complete(
      objectType("Progress", {
        images: maybeCount("Images that the pods need."),
        imagesDone: maybeCount("Images that are here."),
        bytes: maybeCount("Bytes of the images that are pulled now."),
        bytesDone: maybeCount("Bytes of them that have arrived, in tenths of each image."),
      }),
      ["bytes", "bytesDone"],
    ),
  )({ about: "Progress of pulling." }),
});
export type LastRejected = Decoded<typeof REJECTED>;

/** One per document: how the accepted one runs, and which one was refused last. */
export interface Ack extends Omit<Decoded<typeof ACK>, "phase"> {
  readonly phase: Phase;
}

export const POD_LINE = objectType("PodLine", {
  namespace: text("Namespace of the pod."),
  name: text("Name of the pod."),
  uid: text("Uid of the pod."),
  source: text("Document that the pod is from."),
  specHash: text("Hash of its spec."),
  phase: text("Phase of the pod."),
  ready: text("Ready containers of all, as 1/2."),
  restarts: count("Restarts of all containers."),
  reason: maybeText("Why it does not run."),
  since: text("Time since which it is so."),
});
export type PodLine = Decoded<typeof POD_LINE>;

export interface RejectedLine extends Omit<
  Rejection,
  "source" | "ref" | "path" | "line" | "column"
> {
  /** As in `Ack.source`. */
  readonly source: string;
  readonly path?: string;
}

const SETTINGS_LINE = objectType("SettingsLine", {
  source: text("Document that the settings are from."),
  generation: count("Its generation."),
  digest: text("sha256 of the settings, written as canonical JSON."),
});

export const REPORTED_SETTINGS = objectType("ReportedSettings", {
  phase: text("InForce, Trying, Proving or Undone."),
  code: count("The same as a number: 200, 202 or 424."),
  inForce: fieldOf(complete(SETTINGS_LINE))({
    about: "What is over the configuration of the device; absent = nothing.",
  }),
  wanted: fieldOf(complete(SETTINGS_LINE))({ about: "What is tried, or was undone." }),
  message: maybeText("Why it is undone, or does not work yet."),
});

/** Settings of a document: what is in force, and how what is wanted stands. */
export interface ReportedSettings extends Omit<Decoded<typeof REPORTED_SETTINGS>, "phase"> {
  readonly phase: SettingsPhase;
}

/** Orders messages: session and seq are comparable only inside one incarnation. */
export interface MessageNumber {
  readonly incarnation: string;
  readonly session: number;
  readonly seq: number;
}

export interface ReportedState extends MessageNumber {
  readonly apiVersion: "agent/v1";
  readonly kind: "ReportedState";
  readonly node: string;
  /** RFC 3339. */
  readonly time: string;
  readonly clockTrusted: boolean;
  readonly desired: readonly Ack[];
  /** Those that configuration and fleet have given it; absent = none. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly status: NodeStatus;
  readonly pods: readonly PodLine[];
  /** Number of pods that are not listed, for lack of room. */
  readonly truncated?: number;
  readonly rejected: readonly RejectedLine[];
  /** Absent = the configuration of the device is in force, and no document wants another. */
  readonly settings?: ReportedSettings;
}

/** Retained on the pod's own topic; newest wins. */
export interface PodReport extends MessageNumber, Pick<PodLine, "uid" | "specHash" | "source"> {
  readonly status: PodStatus;
}

interface StateFacts extends Pick<MessageNumber, "incarnation" | "session"> {
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly bootID: string;
  /** Version of the agent. */
  readonly agent: string;
  /** Only in a birth; absent = the node has none. */
  readonly keys?: PublishedKeys | undefined;
}

/** The payload, as bytes of JSON. */
export function stateMessage(
  state: "online" | "offline" | "lost",
  { incarnation, session, now, bootID, agent, keys }: StateFacts,
): Uint8Array {
  const time = rfc3339(now);
  const shown = state === "online" && keys !== undefined ? { keys: writeKeys(keys) } : {};
  return jsonBytes({ state, incarnation, session, time, bootID, agent, protocol: 1, ...shown });
}
