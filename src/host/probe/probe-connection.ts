// Performs: one request over one connection with a deadline: however it ends, the connection is closed.

import { deadline, type Clock } from "../../lib/clock.ts";
import { AgentError, errorCode, messageOf } from "../../lib/errors.ts";
import { hostAndPort } from "./probe-http-request.ts";
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
export async function exchange<T>(
  { clock, call: { signal, timeoutMs }, late }: ExchangeOptions,
  begin: (settle: Settle<T>) => () => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  using limit = deadline(clock, timeoutMs, signal);
  const end = (): void => reject(signal?.aborted === true ? cancelled() : late());
  if (limit.signal.aborted) throw cancelled();
  limit.signal.addEventListener("abort", end, { once: true });
  let close: () => void;
  try {
    close = begin({ answer: resolve, fail: reject });
  } catch (thrown) {
    // An invalid host or port.
    throw connectionFailed(messageOf(thrown), thrown);
  }
  try {
    return await promise;
  } finally {
    close();
  }
}

function cancelled(): AgentError {
  return new AgentError({ reason: "Aborted", message: "cancelled" });
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
