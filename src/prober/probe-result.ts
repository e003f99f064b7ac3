// The result of running a probe once, with the kubelet's messages. kubelet: pkg/probe, prober.runProbe

import { nextRequest, urlOf } from "../host/probe/probe-http-request.ts";
import type { GrpcHealth, HttpAnswer, HttpRequest } from "../host/probe/probe-edge.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { ProbeKind } from "../api/v1/probe.ts";

/** `Warning` counts as a success. `Error`: the result is unknown, and nothing changes. */
export type ProbeResult =
  | { readonly type: "Success" }
  | { readonly type: "Warning"; readonly output: string }
  | { readonly type: "Failure"; readonly output: string }
  | { readonly type: "Error"; readonly message: string };

export const SUCCESS: ProbeResult = { type: "Success" };
/** UTF-16 units of output that are kept. kubelet: maxReadLength */
const MAX_OUTPUT = 10 * 1024;

export function failure(output: string): ProbeResult {
  return { type: "Failure", output: cut(output) };
}

function cut(output: string): string {
  // toWellFormed: a surrogate pair may have been split.
  return output.length <= MAX_OUTPUT ? output : output.slice(0, MAX_OUTPUT).toWellFormed();
}

/** The result of an exception: a timeout and a failed connection are failures of the container. */
export function thrownResult(thrown: unknown, describe: (message: string) => string): ProbeResult {
  const reason = reasonOf(thrown, "Unknown");
  if (reason === "Timeout" || reason === "ConnectionFailed")
    return failure(describe(messageOf(thrown)));
  return { type: "Error", message: cut(describe(messageOf(thrown))) };
}

export function execTimeout(command: readonly string[], timeoutSeconds: number): ProbeResult {
  const line = JSON.stringify(command.join(" "));
  return failure(`command timed out: ${line} timed out after ${timeoutSeconds}s`);
}

export function grpcResult(health: GrpcHealth): ProbeResult {
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

interface ResultEvent {
  readonly type: "Warning";
  readonly reason: "Unhealthy" | "ProbeWarning";
  readonly message: string;
}

/** The event of a result; a success has none. */
export function resultEvent(kind: ProbeKind, result: ProbeResult): ResultEvent | undefined {
  const probe = `${TITLE[kind]} probe`;
  switch (result.type) {
    case "Success":
      return undefined;
    case "Warning":
      return event("ProbeWarning", `${probe} warning: ${result.output}`);
    case "Failure":
      return event("Unhealthy", `${probe} failed: ${result.output}`);
    case "Error":
      return event(
        "Unhealthy",
        `${probe} errored and resulted in unknown state: ${result.message}`,
      );
  }
}

const TITLE: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

function event(reason: ResultEvent["reason"], message: string): ResultEvent {
  return { type: "Warning", reason, message };
}

type HttpStep =
  | { readonly type: "Follow"; readonly request: HttpRequest }
  | { readonly type: "Result"; readonly result: ProbeResult };

/** kubelet: DoHTTPProbe. `sent`: every request of this probe so far, the newest last; `response` is to that one. */
export function judgeHttp(sent: readonly HttpRequest[], response: HttpAnswer): HttpStep {
  const next = nextRequest(sent, response);
  switch (next.type) {
    case "None":
      return { type: "Result", result: byStatus(response) };
    case "Failed":
      return { type: "Result", result: failure(getFailed(next.request, next.message)) };
    case "Follow":
      return next;
  }
}

/** The error of a request without response, as Go words it. */
export function getFailed(request: HttpRequest, message: string): string {
  return `Get ${JSON.stringify(urlOf(request))}: ${message}`;
}

// The body of a failure stays out of the message: it may contain secrets, and events leave the node.
function byStatus({ status, body }: HttpAnswer): ProbeResult {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return SUCCESS;
  return { type: "Warning", output: cut(`Probe terminated redirects, Response body: ${body}`) };
}
