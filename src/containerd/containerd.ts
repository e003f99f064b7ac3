// What distinguishes containerd from other runtimes.

import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";

/** containerd's namespace of its CRI plugin; containerd reads it from a header of each call. */
export const CRI_NAMESPACE = "k8s.io";

export const CRI_NAMESPACE_HEADERS = { "containerd-namespace": CRI_NAMESPACE } as const;

/** Whether containerd's own services are available on the CRI socket. */
export function isContainerd(version: Pick<VersionResponse, "runtimeName">): boolean {
  return version.runtimeName === "containerd";
}
