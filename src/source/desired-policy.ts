// What a pod of an unsigned document may ask for: Pod Security "baseline" plus hostPort (MQTT.md §2, pod policy).

import type { Pod } from "../api/pod.ts";
import type { FieldError } from "../lib/result.ts";

const WAY_OUT = "put the pod into a manifest file on the node if it needs it";

/** Every field the baseline profile forbids, with its path and the way out; hostPort is allowed.
 * No hostPath at all passes, so none can reach into the agent's own directories. */
export function forbiddenByBaseline(pod: Pod): readonly FieldError[] {
  const forbidden: FieldError[] = [];
  if (pod.spec.hostNetwork)
    forbidden.push({
      path: "spec.hostNetwork",
      code: "Forbidden",
      message: `the node's network is not for pods of unsigned documents; use ports with hostPort, or ${WAY_OUT}`,
    });
  for (const [index, volume] of pod.spec.volumes.entries()) {
    if (!("hostPath" in volume)) continue;
    forbidden.push({
      path: `spec.volumes[${index}].hostPath`,
      code: "Forbidden",
      message: `volume ${JSON.stringify(volume.name)}: the node's files (${JSON.stringify(volume.hostPath.path)}) are not for pods of unsigned documents; use emptyDir, or ${WAY_OUT}`,
    });
  }
  return forbidden;
}
