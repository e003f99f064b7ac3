// Performs: whether a pod would find what it reads if it started now: asked before what runs under its name is ended
// for it.

import type { NodeAllocatable } from "../api/pod/downward.ts";
import type { LocalObjects } from "../api/v1/local-object.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import { reasonOf } from "../lib/errors.ts";
import { resolveEnvironment } from "../runtime/cri-config/environment.ts";
import { requireParts } from "../runtime/cri-config/volume-parts.ts";

export interface RequiredConfigFacts {
  readonly objects: LocalObjects;
  readonly allocatable: NodeAllocatable;
  readonly nodeName: string;
  /** Throws what setting its volumes up would, as far as a look can tell. */
  readonly checkVolumes: (pod: Pod) => void;
}

const CONFIG_ERROR = "CreateContainerConfigError";

/** Throws AgentError `CreateContainerConfigError` for what it reads and nobody has. Whatever else is wrong shows when it starts. */
export function requireConfig(pod: Pod, facts: RequiredConfigFacts): void {
  const { objects, allocatable: node, nodeName, checkVolumes } = facts;
  // Addresses are there whenever a container starts.
  const downward = { nodeName, hostIPs: [], podIPs: [] };
  try {
    const all = allContainers(pod.spec).map((container) => ({
      container,
      ...resolveEnvironment(pod, container, { objects, downward, node }),
    }));
    checkVolumes(pod);
    for (const { container, env } of all) requireParts(pod, container, { env, objects });
  } catch (error) {
    if (reasonOf(error, "") === CONFIG_ERROR) throw error;
  }
}
