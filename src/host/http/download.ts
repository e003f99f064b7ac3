// Performs: one GET over its own connection, with TLS verified, few redirects, and a bound on time and size. No proxy of the
// environment is used.

import { request as sendRequest, type IncomingMessage } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { gunzipSync } from "node:zlib";
import { AgentError, errorCode } from "../../lib/errors.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { grouped } from "../../lib/short-text.ts";
import {
  connectionFailed,
  exchange,
  socketError,
  timedOut,
  type Settle,
} from "../probe/probe-connection.ts";
import type {
  Download,
  DownloadAnswer,
  DownloadOptions,
  DownloadRequest,
} from "./download-edge.ts";

/** Of one request, redirects apart. */
const TIMEOUT_MS = 120_000;
export const MAX_REDIRECTS = 5;
/** Bytes of the status line and all headers, and of the framing of the text. */
export const MAX_HEAD = 256 * 1024;
/** Longer values of ETag and Last-Modified are not sent back. */
const MAX_VALIDATOR = 1024;
const MAX_RETRY_AFTER_S = 3600;

/** The server names another address. */
export class Redirect {
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}
type Answer = DownloadAnswer | Redirect;

export function downloads(options: DownloadOptions): Download {
  return (request, signal) =>
    followRedirects(request.url, (url, isElsewhere) => {
      // What identifies this node is not for other servers.
      const headers = isElsewhere ? {} : request.headers;
      return get(options, { ...request, url, headers }, signal);
    });
}

/** The first answer that is no redirect; `isElsewhere`: a redirect has led to another server. */
export async function followRedirects<T>(
  first: string,
  get: (url: string, isElsewhere: boolean) => Promise<T | Redirect>,
): Promise<T> {
  let [url, isElsewhere] = [first, false];
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const answer = await get(url, isElsewhere);
    if (!(answer instanceof Redirect)) return answer;
    const next = redirected(url, answer.location);
    isElsewhere ||= next.origin !== new URL(url).origin;
    url = next.href;
  }
  throw badRedirect(`the server redirects more than ${MAX_REDIRECTS} times`);
}

/** undefined = the answer is none. */
export function redirectOf({ statusCode = 0, headers }: IncomingMessage): Redirect | undefined {
  const { location } = headers;
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
  return isRedirect && location !== undefined ? new Redirect(location) : undefined;
}

function redirected(from: string, location: string): URL {
  const next = URL.parse(location, from);
  if (next === null || !["http:", "https:"].includes(next.protocol))
    throw badRedirect("the server redirects to what is no http or https address");
  if (new URL(from).protocol === "https:" && next.protocol === "http:")
    throw badRedirect(`the server redirects from https to http://${next.host}, which is not safe`);
  next.username = "";
  next.password = "";
  return next;
}

function get(
  { clock, userAgent }: DownloadOptions,
  request: DownloadRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const late = () => timedOut(`no complete answer within ${TIMEOUT_MS / 1000} s`);
  const call = { signal, timeoutMs: TIMEOUT_MS };
  return exchange<Answer>({ clock, call, late }, (settle) => {
    const url = new URL(request.url);
    const socket = open(url, request);
    let head: IncomingMessage | undefined;
    // The request reports errors of the connection, except those after its end.
    socket.on("error", () => undefined);
    const sent = sendRequest({
      createConnection: () => socket,
      path: `${url.pathname}${url.search}`,
      headers: headersOf(url, request, userAgent),
      maxHeaderSize: MAX_HEAD,
    });
    // Added after the request's own listeners, which process the headers first.
    sent.on("socket", () =>
      socket.on("data", () => {
        if (socket.bytesRead > MAX_HEAD + (head === undefined ? 0 : 2 * request.maxBytes))
          settle.fail(tooLarge(request));
      }),
    );
    sent.on("response", (response) => {
      head = response;
      read(response, request, settle);
    });
    sent.on("upgrade", () => settle.fail(badAnswer("the server answers with another protocol")));
    sent.on("error", (error) => {
      if (head?.complete !== true) settle.fail(failure(error, url, socket));
    });
    sent.end();
    return () => void socket.destroy();
  });
}

function hostOf(url: URL): { readonly host: string; readonly port: number } {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port };
}

export function open(
  url: URL,
  { ca, cert, key }: Pick<DownloadRequest, "ca" | "cert" | "key">,
): Socket {
  const address = hostOf(url);
  if (url.protocol === "http:") return connect(address);
  // TLS allows no address as server name.
  const servername = isIP(address.host) === 0 ? { servername: address.host } : {};
  return connectTls({
    ...address,
    ...servername,
    ...withoutUndefined({ ca, cert, key }),
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  });
}

function headersOf(url: URL, request: DownloadRequest, userAgent: string): readonly string[] {
  const { headers, etag, lastModified } = request;
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return [
    "Host",
    url.host,
    "Connection",
    "close",
    "Accept-Encoding",
    "gzip",
    ...(isNamed ? [] : ["User-Agent", userAgent]),
    ...(etag === undefined ? [] : ["If-None-Match", etag]),
    ...(lastModified === undefined ? [] : ["If-Modified-Since", lastModified]),
    ...Object.entries(headers).flatMap(([name, values]) =>
      // Each character is one byte of UTF-8.
      values.flatMap((value) => [name, Buffer.from(value.trim()).toString("latin1")]),
    ),
  ];
}

function read(response: IncomingMessage, request: DownloadRequest, settle: Settle<Answer>): void {
  const { statusCode: status = 0, headers } = response;
  const { etag, "last-modified": lastModified } = headers;
  const isConditional = request.etag !== undefined || request.lastModified !== undefined;
  const redirect = redirectOf(response);
  if (redirect !== undefined) return settle.answer(redirect);
  if (status === 304 && isConditional) return settle.answer({ type: "NotModified" });
  if (status !== 200) {
    const retryAfterMs = retryAfter(headers["retry-after"]);
    return settle.answer({ type: "Status", status, ...withoutUndefined({ retryAfterMs }) });
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (!["identity", "gzip", "x-gzip"].includes(encoding))
    return settle.fail(badAnswer("the server answers in an encoding that was not asked for"));
  const pieces: Buffer[] = [];
  let length = 0;
  response.on("data", (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    if (length <= request.maxBytes) return;
    response.pause();
    settle.fail(tooLarge(request));
  });
  response.on("end", () => {
    // A proxy may end the connection in the middle, after a length that promised more.
    if (!response.complete) return settle.fail(cutShort());
    try {
      const bytes = encoding === "identity" ? joined(pieces) : unzipped(pieces, request);
      const validators = { etag: validator(etag), lastModified: validator(lastModified) };
      settle.answer({ type: "Text", bytes, ...withoutUndefined(validators) });
    } catch (error) {
      settle.fail(error instanceof AgentError ? error : badAnswer("its gzip data is damaged"));
    }
  });
  // The response's only error: the connection ended too early.
  response.on("error", (error) => settle.fail(cutShort(error)));
}

function joined(pieces: readonly Buffer[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}

function unzipped(pieces: readonly Buffer[], request: DownloadRequest): Uint8Array {
  try {
    return new Uint8Array(gunzipSync(Buffer.concat(pieces), { maxOutputLength: request.maxBytes }));
  } catch (error) {
    throw errorCode(error) === "ERR_BUFFER_TOO_LARGE"
      ? tooLarge(request)
      : badAnswer("its gzip data is damaged", error);
  }
}

function validator(value: string | undefined): string | undefined {
  return value !== undefined && value !== "" && value.length <= MAX_VALIDATOR ? value : undefined;
}

function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined || !/^[0-9]{1,9}$/.test(value)) return undefined;
  return Math.min(Number(value), MAX_RETRY_AFTER_S) * 1000;
}

export function failure(error: Error, url: URL, socket: Socket): AgentError {
  const code = errorCode(error);
  const isTls = url.protocol === "https:";
  if (isTls && code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return connectionFailed("the server does not speak TLS on this port", error);
  if (isTls && /CERT|ALTNAME|LEAF|ISSUER|SELF_SIGNED|ERR_SSL|ERR_TLS/.test(code))
    return connectionFailed(
      `the server's certificate is refused (${code}: ${error.message}); check its name, its dates, the node's clock and staticPodURLCAFile`,
      error,
    );
  if (code.startsWith("HPE_")) return badAnswer("the server does not answer in HTTP/1.1", error);
  const call = "syscall" in error ? error.syscall : undefined;
  if (code === "ECONNRESET" && call === undefined) return cutShort(error);
  return socketError(error, hostOf(url), socket.bytesRead > 0);
}

export function cutShort(cause?: unknown): AgentError {
  return connectionFailed("the connection ended before the answer was complete", cause);
}

function tooLarge({ maxBytes }: DownloadRequest): AgentError {
  const message = `the answer has more than ${grouped(maxBytes)} bytes; split it, or put the rest into files`;
  return new AgentError({ reason: "TooLarge", message });
}

function badRedirect(message: string): AgentError {
  return new AgentError({ reason: "BadRedirect", message });
}

export function badAnswer(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "BadAnswer", message, cause });
}
