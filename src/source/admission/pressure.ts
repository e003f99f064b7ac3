// Which pods may not start while the node is short of something. kubelet: eviction manager, Admit

import { isSystemCritical } from "../../api/resource/priority.ts";
import { qosClass } from "../../api/resource/qos.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { FieldError } from "../../lib/result.ts";

/** Node conditions of type …Pressure that are true; absent = none. */
export type NodePressure = ReadonlySet<string>;

const MEMORY = "MemoryPressure";
const MEMORY_TAINT = "node.kubernetes.io/memory-pressure";

/** undefined = the pod may start. Running pods are not asked about. */
export function pressureError(
  pod: Pod,
  pressure: NodePressure | undefined,
): FieldError | undefined {
  if (pressure === undefined || pressure.size === 0 || isSystemCritical(pod.spec)) return undefined;
  const onlyMemory = pressure.size === 1 && pressure.has(MEMORY);
  if (onlyMemory && (qosClass(pod.spec) !== "BestEffort" || toleratesMemory(pod))) return undefined;
  const conditions = [...pressure].toSorted().join(" ");
  return { code: "Evicted", path: "", message: `The node had condition: [${conditions}].` };
}

/** The taint that a cluster puts on such a node: NoSchedule, without a value. k8s: ToleratesTaint */
function toleratesMemory({ spec }: Pod): boolean {
  return spec.tolerations.some(({ key, operator, value, effect = "" }) => {
    if (effect !== "" && effect !== "NoSchedule") return false;
    if (key !== "" && key !== MEMORY_TAINT) return false;
    return operator === "Exists" || (key !== "" && value === "");
  });
}
