// Whether containerd's own services stand behind the CRI socket.

import type { VersionResponse } from "../cri/gen/runtime/v1/api_pb.ts";

export function isContainerd(version: Pick<VersionResponse, "runtimeName">): boolean {
  return version.runtimeName === "containerd";
}
