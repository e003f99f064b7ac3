// Makes the HTTP request of a probe or hook handler, and decides which redirect is followed.
// kubelet: NewRequestForHTTPGetAction, RedirectChecker

import { resolvePort } from "../../api/v1/container-ports.ts";
import type { HttpGetHandler, TcpSocketHandler } from "../../api/v1/probe.ts";
import type { Address, HttpAnswer, HttpRequest } from "./probe-edge.ts";
import type { Container } from "../../api/v1/container.ts";

/** `message`: why there is no target. */
export type Target<T> =
  { readonly ok: true; readonly target: T } | { readonly ok: false; readonly message: string };

export interface AddressFacts {
  readonly ports: Container["ports"];
  /** Used when the handler names no host; undefined = unknown. */
  readonly podIP: string | undefined;
}

interface RequestFacts extends AddressFacts {
  readonly userAgent: string;
}

type Header = HttpRequest["headers"][number];

/** Set by the HTTP client only. */
const NOT_SENT: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "trailer"]);
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const DEFAULT_PORT: Readonly<Record<HttpRequest["scheme"], number>> = { HTTP: 80, HTTPS: 443 };
const SCHEMES: Readonly<Record<string, HttpRequest["scheme"]>> = {
  "http:": "HTTP",
  "https:": "HTTPS",
};

export const PROBE_USER_AGENT = "kube-probe/1.36";
/** Redirects and the first request together. */
const MAX_REQUESTS = 10;

export function httpTarget(handler: HttpGetHandler, facts: RequestFacts): Target<HttpRequest> {
  const address = addressOf(handler, facts);
  if (!address.ok) return address;
  const { scheme } = handler;
  const path = escapedPath(handler.path);
  const headers = headersOf(handler.httpHeaders, facts.userAgent);
  return { ok: true, target: { scheme, ...address.target, path, headers } };
}

/** The pod's address, unless the handler names another host. */
export function addressOf(
  handler: Pick<TcpSocketHandler, "host" | "port">,
  { ports, podIP = "" }: AddressFacts,
): Target<Address> {
  const port = resolvePort(handler.port, ports);
  if (port === undefined) return noPort(handler.port);
  const { host = "" } = handler;
  const chosen = (host === "" ? podIP : host).replace(/^\[(.*)\]$/, "$1");
  if (chosen === "") return { ok: false, message: "the pod has no address yet" };
  return { ok: true, target: { host: chosen, port } };
}

function noPort(port: number | string): Target<never> {
  const named = typeof port === "string" ? "with the name" : "with the number";
  return { ok: false, message: `the container has no port ${named} ${JSON.stringify(port)}` };
}

/** As Go writes it: with the port, even the scheme's default. */
export function urlOf({ scheme, host, port, path }: HttpRequest): string {
  return `${scheme.toLowerCase()}://${hostAndPort({ host, port })}${path}`;
}

export function hostAndPort({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export type NextRequest =
  /** No redirect, or one to another host, which is not followed. */
  | { readonly type: "None" }
  | { readonly type: "Follow"; readonly request: HttpRequest }
  /** `request`: the one that `message` is about. */
  | { readonly type: "Failed"; readonly request: HttpRequest; readonly message: string };

/** `sent`: every request so far, the newest last; `answer` is to that one. */
export function nextRequest(sent: readonly HttpRequest[], answer: HttpAnswer): NextRequest {
  const { status, location } = answer;
  const [first] = sent;
  const from = sent.at(-1);
  const isRedirect = REDIRECTS.includes(status) && location !== "";
  if (first === undefined || from === undefined || !isRedirect) return { type: "None" };
  const url = URL.parse(location, urlOf(from));
  const scheme = url === null ? undefined : SCHEMES[url.protocol];
  if (url === null || scheme === undefined) {
    const message = `failed to parse Location header ${JSON.stringify(location)}`;
    return { type: "Failed", request: from, message };
  }
  if (url.hostname !== URL.parse(urlOf(first))?.hostname) return { type: "None" };
  const request = {
    scheme,
    host: first.host,
    port: url.port === "" ? DEFAULT_PORT[scheme] : Number(url.port),
    path: url.pathname + url.search,
    headers: isAbsolute(location) ? withoutHeader(from.headers, "host") : from.headers,
  };
  if (sent.length < MAX_REQUESTS) return { type: "Follow", request };
  return { type: "Failed", request, message: `stopped after ${MAX_REQUESTS} redirects` };
}

export function withoutHeader(headers: readonly Header[], unwanted: string): readonly Header[] {
  return headers.filter(({ name }) => name.toLowerCase() !== unwanted);
}

// A relative redirect keeps the Host header of the request.
function isAbsolute(location: string): boolean {
  return /^[a-z][a-z\d+.-]*:/i.test(location);
}

// Escapes what is not allowed in a request line; existing escapes stay.
function escapedPath(path: string): string {
  const [written = ""] = path.split("#", 1);
  const escaped = written
    .toWellFormed()
    .replace(/%(?![0-9a-f]{2})/gi, "%25")
    .replace(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
  return escaped.startsWith("/") ? escaped : `/${escaped}`;
}

// An empty Host, User-Agent or Accept removes the header; Host is then the target's name.
function headersOf(written: readonly Header[], userAgent: string): readonly Header[] {
  const named = (name: string) => written.find((header) => header.name.toLowerCase() === name);
  const defaults = [
    { name: "User-Agent", value: userAgent },
    { name: "Accept", value: "*/*" },
  ].filter(({ name }) => named(name.toLowerCase()) === undefined);
  const removed = ["host", "user-agent", "accept"].filter((name) => named(name)?.value === "");
  const kept = written.filter(({ name }) => {
    const lower = name.toLowerCase();
    return !NOT_SENT.has(lower) && !removed.includes(lower);
  });
  // A second Host would make the request invalid; the first one is used.
  const host = kept.find(({ name }) => name.toLowerCase() === "host");
  return [...(host === undefined ? [] : [host]), ...defaults, ...withoutHeader(kept, "host")];
}
