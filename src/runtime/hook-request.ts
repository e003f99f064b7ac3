// Turns a lifecycle hook's handler into a request.

import type { ObservedSandbox } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { HttpGetHandler } from "../api/v1/probe.ts";
import { httpTarget, nextRequest, withoutHeader } from "../host/probe/probe-http-request.ts";
import type { HttpAnswer, HttpRequest } from "../host/probe/probe-edge.ts";
import { AgentError } from "../lib/errors.ts";
import { shortText } from "../lib/short-text.ts";
import type { ContainerPort } from "../api/v1/container-ports.ts";
import { type LifecycleHandler } from "../api/v1/lifecycle.ts";

/** The container that a hook belongs to. */
export interface HookTarget {
  /** Of the pod. */
  readonly uid: PodUID;
  readonly containerId: string;
  /** undefined = the pod has no address (yet). */
  readonly podIP: string | undefined;
  readonly ports: readonly ContainerPort[];
}

const USER_AGENT = "kube-lifecycle/1.36";
const SHOWN_COMMAND = 200;

/** The address of httpGet hooks; loopback for a pod with hostNetwork. */
export function hookAddress(sandbox: ObservedSandbox | undefined): string | undefined {
  return sandbox?.ips[0] ?? (sandbox?.hostNetwork === true ? "127.0.0.1" : undefined);
}

/** Throws AgentError `LifecycleHookFailed` if the handler has no target, for example no such port. */
export function hookRequest(handler: HttpGetHandler, target: HookTarget): HttpRequest {
  const { podIP, ports } = target;
  const found = httpTarget(handler, { ports, podIP, userAgent: USER_AGENT });
  if (!found.ok) throw failed(found.message);
  return found.target;
}

/**
 * The redirect in an answer to the newest of `asked`; undefined = the answer is final: only redirects to the same host are
 * followed. Throws AgentError `LifecycleHookFailed` for a redirect that cannot be parsed, or one too many.
 */
export function followed(
  asked: readonly HttpRequest[],
  answer: HttpAnswer,
): HttpRequest | undefined {
  const next = nextRequest(asked, answer);
  if (next.type === "Failed") throw failed(next.message);
  return next.type === "Follow" ? next.request : undefined;
}

/** The same request without TLS, and without credentials meant for an encrypted connection. */
export function plainRequest(request: HttpRequest): HttpRequest {
  return { ...request, scheme: "HTTP", headers: withoutHeader(request.headers, "authorization") };
}

/** `exec [sh -c date]`, `httpGet HTTP :8080/stop`, `sleep 5 s`: for errors and log lines. */
export function handlerText(handler: LifecycleHandler): string {
  switch (handler.type) {
    case "exec":
      return `exec [${shortText(handler.command.join(" "), SHOWN_COMMAND)}]`;
    case "httpGet":
      return `httpGet ${handler.scheme} ${handler.host ?? ""}:${handler.port}${handler.path}`;
    case "sleep":
      return `sleep ${handler.seconds} s`;
  }
}

function failed(message: string): AgentError {
  return new AgentError({ reason: "LifecycleHookFailed", message });
}
