// Decides from its exit code whether a container runs again. kubelet: ContainerShouldRestart

import type { PodSpec } from "../v1/pod-spec.ts";
import type { RestartAction } from "../v1/restart-rules.ts";
import {
  allContainers,
  isSidecar,
  type RestartingContainer,
  type RestartingSpec,
  type RestartPolicy,
} from "../v1/pod.ts";
import type { Container } from "../v1/container.ts";

/**
 * The first rule that matches, else the container's own policy, else the pod's; undefined = it does not run again. A plain
 * init container that ended well has done its work under every policy and rule: else the pod would never start.
 */
export function restartActionOf(
  spec: RestartingSpec,
  container: RestartingContainer,
  exitCode: number,
): RestartAction | undefined {
  const isInit = spec.initContainers.includes(container);
  if (isInit && exitCode === 0 && !isSidecar(spec, container)) return undefined;
  const rule = container.restartPolicyRules.find((one) => matches(one.exitCodes, exitCode));
  if (rule !== undefined) return rule.action;
  return byPolicy(restartPolicyOf(spec, container), exitCode) ? "Restart" : undefined;
}

/** Whether another instance follows, alone or with all containers of the pod. */
export function restartsAfter(
  spec: RestartingSpec,
  container: RestartingContainer,
  exitCode: number,
): boolean {
  return restartActionOf(spec, container, exitCode) !== undefined;
}

/** Some exit code of a container restarts all of them. */
export function mayRestartAll(spec: PodSpec): boolean {
  return allContainers(spec).some(({ restartPolicyRules }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
}

/** Whether the pod ends by itself when all goes well. */
export function isMeantToFinish(spec: PodSpec): boolean {
  return spec.containers.every((container) => !restartsAfter(spec, container, 0));
}

export function restartPolicyOf(
  spec: RestartingSpec,
  container: RestartingContainer,
): RestartPolicy {
  return container.restartPolicy ?? spec.restartPolicy;
}

/** Whether the container may run again after being killed, whatever it exits with. kubelet: shouldRestartOnFailure */
export function restartsAfterKill(spec: PodSpec, container: Container): boolean {
  return restartPolicyOf(spec, container) !== "Never" || container.restartPolicyRules.length > 0;
}

/** Whether some exit code ends the container for good. */
export function exitMayBeLast(spec: PodSpec, container: Container): boolean {
  if (isSidecar(spec, container)) return false;
  const isInit = spec.initContainers.includes(container);
  return isInit || restartPolicyOf(spec, container) !== "Always";
}

function byPolicy(policy: RestartPolicy, exitCode: number): boolean {
  switch (policy) {
    case "Always":
      return true;
    case "OnFailure":
      return exitCode !== 0;
    case "Never":
      return false;
  }
}

function matches(
  { operator, values }: Container["restartPolicyRules"][number]["exitCodes"],
  exitCode: number,
): boolean {
  return values.includes(exitCode) === (operator === "In");
}
