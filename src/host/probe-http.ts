// One GET over a connection of its own. Written by hand over a socket: what a probe needs is little, and a library's
// client takes the environment's proxies, keeps connections, and costs several times as much. kubelet: pkg/probe/http

import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import type { HttpAnswer, HttpRequest, ProbeCall } from "./probe-edge.ts";
import { ResponseReader, type Reading } from "./probe-http-response.ts";
import {
  connectionFailed,
  hostAndPort,
  question,
  socketError,
  timedOut,
  type Settle,
} from "./probe-question.ts";

/**
 * Beside the edge's reasons: `BodyFailed` = the status came and the rest of the answer did not. The kubelet takes
 * that for an error of its own, not for a failure of the container.
 */
export function httpGet(clock: Clock, request: HttpRequest, call: ProbeCall): Promise<HttpAnswer> {
  const text = requestText(request);
  if (typeof text !== "string") return Promise.reject(text);
  const reader = new ResponseReader();
  const late = () => (reader.hasHead ? bodyFailed(LATE_BODY) : timedOut(LATE));
  return question<HttpAnswer>({ clock, call, late }, (settle) => {
    const { socket, ready } = open(request);
    let connected = false;
    socket.on(ready, () => {
      connected = true;
      socket.write(text);
    });
    socket.on("data", (chunk: Buffer) => take(reader, reader.push(chunk), settle));
    socket.on("end", () => take(reader, reader.end(), settle));
    socket.on("close", () => take(reader, reader.end(), settle));
    socket.on("error", (error) => {
      const failed = tlsError(error) ?? socketError(error, request, connected);
      settle.fail(reader.hasHead ? bodyFailed(failed.message, error) : failed);
    });
    return () => void socket.destroy();
  });
}

const LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const LATE_BODY =
  "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

function open({ scheme, host, port }: HttpRequest): { socket: Socket; ready: string } {
  if (scheme === "HTTP") return { socket: connect({ host, port }), ready: "connect" };
  // An address is no server name.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const tls = { rejectUnauthorized: false, ALPNProtocols: ["http/1.1"], ...servername };
  return { socket: connectTls({ host, port, ...tls }), ready: "secureConnect" };
}

function take(reader: ResponseReader, reading: Reading, settle: Settle<HttpAnswer>): void {
  switch (reading.type) {
    case "More":
      return;
    case "Answer":
      return settle.answer(reading.answer);
    case "Malformed":
      return settle.fail(
        reader.hasHead ? bodyFailed(reading.message) : connectionFailed(reading.message),
      );
  }
}

function bodyFailed(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "BodyFailed", message, cause });
}

function tlsError(error: Error): AgentError | undefined {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return connectionFailed("http: server gave HTTP response to HTTPS client", error);
  return code.startsWith("ERR_SSL_") ? connectionFailed(`tls: ${error.message}`, error) : undefined;
}

/** The request as it is sent, or what is wrong with it: a line break in a value would be a second request. */
function requestText(request: HttpRequest): string | AgentError {
  const { headers, path } = request;
  if (!/^\/[\x21-\x7e]*$/.test(path))
    return connectionFailed(`net/http: invalid path ${JSON.stringify(path)}`);
  for (const { name, value } of headers) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      return connectionFailed(`net/http: invalid header field name ${JSON.stringify(name)}`);
    if (/[^\t\x20-\x7e\x80-\u{10ffff}]/u.test(value))
      return connectionFailed(`net/http: invalid header field value for ${JSON.stringify(name)}`);
  }
  const has = (wanted: string) => headers.some(({ name }) => name.toLowerCase() === wanted);
  const lines = [
    `GET ${path} HTTP/1.1`,
    ...(has("host") ? [] : [`Host: ${hostAndPort(request)}`]),
    ...headers.map(({ name, value }) => `${name}: ${value.trim()}`),
    ...(has("connection") ? [] : ["Connection: close"]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
