// The kubelet's conditions of a pod. kubelet: GeneratePodReadyCondition and others

import { type ObservedPod, currentSandbox } from "../api/pod/observed-pod.ts";
import type {
  ContainerStatus,
  PodCondition,
  PodContainerStatuses,
  PodPhase,
} from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { mayRestartAll } from "../api/pod/restart-policy.ts";
import { isSidecar } from "../api/v1/pod.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { PodFacts } from "./pod-facts.ts";
import { hasRun } from "./container-state.ts";

/** A condition without the time of its last change. */
export type Untimed = Omit<PodCondition, "lastTransitionTime">;

export interface ConditionsInput {
  readonly spec: PodSpec;
  readonly observed: ObservedPod | undefined;
  readonly statuses: PodContainerStatuses;
  readonly phase: PodPhase;
  readonly disruption?: PodFacts["disruption"] | undefined;
  readonly restartingAll?: boolean | undefined;
}

type Verdict = Pick<PodCondition, "status" | "reason" | "message">;

/** In the kubelet's order. */
export function podConditions(input: ConditionsInput): readonly Untimed[] {
  const ready = containersReady(input);
  const { disruption } = input;
  const conditions: readonly Omit<Untimed, "observedGeneration">[] = [
    ...(disruption === undefined
      ? []
      : [{ type: "DisruptionTarget", status: "True", ...disruption } as const]),
    { type: "PodReadyToStartContainers", status: sandboxServes(input) ? "True" : "False" },
    { type: "Initialized", ...initialized(input) },
    { type: "Ready", ...ready },
    { type: "ContainersReady", ...ready },
    { type: "PodScheduled", status: "True" },
    ...(mayRestartAll(input.spec)
      ? [{ type: "AllContainersRestarting", ...allRestarting(input) } as const]
      : []),
  ];
  // A changed spec is another pod with another UID: each has one generation.
  return conditions.map((condition) => ({ ...condition, observedGeneration: 1 }));
}

/**
 * Gives each condition the time of its last change of status: the previous time while the status is unchanged, else `now`
 * (wall-clock milliseconds).
 */
export function timed<C extends Pick<PodCondition, "type" | "status" | "lastTransitionTime">>(
  conditions: readonly C[],
  previous: readonly C[],
  now: number,
): readonly C[] {
  return conditions.map((condition) => {
    const before = previous.find((other) => other.type === condition.type);
    const unchanged = before?.status === condition.status ? before.lastTransitionTime : undefined;
    const at = condition.lastTransitionTime ?? unchanged ?? rfc3339(now);
    return { ...condition, lastTransitionTime: at };
  });
}

// With two ready sandboxes the pod is about to lose both. kubelet: PodSandboxChanged
function sandboxServes({ spec, observed }: ConditionsInput): boolean {
  const ready = observed?.sandboxes.filter((sandbox) => sandbox.state === "Ready") ?? [];
  const newest = currentSandbox(observed);
  if (newest === undefined || ready.length !== 1 || newest.state !== "Ready") return false;
  if (newest.hostNetwork !== spec.hostNetwork) return false;
  return newest.hostNetwork || newest.ips.length > 0;
}

/** kubelet: GeneratePodInitializedCondition */
function initialized({ spec, statuses, phase }: ConditionsInput): Verdict {
  const { initContainerStatuses: init, containerStatuses: apps } = statuses;
  if (spec.initContainers.length > 0 && init.length === 0 && apps.length === 0)
    return { status: "False", reason: "UnknownContainerStatuses" };
  const isDone = (status: ContainerStatus, sidecar: boolean): boolean =>
    sidecar ? status.started : status.ready;
  const sidecars = namesOf(spec.initContainers.filter((one) => isSidecar(spec, one)));
  const missing = unknownNames(namesOf(spec.initContainers), init);
  if (phase === "Succeeded" && missing.length === 0)
    return { status: "True", reason: "PodCompleted" };
  // A pod stays initialized while a sidecar restarts.
  if (apps.some(hasRun)) return { status: "True" };
  const incomplete = init
    .filter((status) => !isDone(status, sidecars.includes(status.name)))
    .map(({ name }) => name);
  return verdict("ContainersNotInitialized", [
    ["unknown", missing],
    ["incomplete", incomplete],
  ]);
}

/** kubelet: GenerateContainersReadyCondition; without readiness gates also the pod's readiness */
function containersReady({ spec, statuses, phase }: ConditionsInput): Verdict {
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const all = [...statuses.initContainerStatuses, ...statuses.containerStatuses];
  if (all.length === 0) return { status: "False", reason: "UnknownContainerStatuses" };
  const sidecars = spec.initContainers.filter((container) => isSidecar(spec, container));
  const counted = namesOf([...sidecars, ...spec.containers]);
  const missing = unknownNames(counted, all);
  if (phase === "Succeeded" && missing.length === 0)
    return { status: "False", reason: "PodCompleted" };
  const unready = all
    .filter(({ name, ready }) => counted.includes(name) && !ready)
    .map(({ name }) => name);
  return verdict("ContainersNotReady", [
    ["unknown", missing],
    ["unready", unready],
  ]);
}

/** kubelet: GenerateAllContainersRestartingCondition */
function allRestarting({ phase, restartingAll }: ConditionsInput): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (restartingAll !== true) return { status: "False" };
  const message = "a container exited with a code whose restart rule is RestartAllContainers";
  return { status: "True", reason: "RestartAllContainersStarted", message };
}

/** False, with the names of the responsible containers, if there are any. */
function verdict(
  reason: string,
  blamed: readonly (readonly [word: string, names: readonly string[]])[],
): Verdict {
  const parts = blamed
    .filter(([, names]) => names.length > 0)
    .map(([word, names]) => `containers with ${word} status: [${names.join(" ")}]`);
  return parts.length === 0
    ? { status: "True" }
    : { status: "False", reason, message: parts.join(", ") };
}

function unknownNames(
  names: readonly string[],
  statuses: readonly ContainerStatus[],
): readonly string[] {
  return names.filter((name) => !statuses.some((status) => status.name === name));
}

function namesOf(containers: readonly { readonly name: string }[]): readonly string[] {
  return containers.map(({ name }) => name);
}
