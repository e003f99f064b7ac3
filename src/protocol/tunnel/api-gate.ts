// What an operator may ask of the node's API through a tunnel: to read one pod, its log, and to open its streams. A request is
// written anew from what was understood of it, so that nothing else comes in with it.

import { closingResponse, MAX_HEAD, requestHead, type Headers } from "../../lib/http-head.ts";

/** The pod that the signed command names. */
export interface GateScope {
  readonly namespace: string;
  readonly pod: string;
}

export type GateAnswer =
  | {
      readonly type: "Request";
      /** The head to send to the API. */
      readonly head: string;
      /** Bytes that follow are passed on once the API has answered 101, else none are. */
      readonly isUpgrade: boolean;
      /** What came after the head. */
      readonly rest: Uint8Array;
    }
  /** An answer for the client, after which its connection ends. */
  | { readonly type: "Refused"; readonly response: string }
  /** The head has not come as a whole. */
  | { readonly type: "More" };

const END = "\r\n\r\n";
const REQUEST = /^(GET|POST) (\/[!-~]*) HTTP\/1\.1$/;
const STREAMS = ["exec", "attach", "portforward"];
const PROTOCOL = /^[\w./-]{1,64}$/;
const ACCEPT = /^[\w./*;=+, -]{1,200}$/;

export function judgeHead(received: Uint8Array, scope: GateScope): GateAnswer {
  const text = new TextDecoder("latin1").decode(received.subarray(0, MAX_HEAD));
  const end = text.indexOf(END);
  if (end < 0)
    return received.length < MAX_HEAD ? { type: "More" } : refused(400, "the head is too long");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const [, method = "", target = ""] = REQUEST.exec(first) ?? [];
  const path = pathOf(target, scope);
  if (path === undefined)
    return refused(403, `this session is for pod ${scope.namespace}/${scope.pod} only`);
  const isUpgrade = STREAMS.includes(path);
  if (!isUpgrade && method !== "GET") return refused(405, "a session only reads the pod");
  const headers = headersOf(lines);
  const own = isUpgrade ? upgradeHeaders(method, headers) : readHeaders(headers);
  const head = requestHead(method, target, [["Host", "agent"], ...own]);
  return { type: "Request", head, isUpgrade, rest: received.subarray(end + END.length) };
}

/** The last word of the path; "" = the pod itself, undefined = something else. */
function pathOf(target: string, { namespace, pod }: GateScope): string | undefined {
  const [path = ""] = target.split("?");
  const own = `/api/v1/namespaces/${namespace}/pods/${pod}`;
  if (path === own) return "";
  const word = path.startsWith(`${own}/`) ? path.slice(own.length + 1) : "?";
  return word === "log" || STREAMS.includes(word) ? word : undefined;
}

function headersOf(lines: readonly string[]): Headers {
  return lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
  });
}

function upgradeHeaders(method: string, headers: Headers): Headers {
  const protocols = headers
    .filter(([name, value]) => name === "x-stream-protocol-version" && PROTOCOL.test(value))
    .map(([, value]) => ["X-Stream-Protocol-Version", value] as const);
  const length = method === "POST" ? ([["Content-Length", "0"]] as const) : [];
  return [["Connection", "Upgrade"], ["Upgrade", "SPDY/3.1"], ...protocols, ...length];
}

function readHeaders(headers: Headers): Headers {
  const [, value = ""] = headers.find(([name]) => name === "accept") ?? [];
  const accept = ACCEPT.test(value) ? ([["Accept", value]] as const) : [];
  return [["Connection", "close"], ...accept];
}

/** Whether the answer of the API begins the stream; undefined = its first line has not come as a whole. */
export function isSwitched(received: Uint8Array): boolean | undefined {
  const text = new TextDecoder("latin1").decode(received.subarray(0, 64));
  return text.includes("\r\n") || received.length >= 64
    ? /^HTTP\/1\.1 101(?: |\r\n)/.test(text)
    : undefined;
}

function refused(status: number, message: string): GateAnswer {
  const body = JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: status,
    message,
  });
  const response = closingResponse(status, "application/json", body);
  return { type: "Refused", response };
}
