// What one answer to a probe means, in the kubelet's words. kubelet: pkg/probe, prober.runProbe

import type { ProbeKind } from "../api/v1/probe-verdicts.ts";
import type { GrpcHealth } from "../host/probe/probe-edge.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";

/** `Warning` counts as a success. `Error`: nobody knows; it changes nothing. */
export type ProbeAnswer =
  | { readonly type: "Success" }
  | { readonly type: "Warning"; readonly output: string }
  | { readonly type: "Failure"; readonly output: string }
  | { readonly type: "Error"; readonly message: string };

export const SUCCESS: ProbeAnswer = { type: "Success" };
/** UTF-16 units of an answer that are kept. kubelet: maxReadLength */
const MAX_OUTPUT = 10 * 1024;

/** With the output cut to what may be kept. */
export function failure(output: string): ProbeAnswer {
  return { type: "Failure", output: cut(output) };
}

export function cut(output: string): string {
  // toWellFormed: a pair of surrogates may have been cut in two.
  return output.length <= MAX_OUTPUT ? output : output.slice(0, MAX_OUTPUT).toWellFormed();
}

/** What an edge or the runtime threw: no answer in time and no connection are failures of the container. */
export function thrownAnswer(thrown: unknown, describe: (message: string) => string): ProbeAnswer {
  const reason = reasonOf(thrown, "Unknown");
  if (reason === "Timeout" || reason === "ConnectionFailed")
    return failure(describe(messageOf(thrown)));
  return { type: "Error", message: cut(describe(messageOf(thrown))) };
}

export function execAnswer({
  exitCode,
  output,
}: {
  readonly exitCode: number;
  readonly output: string;
}): ProbeAnswer {
  return exitCode === 0 ? SUCCESS : failure(output);
}

export function execTimeout(command: readonly string[], timeoutSeconds: number): ProbeAnswer {
  const line = JSON.stringify(command.join(" "));
  return failure(`command timed out: ${line} timed out after ${timeoutSeconds}s`);
}

export function grpcAnswer(health: GrpcHealth): ProbeAnswer {
  switch (health) {
    case "SERVING":
      return SUCCESS;
    case "NOT_SERVING":
    case "UNKNOWN":
    case "SERVICE_UNKNOWN":
      return failure(`service unhealthy (responded with "${health}")`);
    case "UNIMPLEMENTED":
      return failure(
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)",
      );
    case "NOT_FOUND":
      return failure(
        "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
      );
  }
}

export interface AnswerEvent {
  readonly type: "Warning";
  readonly reason: "Unhealthy" | "ProbeWarning";
  readonly message: string;
}

/** What people are told of it; a success is not news. */
export function answerEvent(kind: ProbeKind, answer: ProbeAnswer): AnswerEvent | undefined {
  const probe = `${WORD[kind]} probe`;
  switch (answer.type) {
    case "Success":
      return undefined;
    case "Warning":
      return event("ProbeWarning", `${probe} warning: ${answer.output}`);
    case "Failure":
      return event("Unhealthy", `${probe} failed: ${answer.output}`);
    case "Error":
      return event(
        "Unhealthy",
        `${probe} errored and resulted in unknown state: ${answer.message}`,
      );
  }
}

const WORD: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

function event(reason: AnswerEvent["reason"], message: string): AnswerEvent {
  return { type: "Warning", reason, message };
}
