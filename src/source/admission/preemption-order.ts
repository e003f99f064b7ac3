// The one order in which pods of files and of documents have their place on the node, and which of them may push out which.
// kubelet: IsCriticalPod, Preempt

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { isStatic } from "../../api/pod/labels.ts";
import { isSystemCritical, priorityOf, type PriorityClasses } from "../../api/resource/priority.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";

/**
 * Pods of files come first whatever a document asks for; among each kind, critical pods do, by their priority, and pods that
 * only linger come last.
 */
interface Tier {
  readonly kind: "file" | "document";
  readonly lingers: boolean;
  /** -1 for a pod that is not critical: those of one kind push out none of each other. */
  readonly criticality: number;
}

const NOT_CRITICAL = -1;
const QOS: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

function tierOf({ pod, source, lingers = false }: DesiredPod): Tier {
  // The classes of the configuration are never critical.
  const priority = priorityOf(pod, { priorityClasses: {} });
  return {
    kind: isStatic(source) ? "file" : "document",
    lingers,
    criticality: isSystemCritical(pod.spec) ? priority : NOT_CRITICAL,
  };
}

/** Below 0: `one` comes first, and may push out `other` when it is ready to start. 0: neither pushes out the other. */
export function compareTiers(one: DesiredPod, other: DesiredPod): number {
  const [a, b] = [tierOf(one), tierOf(other)];
  if (a.kind !== b.kind) return a.kind === "file" ? -1 : 1;
  if (a.lingers !== b.lingers) return b.lingers ? -1 : 1;
  return b.criticality - a.criticality;
}

/** Whether there may be a pod among `others` that it pushes out; cheaper than to compare it with each. */
export function mayPreempt(desired: DesiredPod, others: Iterable<DesiredPod>): boolean {
  const { kind, criticality, lingers } = tierOf(desired);
  if (kind === "file" || criticality !== NOT_CRITICAL) return true;
  if (lingers) return false;
  for (const other of others) if (other.lingers === true) return true;
  return false;
}

/** In the order of precedence; pods of one list are of one tier, in the order in which they came. */
export function byTier(pods: readonly DesiredPod[]): readonly (readonly DesiredPod[])[] {
  const keyOf = (desired: DesiredPod): string => Object.values(tierOf(desired)).join(" ");
  const groups = [...Map.groupBy(pods, keyOf).values()];
  const inOrder = groups.flatMap((group) => (group[0] === undefined ? [] : [group[0]]));
  return inOrder
    .toSorted(compareTiers)
    .map((first) => groups.find(([one]) => one === first) ?? [first]);
}

/**
 * For `toSorted`: who stays longest comes first. By tier, priority and QoS class, of which BestEffort goes first; 0 where
 * these are equal. kubelet: getPodsToPreempt, sortPodsByQOS
 */
export function comparePrecedence(
  priorityClasses: PriorityClasses,
): (one: DesiredPod, other: DesiredPod) => number {
  return (one, other) =>
    compareTiers(one, other) ||
    priorityOf(other.pod, { priorityClasses }) - priorityOf(one.pod, { priorityClasses }) ||
    QOS.indexOf(qosClass(one.pod.spec)) - QOS.indexOf(qosClass(other.pod.spec));
}
