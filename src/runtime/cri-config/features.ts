// What the container runtime supports beyond the oldest CRI v1. Checked before a feature is requested: a runtime silently
// drops fields that it does not know, and a pod must never get less isolation than its spec asks for.

import type { StatusResponse, VersionResponse } from "../../cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../lib/errors.ts";
import { memberOf, parseJson } from "../../lib/json.ts";

/** From CRI's Version call. */
export type RuntimeVersion = Pick<VersionResponse, "runtimeName" | "runtimeVersion">;

export interface RuntimeFeatures {
  /** By the name of a runtime handler, "" = the default; a handler that is absent supports none. */
  readonly handlers: ReadonlyMap<string, HandlerFeatures>;
  readonly supplementalGroupsPolicy: boolean;
  readonly imageVolumes: boolean;
  readonly imageSubPaths: boolean;
  readonly cdi: boolean;
  readonly stopSignal: boolean;
  /** The runtime sets labels on processes and files; whether the kernel enforces them is a separate fact. */
  readonly selinux: boolean;
}

export interface HandlerFeatures {
  readonly userNamespaces: boolean;
  readonly recursiveReadOnly: boolean;
}

/** Before the runtime has answered. */
export const NO_FEATURES: RuntimeFeatures = {
  handlers: new Map(),
  supplementalGroupsPolicy: false,
  imageVolumes: false,
  imageSubPaths: false,
  cdi: false,
  stopSignal: false,
  selinux: false,
};

type Version = readonly [major: number, minor: number];

/** The first containerd version with the feature; CRI has no way to query it. */
const CONTAINERD_SINCE = {
  cdi: [1, 7],
  cdiUnlessForbidden: [2, 0],
  imageVolumes: [2, 1],
  imageSubPaths: [2, 2],
  stopSignal: [2, 4],
} as const satisfies Readonly<Record<string, Version>>;

/** CRI's Status; `info` is filled only by a verbose call. */
export type StatusFacts = Pick<StatusResponse, "runtimeHandlers" | "features" | "info">;

/**
 * Status reports user namespaces, recursive read-only mounts and groups (CRI 1.30; absent = no). The rest follows from
 * containerd's version and configuration, and counts as unsupported on other runtimes.
 */
export function runtimeFeatures(version: RuntimeVersion, status: StatusFacts): RuntimeFeatures {
  const containerd = containerdVersion(version);
  // containerd's CRI configuration, in a verbose Status.
  const config = parseJson(status.info["config"] ?? "{}");
  const isSince = (feature: keyof typeof CONTAINERD_SINCE): boolean =>
    containerd !== undefined && isAtLeast(containerd, CONTAINERD_SINCE[feature]);
  const isCdiOn = memberOf(config, "enableCDI") ?? isSince("cdiUnlessForbidden");
  return {
    handlers: new Map(
      status.runtimeHandlers.map(({ name, features }) => [
        name,
        {
          userNamespaces: features?.userNamespaces === true,
          recursiveReadOnly: features?.recursiveReadOnlyMounts === true,
        },
      ]),
    ),
    supplementalGroupsPolicy: status.features?.supplementalGroupsPolicy === true,
    imageVolumes: isSince("imageVolumes"),
    imageSubPaths: isSince("imageSubPaths"),
    cdi: isSince("cdi") && isCdiOn === true,
    stopSignal: isSince("stopSignal"),
    selinux: containerd === undefined || memberOf(config, "enableSelinux") === true,
  };
}

export function canUserNamespaces({ handlers }: RuntimeFeatures, handler: string): boolean {
  return handlers.get(handler)?.userNamespaces === true;
}

export function canRecursiveReadOnly({ handlers }: RuntimeFeatures, handler: string): boolean {
  return handlers.get(handler)?.recursiveReadOnly === true;
}

/** For a field that the runtime would silently ignore; the message must name a remedy. */
export function unsupported(message: string): AgentError {
  return new AgentError({ reason: "UnsupportedByRuntime", message });
}

/** Distributions write `1.6.20~ds1`, containerd itself `v2.4.0-rc.1`. */
function containerdVersion({ runtimeName, runtimeVersion }: RuntimeVersion): Version | undefined {
  if (runtimeName !== "containerd") return undefined;
  const match = /^v?(\d+)\.(\d+)(?:\.|$)/.exec(runtimeVersion);
  return match === null ? [0, 0] : [Number(match[1]), Number(match[2])];
}

function isAtLeast([major, minor]: Version, [sinceMajor, sinceMinor]: Version): boolean {
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
