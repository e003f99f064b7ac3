// Decides whether a pod must wait for others before it starts (annotation agent/depends-on). A dependency that is lost
// later stops nothing: a pod that has begun in this boot is not checked again.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import { dependenciesOf, type Dependency } from "../api/pod/pod-annotations.ts";
import { isConditionTrue } from "../api/pod/pod-summary.ts";
import { podName, type Pod } from "../api/v1/pod.ts";
import { nameOf } from "./plan-workers.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";

/** The pods of this node, by namespace/name. */
export interface DependencyView {
  /** The desired pod, running or not. */
  readonly pod: (name: string) => Pod | undefined;
  /** Of the pod that runs under the name. */
  readonly status: (name: string) => PodStatus | undefined;
  /** Whether a pod of this name is on the node that does not count; absent = every pod counts. */
  readonly isIgnored?: (name: string) => boolean;
}

/** The first reason to wait as a sentence; undefined = the pod may start. */
export function unmetDependency(pod: Pod, view: DependencyView): string | undefined {
  const dependencies = dependenciesOf(pod);
  if (dependencies.length === 0) return undefined;
  const cycle = cycleThrough(pod, view);
  if (cycle !== undefined) {
    const path = cycle.join(" → ");
    return `the pods wait for each other: ${path}; remove one of the annotations agent/depends-on`;
  }
  return dependencies.map((one) => unmet(one, view)).find((reason) => reason !== undefined);
}

/** Whether a sandbox of the pod was created in this boot: then its dependencies are not checked again. */
export function hasBegun(observed: ObservedPod | undefined, bootId: string): boolean {
  return (observed?.sandboxes ?? []).some((sandbox) =>
    // Without a boot id it is from an older version of the agent: up means begun.
    sandbox.bootId === undefined ? sandbox.state === "Ready" : sandbox.bootId === bootId,
  );
}

/** Whether a pod that `own` depends on may be `other`: an unsigned document starts no pod of a file. */
export function countsFor(
  own: Pick<DesiredPod, "source">,
  other: Pick<DesiredPod, "source" | "signed">,
): boolean {
  return !isStatic(own.source) || isStatic(other.source) || other.signed === true;
}

function unmet(dependency: Dependency, view: DependencyView): string | undefined {
  const name = nameOf(dependency);
  const status = view.status(name);
  if (status !== undefined && isMet(dependency.state, status)) return undefined;
  if (view.pod(name) === undefined && status === undefined) {
    if (view.isIgnored?.(name) === true)
      return `waiting for pod ${name} of a file or of a signed document; an unsigned document declares the one on this node, and starts no pod of a file`;
    return `waiting for pod ${name}, which is not on this node`;
  }
  const now = status?.phase ?? "Pending";
  return `waiting for pod ${name} to be ${dependency.state}; it is ${now}`;
}

/** Whether the status is what a dependency asks for. */
export function isMet(state: Dependency["state"], status: PodStatus): boolean {
  const { phase, containerStatuses } = status;
  switch (state) {
    case "Ready":
      return isConditionTrue({ status }, "Ready");
    case "Running":
      // A pod that has completed counts as running. After a reboot the phase is that of the boot before.
      if (phase === "Succeeded") return true;
      return phase === "Running" && containerStatuses.some(({ state: { running } }) => running);
    case "Succeeded":
      return phase === "Succeeded";
  }
}

/** A path of dependencies from this pod back to itself, first and last equal. */
function cycleThrough(pod: Pod, view: DependencyView): readonly string[] | undefined {
  const start = podName(pod);
  const seen = new Set<string>();
  const walk = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (name === start && path.length > 0) return [...path, name];
    if (seen.has(name)) return undefined;
    seen.add(name);
    const next = name === start ? pod : view.pod(name);
    if (next === undefined) return undefined;
    for (const dependency of dependenciesOf(next)) {
      const found = walk(nameOf(dependency), [...path, name]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(start, []);
}
