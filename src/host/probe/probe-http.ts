// Performs: one GET by the platform's client, over a connection that is ours and not an agent's: nothing is kept, no
// proxy of the environment stands between, and whatever ends the question ends the connection. kubelet: pkg/probe/http

import { request as sendRequest, type IncomingMessage } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { AgentError } from "../../lib/errors.ts";
import { hostAndPort } from "./http-request.ts";
import type { HttpAnswer, HttpRequest, ProbeCall } from "./probe-edge.ts";
import {
  connectionFailed,
  question,
  socketError,
  timedOut,
  type Settle,
} from "./probe-question.ts";

/** Bytes. kubelet: maxRespBodyLength */
const MAX_BODY = 10 * 1024;
/** Bytes until the headers are complete, those of interim answers such as 100 Continue included. */
const MAX_HEAD = 256 * 1024;
/** Characters of a first line that is none. */
const SHOWN = 64;

/**
 * Beside the edge's reasons: `BodyFailed` = the status came and the rest of the answer did not. The kubelet takes
 * that for an error of its own, not for a failure of the container.
 */
export function httpGet(clock: Clock, request: HttpRequest, call: ProbeCall): Promise<HttpAnswer> {
  const invalid = whatIsInvalid(request);
  if (invalid !== undefined)
    return Promise.reject(connectionFailed(`net/http: invalid ${invalid}`));
  let head: IncomingMessage | undefined;
  const late = () => (head === undefined ? timedOut(LATE) : bodyFailed(LATE_BODY));
  return question<HttpAnswer>({ clock, call, late }, (settle) => {
    const socket = open(request);
    // The request tells of the connection's errors, but for those that come when it is done with it.
    socket.on("error", () => undefined);
    const sent = sendRequest({
      createConnection: () => socket,
      path: request.path,
      headers: headersOf(request),
      maxHeaderSize: MAX_HEAD,
      // About as forgiving as the kubelet's client, which takes bare line feeds too.
      insecureHTTPParser: true,
    });
    // After the request's own listeners, which see the head first.
    sent.on("socket", () =>
      socket.on("data", () => {
        if (head === undefined && socket.bytesRead > MAX_HEAD)
          settle.fail(connectionFailed(TOO_LONG));
      }),
    );
    // 101, which nobody asked for, is an answer like any other.
    sent.on("upgrade", (response) => settle.answer(answerOf(response, [])));
    sent.on("response", (response) => {
      head = response;
      readBody(response, settle);
    });
    sent.on("error", (error) => {
      if (head === undefined) return settle.fail(noHead(error, request, socket));
      // What comes after a whole answer is not part of it; its "end" is on the way.
      if (!head.complete) settle.fail(bodyFailed(error.message, error));
    });
    sent.end();
    return () => void socket.destroy();
  });
}

const TOO_LONG = `server response headers exceeded ${MAX_HEAD} bytes; aborted`;
const LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const LATE_BODY =
  "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

function open({ scheme, host, port }: HttpRequest): Socket {
  if (scheme === "HTTP") return connect({ host, port });
  // An address is no server name.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const tls = { rejectUnauthorized: false, ALPNProtocols: ["http/1.1"], ...servername };
  return connectTls({ host, port, ...tls });
}

function readBody(response: IncomingMessage, settle: Settle<HttpAnswer>): void {
  const pieces: Buffer[] = [];
  let length = 0;
  response.on("data", (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    if (length < MAX_BODY) return;
    // A packet may hold ten thousand chunks more.
    response.pause();
    settle.answer(answerOf(response, pieces));
  });
  response.on("end", () => settle.answer(answerOf(response, pieces)));
  // Its only error of its own: the connection ended too early.
  response.on("error", (error) => settle.fail(bodyFailed("unexpected EOF", error)));
}

function answerOf(response: IncomingMessage, pieces: readonly Buffer[]): HttpAnswer {
  const { statusCode = 0, headers } = response;
  const body = Buffer.concat(pieces).subarray(0, MAX_BODY).toString();
  // Bytes of a header come as latin1.
  const location = Buffer.from(headers.location ?? "", "latin1").toString();
  return { status: statusCode, location, body };
}

function bodyFailed(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "BodyFailed", message, cause });
}

/** Why no status came, in the words of Go's net/http. */
function noHead(error: Error, request: HttpRequest, socket: Socket): AgentError {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const call = "syscall" in error ? error.syscall : undefined;
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return connectionFailed("http: server gave HTTP response to HTTPS client", error);
  if (code.startsWith("ERR_SSL_")) return connectionFailed(`tls: ${error.message}`, error);
  if (code === "HPE_HEADER_OVERFLOW") return connectionFailed(TOO_LONG, error);
  if (code.startsWith("HPE_")) return connectionFailed(malformed(error), error);
  // No system call failed: the other end just ended.
  if (code === "ECONNRESET" && call === undefined)
    return connectionFailed(socket.bytesRead > 0 ? "unexpected EOF" : "EOF", error);
  return socketError(error, request, call !== "connect");
}

// With the first line of what came, by which people see who answers there; what follows stays out of events.
function malformed(error: Error): string {
  const packet = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : "";
  const [first = ""] = packet.toString("latin1").split(/\r?\n/, 1);
  return `malformed HTTP response ${JSON.stringify(first.slice(0, SHOWN))}: ${error.message}`;
}

/** As a list, which is sent as it stands; of characters that are the bytes of UTF-8. */
function headersOf(request: HttpRequest): readonly string[] {
  const { headers } = request;
  const has = (wanted: string) => headers.some(({ name }) => name.toLowerCase() === wanted);
  return [
    ...(has("host") ? [] : ["Host", hostAndPort(request)]),
    ...headers.flatMap(({ name, value }) => [name, Buffer.from(value.trim()).toString("latin1")]),
    ...(has("connection") ? [] : ["Connection", "close"]),
  ];
}

/** A line break in a value would be a second request. */
function whatIsInvalid({ headers, path }: HttpRequest): string | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path)) return `path ${JSON.stringify(path)}`;
  for (const { name, value } of headers) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `header field name ${JSON.stringify(name)}`;
    if (/[^\t\x20-\x7e\x80-\u{10ffff}]/u.test(value))
      return `header field value for ${JSON.stringify(name)}`;
  }
  return undefined;
}
