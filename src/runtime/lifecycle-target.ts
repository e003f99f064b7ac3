// Turns a hook's handler into what is asked of whom; performs nothing. kubelet: NewRequestForHTTPGetAction, RedirectChecker

import { resolvePort } from "../api/container-ports.ts";
import type { ObservedSandbox } from "../api/observed-pod.ts";
import type { ContainerPort, HttpGetHandler, LifecycleHandler } from "../api/pod.ts";
import type { HttpAnswer, HttpRequest } from "../host/probe-edge.ts";
import { AgentError } from "../lib/errors.ts";

/** The container that a hook belongs to. */
export interface HookTarget {
  readonly containerId: string;
  /** Absent = the pod has no address (yet). */
  readonly podIP: string | undefined;
  readonly ports: readonly ContainerPort[];
}

type Header = HttpRequest["headers"][number];

const DEFAULT_HEADERS: readonly Header[] = [
  { name: "User-Agent", value: "kube-lifecycle/1.36" },
  { name: "Accept", value: "*/*" },
];
/** The connection's own business; a hook's author does not set them. */
const NOT_SENT: readonly string[] = ["content-length", "transfer-encoding", "trailer"];
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const SHOWN_COMMAND = 200;

/** Where a pod answers; on the host's network its programs are our neighbours. */
export function hookAddress(sandbox: ObservedSandbox | undefined): string | undefined {
  return sandbox?.ips[0] ?? (sandbox?.hostNetwork === true ? "127.0.0.1" : undefined);
}

/** Throws AgentError `LifecycleHookFailed` when there is nobody to ask. */
export function hookRequest(handler: HttpGetHandler, target: HookTarget): HttpRequest {
  const host = handler.host ?? target.podIP;
  if (host === undefined || host === "") throw failed("the pod has no IP address");
  const port = resolvePort(handler.port, target.ports);
  if (port === undefined) throw failed(`the container has no port "${handler.port}"`);
  const { scheme, path, httpHeaders } = handler;
  return { scheme, host, port, path: escapedPath(path), headers: withDefaults(httpHeaders) };
}

/** Where an answer sends us; undefined = it is the last one: only redirects to the same host are followed. */
export function redirected(request: HttpRequest, answer: HttpAnswer): HttpRequest | undefined {
  if (!REDIRECTS.includes(answer.status) || answer.location === "") return undefined;
  const from = urlOf(request);
  const to = URL.parse(answer.location, from.href);
  if (to === null || to.hostname !== from.hostname) return undefined;
  if (to.protocol !== "http:" && to.protocol !== "https:") return undefined;
  const scheme = to.protocol === "https:" ? "HTTPS" : "HTTP";
  const port = to.port === "" ? defaultPort(scheme) : Number(to.port);
  // A Host header of one's own holds for relative redirects only.
  const isRelative = !/^(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(answer.location);
  const headers = isRelative ? request.headers : without(request.headers, "host");
  return { scheme, host: request.host, port, path: `${to.pathname}${to.search}`, headers };
}

/** The same question in plain text, without what was meant for encrypted ears. */
export function plainRequest(request: HttpRequest): HttpRequest {
  return { ...request, scheme: "HTTP", headers: without(request.headers, "authorization") };
}

/** `exec [sh -c date]`, `httpGet HTTP :8080/stop`, `sleep 5 s`: for errors and log lines. */
export function handlerText(handler: LifecycleHandler): string {
  switch (handler.type) {
    case "exec": {
      const command = handler.command.join(" ");
      return `exec [${command.length > SHOWN_COMMAND ? `${command.slice(0, SHOWN_COMMAND)}…` : command}]`;
    }
    case "httpGet":
      return `httpGet ${handler.scheme} ${handler.host ?? ""}:${handler.port}${handler.path}`;
    case "sleep":
      return `sleep ${handler.seconds} s`;
  }
}

// A default header that the author wrote empty is not sent at all.
function withDefaults(headers: readonly Header[]): readonly Header[] {
  const written = new Set(headers.map(({ name }) => name.toLowerCase()));
  const defaults = DEFAULT_HEADERS.filter(({ name }) => !written.has(name.toLowerCase()));
  const isSent = ({ name, value }: Header): boolean => {
    const key = name.toLowerCase();
    const isDefault = DEFAULT_HEADERS.some((one) => one.name.toLowerCase() === key);
    return !NOT_SENT.includes(key) && !(isDefault && value === "");
  };
  return [...defaults, ...headers.filter(isSent)];
}

function without(headers: readonly Header[], unwanted: string): readonly Header[] {
  return headers.filter(({ name }) => name.toLowerCase() !== unwanted);
}

function escapedPath(path: string): string {
  const url = URL.parse(`http://localhost${path.startsWith("/") ? "" : "/"}${path}`);
  if (url === null) throw failed(`"${path}" is no path`);
  return `${url.pathname}${url.search}`;
}

function urlOf({ scheme, host, port, path }: HttpRequest): URL {
  const name = host.includes(":") ? `[${host}]` : host;
  const url = URL.parse(`${scheme.toLowerCase()}://${name}:${port}${path}`);
  if (url === null) throw failed(`"${host}" is no host`);
  return url;
}

function defaultPort(scheme: HttpRequest["scheme"]): number {
  return scheme === "HTTPS" ? 443 : 80;
}

function failed(message: string): AgentError {
  return new AgentError({ reason: "LifecycleHookFailed", message });
}
