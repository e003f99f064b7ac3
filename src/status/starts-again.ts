// Whether another instance of a container follows one that has ended, as phase and waiting reasons see it.

import type { ContainerStateTerminated } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { restartsAfter } from "../api/pod/restart-policy.ts";
import { containerID } from "./container-state.ts";
import type { PodFacts } from "./facts.ts";
import type { Container } from "../api/v1/container.ts";

export interface EndedContainer {
  readonly container: Container;
  readonly ended: ContainerStateTerminated;
}

/** kubelet: ContainerShouldRestart, and what the node ended itself to put another in its place */
export function startsAgain(
  spec: PodSpec,
  { container, ended }: EndedContainer,
  facts: PodFacts,
): boolean {
  if (restartsAfter(spec, container, ended.exitCode)) return true;
  return facts.replaced?.some((id) => containerID(id) === ended.containerID) === true;
}

/** The pod is on its way out: no container starts again. */
export function isEnding(facts: PodFacts): boolean {
  return facts.terminating === true || facts.terminated === true || facts.failed === true;
}
