// How much a pod matters beside others, from its class or its own number. k8s: Priority admission

import type { PodSpec } from "../v1/pod-spec.ts";

const SYSTEM_NODE_CRITICAL = 2_000_001_000;
/** From here on a pod is critical. */
const SYSTEM_CRITICAL = 2_000_000_000;

const SYSTEM_CLASSES: Readonly<Record<string, number>> = {
  "system-node-critical": SYSTEM_NODE_CRITICAL,
  "system-cluster-critical": SYSTEM_CRITICAL,
};

export type PriorityClasses = Readonly<Record<string, number>>;
type Prioritized = Pick<PodSpec, "priority" | "priorityClassName">;

/** The value of a class: one of Kubernetes' own, or of the configuration; undefined = there is none of that name. */
export function priorityOfClass(name: string, classes: PriorityClasses): number | undefined {
  if (Object.hasOwn(SYSTEM_CLASSES, name)) return SYSTEM_CLASSES[name];
  return Object.hasOwn(classes, name) ? classes[name] : undefined;
}

/** The effective priority: its class's value, else its own number, else 0. */
export function priorityOf(
  { spec }: { readonly spec: Prioritized },
  { priorityClasses }: { readonly priorityClasses: PriorityClasses },
): number {
  const { priority, priorityClassName } = spec;
  const byClass =
    priorityClassName === undefined
      ? undefined
      : priorityOfClass(priorityClassName, priorityClasses);
  return byClass ?? priority ?? 0;
}

/** Killed for memory as late as possible. kubelet: IsNodeCriticalPod */
export function isNodeCritical({ priority, priorityClassName }: Prioritized): boolean {
  return priorityClassName === "system-node-critical" || priority === SYSTEM_NODE_CRITICAL;
}

/** One of Kubernetes' own classes, or as much by its number. kubelet: IsCriticalPodBasedOnPriority */
export function isSystemCritical({ priority = 0, priorityClassName = "" }: Prioritized): boolean {
  return Object.hasOwn(SYSTEM_CLASSES, priorityClassName) || priority >= SYSTEM_CRITICAL;
}
