// The local objects as the local API shows them: what the sources declare, and the node's own.

import type { DesiredState } from "../api/pod/desired-pod.ts";
import { nodeConfigMap, type NodeIdentity } from "../api/pod/node-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { ObjectEntry } from "./object-list.ts";

export interface ObjectEntriesFacts {
  readonly desired: Pick<DesiredState, "pods" | "objects">;
  /** Pods that are there, wanted or not. */
  readonly running: readonly Pod[];
  readonly node: NodeIdentity;
}

/** `namespace` undefined = all in which something is. The node's own ConfigMap is in each. */
export function objectEntries(
  namespace: string | undefined,
  { desired, running, node }: ObjectEntriesFacts,
): readonly ObjectEntry[] {
  const objects = desired.objects.filter(
    ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
  );
  const inUse = [
    ...objects.map(({ object }) => object),
    ...desired.pods.map(({ pod }) => pod),
    ...running,
  ].map(({ metadata }) => metadata.namespace);
  const namespaces = namespace === undefined ? new Set(["default", ...inUse]) : [namespace];
  const own = [...namespaces].map((one): ObjectEntry => {
    return { object: nodeConfigMap(node, one), source: "agent", sourceRef: "built in" };
  });
  return [...objects, ...own];
}
