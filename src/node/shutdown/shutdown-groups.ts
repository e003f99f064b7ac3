// In which order pods end when the node shuts down, and how long each gets. kubelet: nodeshutdown, groupByPriority

import type { ShutdownConfig } from "../../config/shutdown-config.ts";

/** kubelet: scheduling.SystemCriticalPriority */
const CRITICAL = 2_000_000_000;

/** A group of pods that end together; the lowest priority first. */
export interface ShutdownGroup {
  /** Its pods have this priority or more, and less than the next group's. */
  readonly priority: number;
  /** undefined = each pod's own grace period. */
  readonly seconds: number | undefined;
}

/** The groups of a configuration, the first that ends first. Without any period critical pods still end last. */
export function shutdownGroups(config: ShutdownConfig): readonly ShutdownGroup[] {
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = config;
  const byPriority = config.shutdownGracePeriodByPodPriority;
  if (byPriority.length > 0)
    return byPriority
      .map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({ priority, seconds }))
      .toSorted((a, b) => a.priority - b.priority);
  const seconds = (ms: number): number | undefined => (all === 0 ? undefined : wholeSeconds(ms));
  return [
    { priority: 0, seconds: seconds(all - critical) },
    { priority: CRITICAL, seconds: seconds(critical) },
  ];
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** The last group whose priority the pod reaches, else the first: as in the kubelet none is left out. */
export function groupOf(groups: readonly ShutdownGroup[], priority: number): number {
  return Math.max(
    0,
    groups.findLastIndex((group) => group.priority <= priority),
  );
}

/** Most seconds that a pod gets; `own` undefined = unknown. undefined = whatever it has. */
export function graceIn({ seconds }: ShutdownGroup, own: number | undefined): number | undefined {
  if (seconds === undefined || own === undefined) return own ?? seconds;
  return Math.min(own, seconds);
}
