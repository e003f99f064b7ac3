// The PodStatus of one pod from what the runtime says, what the agent knows and what was true before.
// kubelet: generateAPIPodStatus

import type { ObservedPod } from "../api/observed-pod.ts";
import type { PodPhase, PodStatus } from "../api/pod-status.ts";
import type { Pod } from "../api/pod.ts";
import { qosClass } from "../api/qos.ts";
import { rfc3339 } from "../lib/clock.ts";
import { podConditions, timed } from "./conditions.ts";
import { containerStatuses } from "./container-statuses.ts";
import type { PodFacts } from "./facts.ts";
import { isTerminal, podPhase } from "./phase.ts";

export interface GenerateInput {
  readonly pod: Pod;
  /** undefined = the runtime has nothing of this pod. */
  readonly observed: ObservedPod | undefined;
  /** The node's addresses, the first is the main one. */
  readonly hostIPs: readonly string[];
  readonly facts: PodFacts;
  /** The status generated last in this life of the pod. */
  readonly previous?: PodStatus | undefined;
  /** Wall ms, for showing only. */
  readonly now: number;
}

export function generatePodStatus(input: GenerateInput): PodStatus {
  const { pod, observed, facts, previous, now } = input;
  const neverStarted = facts.failed === true && observed === undefined && previous === undefined;
  const statuses = neverStarted
    ? []
    : containerStatuses({ pod, observed, facts, previous: previous?.containerStatuses ?? [] });
  const phase = phaseOf(input, statuses);
  const conditions = [
    ...podConditions({ observed, statuses, phase }),
    ...(facts.extraConditions ?? []),
  ];
  return {
    observedGeneration: 1,
    phase,
    conditions: timed(conditions, previous?.conditions ?? [], now),
    ...reasonOf(facts, previous, phase),
    ...addresses(input),
    startTime:
      facts.startTime === undefined
        ? (previous?.startTime ?? rfc3339(now))
        : rfc3339(facts.startTime),
    initContainerStatuses: [],
    containerStatuses: statuses,
    qosClass: qosClass(pod.spec),
  };
}

function phaseOf(
  { pod, facts, previous }: GenerateInput,
  statuses: PodStatus["containerStatuses"],
): PodPhase {
  if (previous !== undefined && isTerminal(previous.phase)) return previous.phase;
  if (facts.failed === true) return "Failed";
  return podPhase({
    restartPolicy: pod.spec.restartPolicy,
    statuses,
    terminated: facts.terminated === true,
  });
}

// A finished pod keeps the reason it finished with: who said it may be forgotten by then.
function reasonOf(
  facts: PodFacts,
  previous: PodStatus | undefined,
  phase: PodPhase,
): Pick<PodStatus, "reason" | "message"> {
  const kept = previous?.phase === phase && isTerminal(phase) ? previous : undefined;
  const reason = facts.podReason ?? kept?.reason;
  const message = facts.podMessage ?? kept?.message;
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function addresses({ pod, observed, hostIPs }: GenerateInput): Partial<PodStatus> {
  const [hostIP] = hostIPs;
  const sandbox = observed?.sandboxes.toSorted((a, b) => b.attempt - a.attempt)[0];
  const podIPs = pod.spec.hostNetwork && sandbox !== undefined ? hostIPs : (sandbox?.ips ?? []);
  const [podIP] = podIPs;
  return {
    ...(hostIP === undefined ? {} : { hostIP, hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIP === undefined ? {} : { podIP, podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}
