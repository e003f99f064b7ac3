// Performs: one question over one connection: whatever ends it also closes what was opened for it.

import type { Clock } from "../../lib/clock.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import { hostAndPort } from "./http-request.ts";
import type { Address, ProbeCall } from "./probe-edge.ts";

export interface Settle<T> {
  readonly answer: (value: T) => void;
  readonly fail: (error: AgentError) => void;
}

export interface QuestionOptions {
  readonly clock: Clock;
  readonly call: ProbeCall;
  /** What it is when the time is over. */
  readonly late: () => AgentError;
}

/** `begin` opens and returns how to close; it is closed exactly once, also when nobody answers. */
export function question<T>(
  { clock, call, late }: QuestionOptions,
  begin: (settle: Settle<T>) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const { signal, timeoutMs } = call;
    let close: (() => void) | undefined;
    let ended = false;
    const end = (): boolean => {
      if (ended) return false;
      ended = true;
      timer[Symbol.dispose]();
      signal?.removeEventListener("abort", abort);
      close?.();
      return true;
    };
    const answer = (value: T): void => {
      if (end()) resolve(value);
    };
    const fail = (error: AgentError): void => {
      if (end()) reject(error);
    };
    const abort = (): void => fail(new AgentError({ reason: "Aborted", message: "given up" }));
    const timer = clock.after(timeoutMs, () => fail(late()));
    if (signal?.aborted === true) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      close = begin({ answer, fail });
    } catch (thrown) {
      // A host or port that no socket takes.
      return fail(connectionFailed(messageOf(thrown), thrown));
    }
    if (ended) close();
  });
}

export function connectionFailed(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: "ConnectionFailed", message, cause });
}

export function timedOut(message: string): AgentError {
  return new AgentError({ reason: "Timeout", message });
}

/** What a socket's error means, in the words of Go's net package, which people know from the kubelet. */
export function socketError(error: Error, address: Address, connected: boolean): AgentError {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const words = SOCKET_WORDS[code];
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return connectionFailed(`dial tcp: lookup ${address.host}: no such host`, error);
  const where = hostAndPort(address);
  if (connected)
    return connectionFailed(`read tcp ${where}: read: ${words ?? error.message}`, error);
  return connectionFailed(`dial tcp ${where}: connect: ${words ?? error.message}`, error);
}

const SOCKET_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  EPIPE: "broken pipe",
  ETIMEDOUT: "connection timed out",
};
