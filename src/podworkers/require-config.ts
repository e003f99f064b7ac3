// Performs: checks that the ConfigMaps, Secrets, keys and files that a pod reads exist, before the pod that it replaces is
// stopped.

import type { NodeAllocatable } from "../api/pod/downward.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import { CONFIG_ERROR, reasonOf } from "../lib/errors.ts";
import { requireParts } from "../runtime/cri-config/container-sub-paths.ts";
import { UNKNOWN_ENV_FILES } from "../runtime/cri-config/env-file.ts";
import { resolveEnvironment } from "../runtime/cri-config/environment.ts";
import type { Volumes } from "../volume/volume-manager.ts";

interface RequiredConfigFacts {
  readonly objects: LocalObjects;
  readonly allocatable: NodeAllocatable;
  readonly nodeName: string;
  readonly volumes: Pick<Volumes, "check">;
}

/**
 * Checks, before the pod that this one replaces is stopped, that all objects, keys and files that it reads exist. Throws
 * AgentError `CreateContainerConfigError` for what is missing; other errors surface when the pod starts.
 */
export function requireConfig(pod: Pod, facts: RequiredConfigFacts): void {
  const { objects, allocatable: node, nodeName, volumes } = facts;
  // Addresses are always available when a container starts.
  const downward = { nodeName, hostIPs: [], podIPs: [] };
  const known = { objects, downward, node, files: UNKNOWN_ENV_FILES };
  try {
    const all = allContainers(pod.spec).map((container) => ({
      container,
      ...resolveEnvironment(pod, container, known),
    }));
    volumes.check(pod);
    for (const { container, env } of all) requireParts(pod, container, { env, objects });
  } catch (error) {
    if (reasonOf(error, "") === CONFIG_ERROR) throw error;
  }
}
