// Which namespaces a pod shares with the node, and which its containers share with each other. kubelet: NamespacesForPod

import type { IdRange } from "../../api/pod/observed-pod.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import type { NamespaceOptionInit } from "../../cri/cri-client.ts";
import { NamespaceMode } from "../../cri/gen/runtime/v1/api_pb.ts";
import { userNamespace } from "./user-namespaces.ts";

type Namespaced = Pick<PodSpec, "hostNetwork" | "hostPID" | "hostIPC" | "shareProcessNamespace">;

/** Containers join the namespaces of their sandbox, so both say the same. Without `users` they are the node's. */
export function namespaceOptions(spec: Namespaced, users?: IdRange): NamespaceOptionInit {
  return {
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidMode(spec),
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    ...(users === undefined ? {} : { usernsOptions: userNamespace(users) }),
  };
}

function pidMode({ hostPID, shareProcessNamespace }: Namespaced): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
