// Which requests a known user may make. This is the one place: every request passes it before a path is looked at.

import type { Answer, User } from "../http/exchange.ts";
import { refusal } from "../kube/kube-status.ts";
import type { Peer } from "./peer.ts";

export interface JudgedRequest {
  readonly method: string;
  readonly url: URL;
  readonly header: (name: string) => string | undefined;
  /** Asks for another protocol: exec, attach, port-forward. */
  readonly isUpgrade: boolean;
  readonly peer: Peer;
  readonly user: User;
  /** Of a browser's session; `hasKey`: the page's own key came with the request. */
  readonly browser?: { readonly hasKey: boolean } | undefined;
}

/** What is judged before it is known who asks. */
type Sender = Pick<JudgedRequest, "header" | "peer">;

/** `hosts`: names and addresses of this node in small letters, IPv6 without brackets. */
export function judgeRequest(
  request: JudgedRequest,
  hosts: ReadonlySet<string>,
): Answer | undefined {
  return judgeSender(request, hosts) ?? judgeBrowser(request) ?? judgeAccess(request);
}

/** Whether another page, or a foreign name of this node, makes a browser ask. */
export function judgeSender(sender: Sender, hosts: ReadonlySet<string>): Answer | undefined {
  return foreignHost(sender, hosts) ?? foreignPage(sender);
}

/** Whether a browser sends it for a page of this node, after `judgeSender`: without these headers it may be anything. */
export function isOfOwnPage({ header }: Pick<Sender, "header">): boolean {
  return header("origin") !== undefined || header("sec-fetch-site") === "same-origin";
}

/** A name of an attacker that leads to this node would let its page read the answers (DNS rebinding). */
function foreignHost({ peer, header }: Sender, hosts: ReadonlySet<string>) {
  if (peer.door === "unix") return undefined;
  const host = header("host") ?? "";
  if (hosts.has(hostNameOf(host) ?? "")) return undefined;
  return refusal(
    421,
    `${JSON.stringify(host)} is no name or address of this node: use one of ${[...hosts].slice(0, 8).join(", ")}, or make it one with "sudo agent kubeconfig --server https://NAME:PORT"`,
    { reason: "MisdirectedRequest" },
  );
}

/** Without port and brackets, as a URL has it; undefined = no host. */
export function hostNameOf(host: string): string | undefined {
  if (!/^[\w.:[\]-]{1,260}$/.test(host)) return undefined;
  const url = URL.parse(`https://${host}/`);
  const name = url?.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "") ?? "";
  return name === "" ? undefined : name;
}

/** What a page of another origin makes a browser send. Other clients send neither header. */
function foreignPage({ header }: Sender): Answer | undefined {
  const origin = header("origin");
  const site = header("sec-fetch-site");
  const isOwnOrigin =
    origin === undefined ||
    URL.parse(origin)?.host === URL.parse(`https://${header("host")}`)?.host;
  if (isOwnOrigin && (site === undefined || site === "same-origin" || site === "none"))
    return undefined;
  return refusal(403, "requests of other web pages are refused; open the page of this node itself");
}

/** Users and sessions that only root may make. */
const USERS_PATH = /^\/(?:kubeconfig|ui\/tokens)(?:\/|$)/;
/** Of a browser's session: POST begins one, DELETE ends it. */
export const SESSION_PATH = "/ui/session";
/** Of the page, whose files are the same on every node. */
const PAGE_FILE = /^\/ui(?:\/[\w.-]*)?$/;
const SECRETS = "secrets";
/** The kubelet's own paths to processes inside containers. */
const INSIDE = new Set(["exec", "attach", "portforward", "run"]);
/** What may be read below a pod. */
const BELOW_PODS = new Set(["", "log", "status"]);

/**
 * A cookie alone opens the files of the page and nothing else: it is sent to every port of its host, and with requests
 * that no page of this node has made.
 */
function judgeBrowser({ browser, method, url, isUpgrade, header }: JudgedRequest) {
  if (browser === undefined) return undefined;
  const segments = segmentsOf(url.pathname);
  const isRead = method === "GET" || method === "HEAD";
  if (isUpgrade || leadsInside(segments))
    return refusal(
      403,
      'the session of a browser opens no stream into a container: use "agent exec", or kubectl',
    );
  if (isRead && PAGE_FILE.test(url.pathname)) return undefined;
  if (!browser.hasKey)
    return refusal(401, 'the key of the session is missing: run "sudo agent ui" on the node');
  if (isRead || isOfOwnPage({ header })) return undefined;
  return refusal(403, "a change by the session of a browser must come from the page of this node");
}

function judgeAccess(request: JudgedRequest): Answer | undefined {
  const { method, url, isUpgrade, peer, user, browser } = request;
  const segments = segmentsOf(url.pathname);
  const name = JSON.stringify(user.name);
  if (peer.door !== "unix" && USERS_PATH.test(`/${segments.join("/")}`))
    return refusal(403, "users are made and revoked on the node only: sudo agent kubeconfig");
  const endsItself = browser !== undefined && method === "DELETE" && url.pathname === SESSION_PATH;
  if (user.access === "Full" || endsItself) return undefined;
  if (isUpgrade || (method !== "GET" && method !== "HEAD") || leadsInside(segments))
    return refusal(403, `user ${name} is read-only and cannot ${method} ${url.pathname}`);
  if (readsSecrets(segments))
    return refusal(403, `user ${name} is read-only and cannot read secrets`);
  return undefined;
}

/** In small letters and without escapes, however often they were escaped. */
function segmentsOf(path: string): readonly string[] {
  return plain(path)
    .split("/")
    .filter((part) => part !== "");
}

function plain(path: string): string {
  try {
    const decoded = decodeURIComponent(path);
    return decoded === path ? path.toLowerCase() : plain(decoded);
  } catch {
    return path.toLowerCase();
  }
}

/** `pods/NAME/exec`, and the kubelet's own `exec/NAMESPACE/POD/CONTAINER`. */
function leadsInside(segments: readonly string[]): boolean {
  const podsAt = segments.lastIndexOf("pods", Math.max(0, segments.length - 3));
  const below = podsAt < 0 ? "" : (segments[podsAt + 2] ?? "");
  return INSIDE.has(segments[0] ?? "") || (isApi(segments) && !BELOW_PODS.has(below));
}

/** The resource, but neither a namespace nor another object of that name. */
function readsSecrets(segments: readonly string[]): boolean {
  return (
    isApi(segments) && segments.some((one, at) => one === SECRETS && isResourceAt(segments, at))
  );
}

function isResourceAt(segments: readonly string[], at: number): boolean {
  return !WITH_NAMES.has(segments[at - 1] ?? "") || segments[at - 2] === "namespaces";
}

/** What a name may follow. */
const WITH_NAMES = new Set([
  "namespaces",
  "nodes",
  "pods",
  "configmaps",
  "events",
  "persistentvolumeclaims",
]);

function isApi([first]: readonly string[]): boolean {
  return first === "api" || first === "apis";
}
