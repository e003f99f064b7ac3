// The PodStatus of one pod from the runtime's state, the agent's facts and the previous status.
// kubelet: generateAPIPodStatus

import { type ObservedPod, currentSandbox, isOfThisRun } from "../api/pod/observed-pod.ts";
import type { PodContainerStatuses, PodPhase, PodStatus } from "../api/v1/pod-status.ts";
import type { Pod } from "../api/v1/pod.ts";
import { qosClass } from "../api/resource/qos.ts";
import { rfc3339 } from "../lib/clock.ts";
import { podConditions, timed } from "./pod-conditions.ts";
import { containerStatuses } from "./container-statuses.ts";
import { type PodFacts, isEnding } from "./pod-facts.ts";
import { isTerminal, podPhase } from "./pod-phase.ts";
import { withoutUndefined } from "../lib/json.ts";

export interface GenerateInput {
  readonly pod: Pod;
  /** undefined = the runtime has nothing of this pod. */
  readonly observed: ObservedPod | undefined;
  /** The node's addresses, the primary one first. */
  readonly hostIPs: readonly string[];
  readonly facts: PodFacts;
  /** The previous status of this UID. */
  readonly previous?: PodStatus | undefined;
  /** Wall-clock milliseconds, for display only. */
  readonly now: number;
}

export function generatePodStatus(input: GenerateInput): PodStatus {
  const { pod, observed, facts, previous, now } = input;
  const statuses = statusesOf(input);
  const phase = phaseOf(input, statuses);
  const disruption = facts.disruption ?? disruptionOf(previous);
  const { restartingAll } = facts;
  const known = { spec: pod.spec, observed, statuses, phase, disruption, restartingAll };
  const conditions = podConditions(known);
  return {
    observedGeneration: 1,
    phase,
    conditions: timed(conditions, previous?.conditions ?? [], now),
    ...reasonOf(facts, previous, phase),
    ...addresses(input),
    startTime: writtenStart(observed) ?? previous?.startTime ?? rfc3339(now),
    ...statuses,
    qosClass: qosClass(pod.spec),
  };
}

/** Sandboxes carry the start time over restarts of the agent; the first one counts. */
function writtenStart(observed: ObservedPod | undefined): string | undefined {
  return observed?.sandboxes.findLast(({ startTime }) => startTime !== undefined)?.startTime;
}

/** A pod that failed before its first container has no container statuses. */
function statusesOf({ pod, observed, facts, previous }: GenerateInput): PodContainerStatuses {
  const hadNone = (previous?.containerStatuses ?? []).length === 0;
  if (facts.failed === true && observed === undefined && hadNone)
    return { initContainerStatuses: [], containerStatuses: [] };
  return containerStatuses({ pod, observed, facts, previous });
}

function phaseOf(
  { pod: { spec }, observed, facts, previous }: GenerateInput,
  statuses: PodContainerStatuses,
): PodPhase {
  if (previous !== undefined && isTerminal(previous.phase)) return previous.phase;
  if (facts.failed === true) return "Failed";
  const phase = podPhase({ spec, statuses, facts, initialized: hasAppContainer(spec, observed) });
  const isEarly = isTerminal(phase) && !isEnding(facts) && isPresumed(observed);
  return isEarly ? (previous?.phase ?? "Running") : phase;
}

/** The reason and termination message of an exit are not read yet: a terminal phase waits for them. */
function isPresumed(observed: ObservedPod | undefined): boolean {
  return observed?.containers.some(({ presumed }) => presumed === true) === true;
}

/** kubelet: HasAnyActiveRegularContainerStarted */
function hasAppContainer(spec: Pod["spec"], observed: ObservedPod | undefined): boolean {
  const sandbox = currentSandbox(observed);
  if (observed === undefined || sandbox?.state !== "Ready") return false;
  const apps = new Set(spec.containers.map(({ name }) => name));
  return observed.containers.some(
    (one) => apps.has(one.name) && one.sandboxId === sandbox.id && isOfThisRun(observed, one),
  );
}

// The condition stays once it was set.
function disruptionOf(previous: PodStatus | undefined): PodFacts["disruption"] {
  const known = previous?.conditions.find(({ type }) => type === "DisruptionTarget");
  if (known === undefined) return undefined;
  return { reason: known.reason ?? "", message: known.message ?? "" };
}

// A finished pod keeps its reason: the agent may no longer have the fact.
function reasonOf(
  facts: PodFacts,
  previous: PodStatus | undefined,
  phase: PodPhase,
): Pick<PodStatus, "reason" | "message"> {
  const kept = previous?.phase === phase && isTerminal(phase) ? previous : undefined;
  const reason = facts.podReason ?? kept?.reason;
  const message = facts.podMessage ?? kept?.message;
  return withoutUndefined({ reason, message });
}

function addresses({ pod, observed, hostIPs, previous }: GenerateInput): Partial<PodStatus> {
  const hosts = hostIPs.length === 0 ? ipsOf(previous?.hostIPs) : hostIPs;
  const own = pod.spec.hostNetwork ? hosts : sandboxIPs(observed);
  const pods = own ?? ipsOf(previous?.podIPs);
  const [hostIP] = hosts;
  const [podIP] = pods;
  return {
    ...(hostIP === undefined ? {} : { hostIP, hostIPs: hosts.map((ip) => ({ ip })) }),
    ...(podIP === undefined ? {} : { podIP, podIPs: pods.map((ip) => ({ ip })) }),
  };
}

/** undefined = no sandbox is up, and the last known addresses stay. kubelet: getPodIPs */
function sandboxIPs(observed: ObservedPod | undefined): readonly string[] | undefined {
  const ips = currentSandbox(observed)?.ips ?? [];
  const isAnyUp = observed?.sandboxes.some(({ state }) => state === "Ready") === true;
  return ips.length > 0 || isAnyUp ? ips : undefined;
}

function ipsOf(addressed: readonly { readonly ip: string }[] | undefined): readonly string[] {
  return (addressed ?? []).map(({ ip }) => ip);
}
