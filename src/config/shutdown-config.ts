// How long pods get when the node shuts down. kubelet: validateKubeletConfiguration, graceful node shutdown

import { invalid, type Node } from "../api/decode/field-reader.ts";
import { formatDuration } from "../api/resource/duration.ts";
import { checked, fieldOf, list, objectType, type ObjectOf } from "../api/schema/codec.ts";
import { between, duration, MAX_INT32, MIN_INT32 } from "../api/schema/values.ts";

const DAY_MS = 86_400_000;

/** As in the kubelet, nothing between. */
const period = checked(duration(0, DAY_MS), (ms) =>
  ms > 0 && ms < 1000 ? "must be 0s or at least 1s" : undefined,
);

const PERIOD_OF_PRIORITY = objectType("ShutdownGracePeriodByPodPriority", {
  priority: fieldOf(between(MIN_INT32, MAX_INT32))({
    about: "Least priority of the pods that get this period.",
    default: 0,
    keep: true,
  }),
  shutdownGracePeriodSeconds: fieldOf(between(0, MAX_INT32))({
    about: "Most seconds that these pods get to end.",
    default: 0,
    keep: true,
  }),
});

export const SHUTDOWN = {
  shutdownGracePeriod: fieldOf(period)({
    about:
      "Longest time that all pods together get to end at a shutdown, critical pods last; a shutdown by systemd-logind waits for it. 0s is no limit but the pods' own at agent shutdown, and no wait by logind.",
    default: 0,
    keep: true,
  }),
  shutdownGracePeriodCriticalPods: fieldOf(period)({
    about: "Part of shutdownGracePeriod that critical pods get.",
    default: 0,
    keep: true,
  }),
  shutdownGracePeriodByPodPriority: list(PERIOD_OF_PRIORITY, {
    about:
      "Instead of shutdownGracePeriod: groups of pods by their least priority, each with its period; the lowest ends first.",
  }),
};

export type ShutdownConfig = ObjectOf<typeof SHUTDOWN>;

/** What must fit together. */
export function checkShutdown(fields: ShutdownConfig, node: Node): void {
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = fields;
  if (critical > all) {
    const message = `must be at most shutdownGracePeriod, which is ${formatDuration(all)}`;
    invalid(node, "shutdownGracePeriodCriticalPods", message);
  }
  const groups = fields.shutdownGracePeriodByPodPriority;
  if (groups.length > 0 && (all > 0 || critical > 0)) {
    const message = "must be empty while shutdownGracePeriod is set: it takes the place of both";
    invalid(node, "shutdownGracePeriodByPodPriority", message);
  }
  const priorities = groups.map(({ priority }) => priority);
  const repeated = priorities.find((priority, index) => priorities.indexOf(priority) < index);
  if (repeated !== undefined) {
    const message = `must name each priority once; ${repeated} is there twice`;
    invalid(node, "shutdownGracePeriodByPodPriority", message);
  }
}
