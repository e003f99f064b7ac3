// Why a pull failed, read from the runtime's answer: only an unreachable registry lets the local image stand in.

import { CriError, GrpcCode } from "../cri/cri-error.ts";

/**
 * `NotFound`, `Denied`: the registry answered no. `Unreachable`: it did not answer, or could not serve
 * just now. `Runtime`: the container runtime itself gave no answer. `Other`: all else, e.g. a full disk.
 */
export type PullFailure = "NotFound" | "Denied" | "Unreachable" | "Runtime" | "Other";

const DENIED =
  /access denied|authorization failed|insufficient_scope|unauthorized|forbidden|no basic auth credentials/i;
const NOT_FOUND = /not found|manifest unknown|name unknown|does not exist/i;
const UNREACHABLE =
  /no such host|connection (?:refused|reset|timed out)|network is unreachable|no route to host|host is down|i\/o timeout|tls handshake timeout|deadline exceeded|server misbehaving|temporary failure in name resolution|\beof\b|broken pipe|x509:|too ?many ?requests|service unavailable/i;

export function pullFailure(thrown: unknown): PullFailure {
  if (!(thrown instanceof CriError)) return "Other";
  return failureOfCode(thrown) ?? failureOfHttp(thrown.details) ?? failureOfWords(thrown.details);
}

function failureOfCode({ code, details }: CriError): PullFailure | undefined {
  switch (code) {
    case GrpcCode.NOT_FOUND:
      return "NotFound";
    case GrpcCode.PERMISSION_DENIED:
    case GrpcCode.UNAUTHENTICATED:
      return "Denied";
    // Not ours: the runtime cancels a pull itself when no byte has come for a while.
    case GrpcCode.CANCELLED:
    case GrpcCode.DEADLINE_EXCEEDED:
      return "Unreachable";
    case GrpcCode.UNAVAILABLE:
      return details.startsWith("no connection to ") ? "Runtime" : "Unreachable";
    case GrpcCode.INTERNAL:
    case GrpcCode.UNIMPLEMENTED:
      return "Runtime";
  }
  return undefined;
}

// "unexpected status from HEAD request to https://…: 503 Service Unavailable"
function failureOfHttp(details: string): PullFailure | undefined {
  const status = Number(/unexpected status.*: (\d{3})\b/.exec(details)?.[1] ?? 0);
  if (status === 401 || status === 403) return "Denied";
  if (status === 404 || status === 410) return "NotFound";
  if (status === 408 || status === 429 || status >= 500) return "Unreachable";
  return undefined;
}

// A failed connection comes first: its message names addresses and repositories, which may contain
// any of the other words, and a token that could not be fetched speaks of authorization.
function failureOfWords(details: string): PullFailure {
  if (/failed to do request:|\bdial (?:tcp|udp)\b|\b(?:read|write) tcp\b/.test(details))
    return "Unreachable";
  if (DENIED.test(details)) return "Denied";
  if (NOT_FOUND.test(details)) return "NotFound";
  return UNREACHABLE.test(details) ? "Unreachable" : "Other";
}
