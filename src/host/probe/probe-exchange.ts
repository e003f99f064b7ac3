// Performs: one request over one connection with a deadline: however it ends, the connection is closed.

import type { Clock } from "../../lib/clock.ts";
import { AgentError, errorCode, messageOf } from "../../lib/errors.ts";
import { hostAndPort } from "./http-request.ts";
import type { Address, ProbeCall } from "./probe-edge.ts";

export interface Settle<T> {
  readonly answer: (value: T) => void;
  readonly fail: (error: AgentError) => void;
}

interface ExchangeOptions {
  readonly clock: Clock;
  readonly call: ProbeCall;
  /** The error when the deadline passes. */
  readonly late: () => AgentError;
}

/** `begin` opens the connection and returns how to close it; it is closed exactly once, also without a response. */
export function exchange<T>(
  { clock, call, late }: ExchangeOptions,
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
    const abort = (): void => fail(new AgentError({ reason: "Aborted", message: "cancelled" }));
    const timer = clock.after(timeoutMs, () => fail(late()));
    if (signal?.aborted === true) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      close = begin({ answer, fail });
    } catch (thrown) {
      // An invalid host or port.
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

/** A socket's error as Go's net package words it: users know that from the kubelet. */
export function socketError(error: Error, address: Address, connected: boolean): AgentError {
  const code = errorCode(error);
  const text = SOCKET_ERRORS[code];
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return connectionFailed(`dial tcp: lookup ${address.host}: no such host`, error);
  const where = hostAndPort(address);
  if (connected)
    return connectionFailed(`read tcp ${where}: read: ${text ?? error.message}`, error);
  return connectionFailed(`dial tcp ${where}: connect: ${text ?? error.message}`, error);
}

const SOCKET_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  EPIPE: "broken pipe",
  ETIMEDOUT: "connection timed out",
};
