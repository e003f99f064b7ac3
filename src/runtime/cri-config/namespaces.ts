// The Linux namespaces of a pod: which it shares with the node, and the ids of its user namespace.
// kubelet: NamespacesForPod, UsernsManager

import type { IdRange } from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { NamespaceMode } from "../../cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../lib/errors.ts";
import { canUserNamespaces, unsupported, type RuntimeFeatures } from "./features.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import type { NamespaceOptionInit } from "../../cri/cri-client.ts";

/** The ids that an image may use. The first range belongs to the node's own users. */
const IDS_PER_POD = 65_536;
/** Ids have 32 bits; the last range contains the invalid id 2^32 − 1. */
const RANGES = 65_535;

/** A range that no pod uses; `used` may contain ranges of another length, from earlier versions. */
export function freeIdRange(used: readonly IdRange[]): IdRange {
  const taken = new Set(used.flatMap(unitsOf));
  for (let unit = 1; unit < RANGES; unit += 1)
    if (!taken.has(unit)) return { hostId: unit * IDS_PER_POD, length: IDS_PER_POD };
  const message =
    "all user ID ranges of this node are in use; a pod with hostUsers: false needs one: remove another such pod";
  throw new AgentError({ reason: "CreatePodSandboxError", message });
}

function unitsOf({ hostId, length }: IdRange): readonly number[] {
  const first = Math.floor(hostId / IDS_PER_POD);
  const last = Math.floor((hostId + length - 1) / IDS_PER_POD);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** `<first id>:<length>`, the sandbox's annotation. */
export function idRangeText({ hostId, length }: IdRange): string {
  return `${hostId}:${length}`;
}

/** undefined = absent or unreadable. */
export function parseIdRange(text: string | undefined): IdRange | undefined {
  const match = /^([1-9][0-9]{0,9}):([1-9][0-9]{0,9})$/.exec(text ?? "");
  if (match === null) return undefined;
  const range = { hostId: Number(match[1]), length: Number(match[2]) };
  return range.hostId + range.length <= 2 ** 32 ? range : undefined;
}

/** Throws AgentError `UnsupportedByRuntime` for hostUsers: false if the runtime would use the node's user namespace. */
export function requireUserNamespaces(
  { spec }: Pod,
  features: RuntimeFeatures,
  handler: string,
): void {
  if (spec.hostUsers || canUserNamespaces(features, handler)) return;
  throw unsupported(
    "hostUsers: false needs a runtime with user namespaces (containerd 2.0, runc 1.2 and Linux 6.3, or newer); update it, or remove hostUsers",
  );
}

/** CRI's IDMapping, the same for users and groups. */
export function idMappings({ hostId, length }: IdRange) {
  return [{ hostId, containerId: 0, length }];
}

type Namespaced = Pick<PodSpec, "hostNetwork" | "hostPID" | "hostIPC" | "shareProcessNamespace">;

/** Equal for the sandbox and its containers, which join it. Without `users` the node's user namespace is used. */
export function namespaceOptions(spec: Namespaced, users?: IdRange): NamespaceOptionInit {
  const ids = users === undefined ? [] : idMappings(users);
  return {
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidMode(spec),
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    ...(users === undefined
      ? {}
      : { usernsOptions: { mode: NamespaceMode.POD, uids: ids, gids: ids } }),
  };
}

function pidMode({ hostPID, shareProcessNamespace }: Namespaced): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
