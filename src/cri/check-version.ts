// Performs: checks before the first call that the runtime serves CRI v1; an error names the remedy.

import { AgentError, messageOf } from "../lib/errors.ts";
import type { CriClient } from "./cri-client.ts";
import { CriError, isUnimplemented } from "./cri-error.ts";
import type { CallOptions } from "./grpc-connection.ts";
import type { VersionResponse } from "./gen/runtime/v1/api_pb.ts";
import { GrpcCode } from "../lib/grpc-code.ts";

const SUPPORTED = "v1";

interface CheckVersionOptions extends CallOptions {
  /** For the error message. */
  readonly endpoint: string;
}

/**
 * Returns the version of a runtime that serves CRI v1. Throws AgentError: `RuntimeUnavailable` (no answer: retry),
 * `CRINotServed` and `UnsupportedCRIVersion` (the operator must act).
 */
export async function checkVersion(
  client: Pick<CriClient, "version">,
  options: CheckVersionOptions,
): Promise<VersionResponse> {
  const version = await client.version(options).catch((thrown: unknown) => {
    throw explain(thrown, options.endpoint);
  });
  if (version.runtimeApiVersion === SUPPORTED) return version;
  throw new AgentError({
    reason: "UnsupportedCRIVersion",
    message: `${version.runtimeName} ${version.runtimeVersion} at ${options.endpoint} serves CRI "${version.runtimeApiVersion}", the agent requires "${SUPPORTED}"; install containerd 1.6 or newer`,
  });
}

function explain(thrown: unknown, endpoint: string): unknown {
  if (isUnimplemented(thrown))
    return new AgentError({
      reason: "CRINotServed",
      message: `${endpoint} does not serve CRI v1; if it is containerd, change disabled_plugins = ["cri"] (or "io.containerd.grpc.v1.cri") to disabled_plugins = [] in /etc/containerd/config.toml and restart it (containerd older than 1.6 has no CRI v1)`,
      cause: thrown,
    });
  if (!(thrown instanceof CriError) || thrown.outcome !== "unknown") return thrown;
  return new AgentError({
    reason: "RuntimeUnavailable",
    message: `${hint(thrown, endpoint)} (${messageOf(thrown)})`,
    cause: thrown,
  });
}

function hint(error: CriError, endpoint: string): string {
  if (/ENOENT/.test(error.details))
    return `there is no socket ${endpoint}; install and start containerd, or set containerRuntimeEndpoint`;
  if (/ECONNREFUSED/.test(error.details))
    return `no process listens on ${endpoint}; start containerd (systemctl start containerd)`;
  if (/EACCES|EPERM/.test(error.details)) return `no permission for ${endpoint}; run as root`;
  if (error.code === GrpcCode.DEADLINE_EXCEEDED)
    return `the runtime at ${endpoint} accepts connections but does not answer; restart it`;
  return `the runtime at ${endpoint} cannot be reached`;
}
