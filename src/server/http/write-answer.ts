// Performs: writes answers: with back-pressure, and not for ever to a client that does not read.

import type { IncomingMessage, ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import type { Answer, StreamedAnswer } from "./exchange.ts";

/** Of a body that is known as a whole, what is given to the connection at once. */
const PART_BYTES = 256 * 1024;
/** A client that takes no further part within this time is cut off. */
const STALL_MS = 60_000;

interface WriteOptions {
  readonly answer: Answer;
  readonly clock: Clock;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** The connection ends with it. */
  readonly isLast?: boolean;
}

export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { answer, clock, signal, isLast = false }: WriteOptions,
): void {
  if (signal.aborted) return;
  const body = Buffer.from(answer.body);
  // The rest of a body that nothing has read would be taken in for ever.
  const isUnread = request.method !== "GET" && request.method !== "HEAD" && !request.complete;
  response.writeHead(answer.status, {
    ...headersOf(answer, body),
    ...(isLast || isUnread ? { connection: "close" } : {}),
  });
  void sendParts(response, request.method === "HEAD" ? body.subarray(0, 0) : body, {
    clock,
    signal,
  });
}

async function sendParts(
  response: ServerResponse,
  body: Buffer,
  { clock, signal }: Pick<WriteOptions, "clock" | "signal">,
): Promise<void> {
  let timer = clock.after(STALL_MS, () => response.destroy());
  signal.addEventListener("abort", () => timer[Symbol.dispose](), { once: true });
  let at = 0;
  for (; body.length - at > PART_BYTES && !signal.aborted; at += PART_BYTES) {
    if (response.write(body.subarray(at, at + PART_BYTES))) continue;
    await drained(response, signal);
    timer[Symbol.dispose]();
    if (!signal.aborted) timer = clock.after(STALL_MS, () => response.destroy());
  }
  response.end(body.subarray(at));
}

export async function writeStream(
  response: ServerResponse,
  { status, contentType, write }: StreamedAnswer,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(status, { "content-type": contentType });
  response.flushHeaders();
  const sink = {
    write: (part: string | Uint8Array) =>
      signal.aborted || response.write(part) ? undefined : drained(response, signal),
  };
  try {
    await write(sink, signal);
  } finally {
    response.end();
  }
}

/** To a request for another protocol, whose connection is no longer HTTP. */
export function rawAnswer(answer: Answer): string {
  const body = Buffer.from(answer.body);
  const headers = Object.entries({ ...headersOf(answer, body), connection: "close" });
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const first = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ""}`;
  return `${[first, ...lines, "", ""].join("\r\n")}${answer.body}`;
}

const STATUS_OF: Readonly<Record<string, number>> = { BodyTooLarge: 413, BodyTooSlow: 408 };

export function failureAnswer(error: unknown): Answer {
  const contentType = "text/plain; charset=utf-8";
  const status = STATUS_OF[reasonOf(error, "")] ?? 500;
  return { status, contentType, body: `the agent could not answer: ${messageOf(error)}\n` };
}

/** RFC 7234: 299 is a lasting warning, `-` an agent without a name. */
function warningHeader(text: string): string {
  return `299 - "${text.replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
}

function headersOf({ contentType, allow, headers, warnings = [] }: Answer, body: Uint8Array) {
  return {
    "content-type": contentType,
    "content-length": body.length,
    ...(allow === undefined ? {} : { allow }),
    ...(warnings.length === 0 ? {} : { warning: warnings.map(warningHeader).join(", ") }),
    ...headers,
  };
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) return done();
    response.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
