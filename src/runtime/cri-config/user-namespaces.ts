// Which ids of the node a pod with users of its own runs as: 65536 of them, shared with nobody. kubelet: UsernsManager

import type { IdRange } from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { NamespaceMode } from "../../cri/gen/runtime/v1/api_pb.ts";
import { AgentError } from "../../lib/errors.ts";
import { canUserNamespaces, unsupported, type RuntimeFeatures } from "./features.ts";

/** As many as an image may use; the first are the node's own users. */
const IDS_PER_POD = 65_536;
/** Ids have 32 bits, and the last one of all is none. */
const RANGES = 65_535;

/** Ranges start at multiples of their length: those of earlier versions with another length are respected too. */
export function freeIdRange(used: readonly IdRange[]): IdRange {
  const taken = new Set(used.flatMap(unitsOf));
  for (let unit = 1; unit < RANGES; unit += 1)
    if (!taken.has(unit)) return { hostId: unit * IDS_PER_POD, length: IDS_PER_POD };
  const message = "no ids are left on this node for a pod with hostUsers: false";
  throw new AgentError({ reason: "CreatePodSandboxError", message });
}

function unitsOf({ hostId, length }: IdRange): readonly number[] {
  const first = Math.floor(hostId / IDS_PER_POD);
  const last = Math.floor((hostId + length - 1) / IDS_PER_POD);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** As written on a sandbox: `65536:65536`, the first id and how many. */
export function idRangeText({ hostId, length }: IdRange): string {
  return `${hostId}:${length}`;
}

/** undefined = none, or unreadable. */
export function parseIdRange(text: string | undefined): IdRange | undefined {
  const match = /^([1-9][0-9]{0,9}):([1-9][0-9]{0,9})$/.exec(text ?? "");
  if (match === null) return undefined;
  const range = { hostId: Number(match[1]), length: Number(match[2]) };
  return range.hostId + range.length <= 2 ** 32 ? range : undefined;
}

/** Throws AgentError `UnsupportedByRuntime` for a pod with hostUsers: false where the runtime would share the node's users. */
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

interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** CRI's IDMapping of users and groups alike. */
export function idMappings({ hostId, length }: IdRange): IdMapping[] {
  return [{ hostId, containerId: 0, length }];
}

/** CRI's UserNamespace. */
export function userNamespace(range: IdRange): {
  readonly mode: NamespaceMode;
  readonly uids: IdMapping[];
  readonly gids: IdMapping[];
} {
  return { mode: NamespaceMode.POD, uids: idMappings(range), gids: idMappings(range) };
}
