// Whether a container may still write to its log, now or in its next instance.

import { restartsAfter } from "../../api/pod/restart-policy.ts";
import type { RestartingContainer, RestartingSpec, RestartPolicy } from "../../api/v1/pod.ts";
import type { PodStatus } from "../../api/v1/pod-status.ts";

/** A pod of the API, in which defaults may be absent. */
export interface WritingPod {
  readonly spec: {
    readonly restartPolicy?: RestartPolicy;
    readonly containers: readonly WritingContainer[];
    readonly initContainers?: readonly WritingContainer[];
  };
  readonly status: Partial<PodStatus>;
}

interface WritingContainer extends Partial<RestartingContainer> {
  readonly name: string;
}

/** How often the container was restarted; undefined = it writes no more. */
export function restartsOf({ spec, status }: WritingPod, name: string): number | undefined {
  const { phase, initContainerStatuses = [], containerStatuses = [] } = status;
  if (phase === "Succeeded" || phase === "Failed") return undefined;
  const one = [...initContainerStatuses, ...containerStatuses].find((each) => each.name === name);
  const exit = one?.state.terminated;
  if (exit !== undefined && !runsAgain(spec, name, exit.exitCode)) return undefined;
  return one?.restartCount ?? 0;
}

function runsAgain(
  { restartPolicy = "Always", containers, initContainers = [] }: WritingPod["spec"],
  name: string,
  exitCode: number,
): boolean {
  const inits = initContainers.map(restarting);
  const spec: RestartingSpec = { restartPolicy, initContainers: inits };
  const all = [...inits, ...containers.map(restarting)];
  const container = all.find((each) => each.name === name);
  return container === undefined || restartsAfter(spec, container, exitCode);
}

function restarting({ restartPolicyRules = [], ...container }: WritingContainer) {
  return { ...container, restartPolicyRules };
}
