// Which address and which request a handler means for one container.
// kubelet: NewRequestForHTTPGetAction

import { resolvePort } from "../api/container-ports.ts";
import type { Container, HttpGetHandler, TcpSocketHandler } from "../api/pod.ts";
import type { Address, HttpRequest } from "../host/probe-edge.ts";

/** `message`: why there is none, as a sentence. */
export type Target<T> =
  { readonly ok: true; readonly target: T } | { readonly ok: false; readonly message: string };

const USER_AGENT = "kube-probe/1.36";
/** The connection's own business; a probe's author does not set them. */
const NOT_SENT: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "trailer"]);

type Header = HttpRequest["headers"][number];

/** The container runs, and the agent does not know where. */
export const NO_ADDRESS = "the pod has no address yet";

/** `podIP`: where the handler names no host; undefined = not known. */
export function httpTarget(
  handler: HttpGetHandler,
  { ports }: Pick<Container, "ports">,
  podIP: string | undefined,
): Target<HttpRequest> {
  const port = resolvePort(handler.port, ports);
  const host = hostOf(handler.host, podIP);
  if (port === undefined) return noPort(handler);
  if (host === "") return { ok: false, message: NO_ADDRESS };
  return {
    ok: true,
    target: {
      scheme: handler.scheme,
      host,
      port,
      path: pathOf(handler.path),
      headers: headersOf(handler.httpHeaders),
    },
  };
}

export function tcpTarget(
  handler: TcpSocketHandler,
  { ports }: Pick<Container, "ports">,
  podIP: string | undefined,
): Target<Address> {
  const port = resolvePort(handler.port, ports);
  const host = hostOf(handler.host, podIP);
  if (port === undefined) return noPort(handler);
  return host === "" ? { ok: false, message: NO_ADDRESS } : { ok: true, target: { host, port } };
}

/** As Go writes it: with the port, even if it is the scheme's own. */
export function urlOf(request: HttpRequest): string {
  const { scheme, host, port, path } = request;
  return `${scheme.toLowerCase()}://${hostAndPort({ host, port })}${path}`;
}

export function hostAndPort({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** "" = nowhere. */
function hostOf(host: string | undefined, podIP: string | undefined): string {
  const chosen = host === undefined || host === "" ? (podIP ?? "") : host;
  return chosen.replace(/^\[(.*)\]$/, "$1");
}

function noPort<T>({ port }: HttpGetHandler | TcpSocketHandler): Target<T> {
  const named = typeof port === "string" ? "with the name" : "with the number";
  return { ok: false, message: `the container has no port ${named} ${JSON.stringify(port)}` };
}

// What cannot stand in a request line is escaped; what the author escaped stays.
function pathOf(path: string): string {
  const [written = ""] = path.split("#", 1);
  const escaped = written
    .toWellFormed()
    .replace(/%(?![0-9a-f]{2})/gi, "%25")
    .replace(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
  return escaped.startsWith("/") ? escaped : `/${escaped}`;
}

// An empty Host, User-Agent or Accept means: none of it. The host's own name is then the Host all the same.
function headersOf(written: readonly Header[]): readonly Header[] {
  const named = (name: string) => written.find((header) => header.name.toLowerCase() === name);
  const defaults = [
    { name: "User-Agent", value: USER_AGENT },
    { name: "Accept", value: "*/*" },
  ].filter(({ name }) => named(name.toLowerCase()) === undefined);
  const removed = ["host", "user-agent", "accept"].filter((name) => named(name)?.value === "");
  const kept = written.filter(({ name }) => {
    const lower = name.toLowerCase();
    return !NOT_SENT.has(lower) && !removed.includes(lower);
  });
  // A second Host would make the request invalid; the first one counts.
  const host = kept.find(({ name }) => name.toLowerCase() === "host");
  const others = kept.filter(({ name }) => name.toLowerCase() !== "host");
  return [...(host === undefined ? [] : [host]), ...defaults, ...others];
}
