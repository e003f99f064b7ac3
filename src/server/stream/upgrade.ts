// Performs: asks the other end of a socket for another protocol, and reads its answer.

import type { Socket } from "node:net";
import { deadline, type Clock } from "../../lib/clock.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import {
  MAX_HEAD,
  readResponseHead,
  requestHead,
  type Headers,
  type ResponseHead,
} from "../../lib/http-head.ts";

export interface UpgradeOptions {
  /** Begins to connect. Half-open: an end of the other side does not end ours. */
  readonly connect: () => Socket;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Upgraded {
  /** Paused; what has arrived after the head is in `response.rest`. */
  readonly socket: Socket;
  readonly response: ResponseHead;
}

/** Resolves with any response, also a refusal; rejects with the socket's error or AgentError `StreamError`. */
export async function upgrade(options: UpgradeOptions): Promise<Upgraded> {
  const { connect, target, headers, clock, timeoutMs, signal } = options;
  using limit = deadline(clock, timeoutMs, signal);
  const socket = connect();
  const { promise, resolve, reject } = Promise.withResolvers<ResponseHead>();
  const late = (): void => reject(failure("there was no answer in time"));
  const ended = (): void => reject(failure("the connection was closed without an answer"));
  let received: Uint8Array = new Uint8Array();
  const read = (chunk: Uint8Array): void => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const head = readResponseHead(received);
    if (head === "Invalid") reject(failure("the answer is no HTTP"));
    else if (head !== undefined) {
      socket.pause();
      resolve(head);
    }
  };
  socket.on("error", reject);
  socket.once("end", ended);
  socket.once("close", ended);
  socket.on("data", read);
  limit.signal.addEventListener("abort", late, { once: true });
  if (limit.signal.aborted) late();
  socket.write(requestHead("POST", target, headers));
  try {
    return { socket, response: await promise };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off("data", read);
    socket.off("end", ended);
    socket.off("close", ended);
    // An error that comes before the next owner listens must not end the process.
    socket.on("error", () => socket.destroy());
    socket.off("error", reject);
  }
}

/** The body of a refusal, or as much as has a place in a message; the socket is closed. */
export async function refusalText({ socket, response }: Upgraded, clock: Clock): Promise<string> {
  const length = Number(response.headers.get("content-length") ?? MAX_HEAD);
  const wanted = Math.min(Number.isNaN(length) ? 0 : length, MAX_HEAD);
  using limit = deadline(clock, BODY_MS);
  const { promise, resolve } = Promise.withResolvers<void>();
  let body: Uint8Array = response.rest;
  const read = (chunk: Uint8Array): void => {
    body = Buffer.concat([body, chunk]);
    if (body.length >= wanted) resolve();
  };
  socket.on("data", read);
  socket.once("close", resolve);
  socket.once("end", resolve);
  limit.signal.addEventListener("abort", () => resolve(), { once: true });
  if (body.length >= wanted) resolve();
  socket.resume();
  await promise;
  socket.destroy();
  return new TextDecoder().decode(body.subarray(0, wanted)).trim();
}

const BODY_MS = 2000;

function failure(message: string): AgentError {
  return new AgentError({ reason: "StreamError", message });
}

/** A sentence about a runtime's streaming server that could not be used. */
export function withPlace(place: string, cause: unknown): AgentError {
  const message = `${place}: ${messageOf(cause)}`;
  return new AgentError({ reason: "StreamError", message, cause });
}
