// How each container of a pod must stand in the end.

import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { isThrough, neverBegins, runsAgain, type Codes } from "./sim-kubernetes.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

/** What the pod as a whole has come to. */
export interface PodEnd {
  /** All of its own containers have ended for good. */
  readonly finished: boolean;
  /** It failed before its own containers could begin. */
  readonly neverBegan: boolean;
}

export interface ContainerCase {
  readonly spec: SimSpec;
  readonly own: SimContainer;
  readonly end: PodEnd;
  /** Its containers run on, and no other one begins: the data of its claim are those of files now. */
  readonly lacksClaim: boolean;
}

/** `newest` in the order of the spec. */
export function podEnd(spec: SimSpec, newest: readonly (FakeContainer | undefined)[]): PodEnd {
  const codes: Codes = (own) => {
    const container = newest[spec.containers.indexOf(own)];
    return container?.state === ContainerState.CONTAINER_EXITED ? container.exitCode : undefined;
  };
  const neverBegan = neverBegins(spec, codes);
  return { finished: isThrough(spec, codes) || neverBegan, neverBegan };
}

export function wrongContainer(
  { spec, own, end, lacksClaim }: ContainerCase,
  container: FakeContainer | undefined,
): string | undefined {
  if (container === undefined) return end.neverBegan || lacksClaim ? undefined : "was never made";
  switch (container.state) {
    case ContainerState.CONTAINER_RUNNING:
      if (own.role === "init") return "is an init container and runs";
      return own.role === "sidecar" && end.finished ? "runs beside a finished pod" : undefined;
    case ContainerState.CONTAINER_EXITED:
      if (end.finished || lacksClaim || !runsAgain(spec, own, container.exitCode)) return undefined;
      return `does not run, and has ended with ${container.exitCode}`;
    case ContainerState.CONTAINER_CREATED:
      return "was made and never started";
    case ContainerState.CONTAINER_UNKNOWN:
      return "stays unknown";
  }
  return "is in no known state";
}
