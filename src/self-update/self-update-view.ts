// How far an update of the agent itself is, for the local API, the node's conditions and its events.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Failure } from "../host/versions/versions.ts";

export type UpdatePhase = "Idle" | "Waiting" | "Downloading" | "Testing" | "Restarting" | "OnTrial";

/** How the newest update has ended. */
export interface UpdateOutcome {
  readonly result: "Updated" | "Failed";
  /** Absent = it was not known yet. */
  readonly version?: string;
  /** Of a failure: one word. */
  readonly reason?: string;
  /** A sentence. */
  readonly message: string;
}

/** Plain data. */
export interface SelfUpdateView {
  /** That runs. */
  readonly version: string;
  /** Why this agent cannot be updated by itself; absent = it can. */
  readonly unsupported?: string;
  readonly phase: UpdatePhase;
  /** What is under way; absent = nothing. */
  readonly update?: {
    readonly version?: string;
    readonly source: string;
    /** Why it waits. */
    readonly waits?: string;
    readonly bytes?: number;
    readonly size?: number;
  };
  /** The version before this one, to which --back goes; absent = there is none. */
  readonly previous?: string;
  readonly last?: UpdateOutcome;
  /** Oldest first. */
  readonly failed: readonly Failure[];
}

/** Without what changes while bytes arrive: each change is published. */
export function updateConditions({
  phase,
  update,
  last,
}: Pick<SelfUpdateView, "phase" | "update" | "last">): readonly NodeCondition[] {
  const conditions: NodeCondition[] = [];
  if (phase !== "Idle") {
    const to = update?.version === undefined ? "" : ` to version ${update.version}`;
    const why = update?.waits === undefined ? "" : `: ${update.waits}`;
    const message = `the agent is updated${to}${why}`;
    conditions.push({ type: "AgentUpdating", status: "True", reason: phase, message });
  } else if (last?.result === "Failed") {
    const { reason = "Failed", message } = last;
    conditions.push({ type: "AgentUpdateFailed", status: "True", reason, message });
  }
  return conditions;
}

const OUTCOME = /^(Updated|Failed)$/;

/** undefined = it cannot be read. */
export function readOutcome(text: string | undefined): UpdateOutcome | undefined {
  const [result = "", version = "", reason = "", ...message] = (text ?? "").split("\n");
  if (!OUTCOME.test(result)) return undefined;
  return {
    result: result === "Updated" ? "Updated" : "Failed",
    ...(version === "" ? {} : { version }),
    ...(reason === "" ? {} : { reason }),
    message: message.join(" "),
  };
}

export function writeOutcome({
  result,
  version = "",
  reason = "",
  message,
}: UpdateOutcome): string {
  return [result, version, reason, message.replaceAll("\n", " ")].join("\n");
}

/** Tells failures apart. */
export function lineOf({ sha256, name, reason }: Failure): string {
  return `${sha256} ${name} ${reason}`;
}
