// Decides which running containers start anew because somebody ordered it (MQTT.md §5).

import { newestContainer } from "../../api/pod/newest-observed.ts";
import { allContainers, isSidecar, type Pod } from "../../api/v1/pod.ts";
import type { ConfigFacts } from "./config-restart.ts";
import { killOf, startAction, whyReplace } from "./container-actions.ts";
import type { PodAction } from "./pod-action.ts";

/** One after the other, in the order of the spec: each is started before the next one ends. */
export function orderedActions(
  pod: Pod,
  { observed, sandbox, context }: ConfigFacts,
): readonly PodAction[] {
  const { ordered } = context;
  if (ordered === undefined || ordered.size === 0) return [];
  return restartable(pod).flatMap((container): readonly PodAction[] => {
    const newest = newestContainer(observed, container.name);
    if (newest?.state !== "Running" || newest.sandboxId !== sandbox.id) return [];
    if (!ordered.has(newest.id)) return [];
    // It is ended already; whatever takes its place is what was asked for.
    if (whyReplace(container, newest, context) !== undefined) return [];
    return [killOf(newest, "RestartOrdered"), startAction(container, observed)];
  });
}

/** Those that run on and on: an init container has its end to come to. */
export function restartable({ spec }: Pod): Pod["spec"]["containers"] {
  return allContainers(spec).filter(
    (container) => !spec.initContainers.includes(container) || isSidecar(spec, container),
  );
}
