// Classifies why a pull failed, from the runtime's error: only for an unreachable registry the local image is used.

import { CriError } from "../cri/cri-error.ts";
import { GrpcCode } from "../lib/grpc-code.ts";

/**
 * `NotFound`, `Denied`: the registry refused. `Unreachable`: it did not answer, or is temporarily unable. `Runtime`: the
 * container runtime itself did not answer. `Other`: anything else, e.g. a full disk.
 */
export type PullFailure = "NotFound" | "Denied" | "Unreachable" | "Runtime" | "Other";

const DENIED =
  /access denied|authorization failed|insufficient_scope|unauthorized|forbidden|no basic auth credentials/i;
/** containerd lost what had arrived, e.g. because its lease ended when the clock was set: no answer of a registry. */
const LOCAL = /content digest \S+ not found/i;
const NOT_FOUND = /not found|manifest unknown|name unknown|does not exist/i;
const UNREACHABLE =
  /no such host|connection (?:refused|reset|timed out)|network is unreachable|no route to host|host is down|i\/o timeout|tls handshake timeout|deadline exceeded|server misbehaving|temporary failure in name resolution|\beof\b|broken pipe|x509:|too ?many ?requests|service unavailable/i;

export function pullFailure(thrown: unknown): PullFailure {
  if (!(thrown instanceof CriError) || LOCAL.test(thrown.details)) return "Other";
  return failureOfCode(thrown) ?? failureOfHttp(thrown.details) ?? failureOfText(thrown.details);
}

function failureOfCode({ code, details }: CriError): PullFailure | undefined {
  switch (code) {
    case GrpcCode.NOT_FOUND:
      return "NotFound";
    case GrpcCode.PERMISSION_DENIED:
    case GrpcCode.UNAUTHENTICATED:
      return "Denied";
    // The runtime itself cancels a pull that has received no byte for a while.
    case GrpcCode.CANCELED:
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

// A failed connection is checked first: its message contains addresses and repositories, which may match the other
// patterns, and an error of fetching a token mentions authorization.
function failureOfText(details: string): PullFailure {
  if (/failed to do request:|\bdial (?:tcp|udp)\b|\b(?:read|write) tcp\b/.test(details))
    return "Unreachable";
  if (DENIED.test(details)) return "Denied";
  if (NOT_FOUND.test(details)) return "NotFound";
  return UNREACHABLE.test(details) ? "Unreachable" : "Other";
}
