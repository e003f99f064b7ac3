// Performs: one GET by the platform's client over its own connection: it is not reused, no proxy of the environment is
// used, and it is closed with the request. kubelet: pkg/probe/http

import { request as sendRequest, type IncomingMessage } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { AgentError, errorCode } from "../../lib/errors.ts";
import { hostAndPort } from "./probe-http-request.ts";
import type { HttpAnswer, HttpRequest, ProbeCall } from "./probe-edge.ts";
import {
  connectionFailed,
  exchange,
  socketError,
  timedOut,
  type Settle,
} from "./probe-connection.ts";

/** Bytes. kubelet: maxRespBodyLength */
const MAX_BODY = 10 * 1024;
/** Bytes until the headers are complete, interim responses such as 100 Continue included. */
const MAX_HEAD = 256 * 1024;
/** Bytes of the whole answer: a body may be little data in much framing, such as zeros before the size of a chunk. */
const MAX_ANSWER = 512 * 1024;
/** Characters of a malformed status line in a message. */
const SHOWN = 64;

/**
 * In addition to the reasons of ProbeEdge: `BodyFailed` = the status arrived, the rest did not. The kubelet treats that
 * as its own error, not as a failure of the container.
 */
export function httpGet(clock: Clock, request: HttpRequest, call: ProbeCall): Promise<HttpAnswer> {
  const invalid = invalidPart(request);
  if (invalid !== undefined)
    return Promise.reject(connectionFailed(`net/http: invalid ${invalid}`));
  let head: IncomingMessage | undefined;
  const late = () => (head === undefined ? timedOut(LATE) : bodyFailed(LATE_BODY));
  return exchange<HttpAnswer>({ clock, call, late }, (settle) => {
    const socket = open(request);
    // The request reports errors of the connection, except those after its end.
    socket.on("error", () => undefined);
    const sent = sendRequest({
      createConnection: () => socket,
      path: request.path,
      headers: headersOf(request),
      maxHeaderSize: MAX_HEAD,
      // About as lenient as the kubelet's client, which accepts bare line feeds too.
      insecureHTTPParser: true,
    });
    // Added after the request's own listeners, which process the headers first.
    sent.on("socket", () =>
      socket.on("data", () => {
        if (head === undefined && socket.bytesRead > MAX_HEAD)
          settle.fail(connectionFailed(TOO_LONG));
        // After the body's own end, which comes first where both are in one packet.
        if (socket.bytesRead > MAX_ANSWER) settle.fail(bodyFailed(TOO_MUCH));
      }),
    );
    // An unrequested 101 is a response like any other.
    sent.on("upgrade", (response) => settle.answer(answerOf(response, [])));
    sent.on("response", (response) => {
      head = response;
      readBody(response, settle);
    });
    sent.on("error", (error) => {
      if (head === undefined) return settle.fail(noHead(error, request, socket));
      // An error after a complete response is ignored; its "end" event follows.
      if (!head.complete) settle.fail(bodyFailed(error.message, error));
    });
    sent.end();
    return () => void socket.destroy();
  });
}

const TOO_LONG = `server response headers exceeded ${MAX_HEAD} bytes; aborted`;
const TOO_MUCH = `server response exceeded ${MAX_ANSWER} bytes; aborted`;
const LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const LATE_BODY =
  "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

function open({ scheme, host, port }: HttpRequest): Socket {
  if (scheme === "HTTP") return connect({ host, port });
  // TLS allows no address as server name.
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
    // One packet may contain ten thousand more chunks.
    response.pause();
    settle.answer(answerOf(response, pieces));
  });
  response.on("end", () => settle.answer(answerOf(response, pieces)));
  // The response's only error: the connection ended too early.
  response.on("error", (error) => settle.fail(bodyFailed("unexpected EOF", error)));
}

function answerOf(response: IncomingMessage, pieces: readonly Buffer[]): HttpAnswer {
  const { statusCode = 0, headers } = response;
  const body = Buffer.concat(pieces).subarray(0, MAX_BODY).toString();
  // Header bytes are decoded as latin1.
  const location = Buffer.from(headers.location ?? "", "latin1").toString();
  return { status: statusCode, location, body };
}

function bodyFailed(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "BodyFailed", message, cause });
}

/** Why no status arrived, as Go's net/http words it. */
function noHead(error: Error, request: HttpRequest, socket: Socket): AgentError {
  const code = errorCode(error);
  const call = "syscall" in error ? error.syscall : undefined;
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return connectionFailed("http: server gave HTTP response to HTTPS client", error);
  if (code.startsWith("ERR_SSL_")) return connectionFailed(`tls: ${error.message}`, error);
  if (code === "HPE_HEADER_OVERFLOW") return connectionFailed(TOO_LONG, error);
  if (code.startsWith("HPE_")) return connectionFailed(malformed(error), error);
  // No system call failed: the other end closed the connection.
  if (code === "ECONNRESET" && call === undefined)
    return connectionFailed(socket.bytesRead > 0 ? "unexpected EOF" : "EOF", error);
  return socketError(error, request, call !== "connect");
}

// Shows the first line, which identifies the server; the rest stays out of events.
function malformed(error: Error): string {
  const packet = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : "";
  const [first = ""] = packet.toString("latin1").split(/\r?\n/, 1);
  return `malformed HTTP response ${JSON.stringify(first.slice(0, SHOWN))}: ${error.message}`;
}

/** A list, which is sent unchanged; each character is one byte of UTF-8. */
function headersOf(request: HttpRequest): readonly string[] {
  const { headers } = request;
  const has = (wanted: string) => headers.some(({ name }) => name.toLowerCase() === wanted);
  return [
    ...(has("host") ? [] : ["Host", hostAndPort(request)]),
    ...headers.flatMap(({ name, value }) => [name, Buffer.from(value.trim()).toString("latin1")]),
    ...(has("connection") ? [] : ["Connection", "close"]),
  ];
}

/** A line break in a value would inject a second request. */
function invalidPart({ headers, path }: HttpRequest): string | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path)) return `path ${JSON.stringify(path)}`;
  for (const { name, value } of headers) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `header field name ${JSON.stringify(name)}`;
    if (/[^\t\x20-\x7e\x80-\u{10ffff}]/u.test(value))
      return `header field value for ${JSON.stringify(name)}`;
  }
  return undefined;
}
