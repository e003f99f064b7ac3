// How each container of a pod must stand in the end.

import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
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
}

export function settled(spec: SimSpec, newest: readonly (FakeContainer | undefined)[]): PodEnd {
  const apps = spec.containers.flatMap((own, index) =>
    own.role === "app" ? [{ own, container: newest[index] }] : [],
  );
  const inits = spec.containers.flatMap((own, index) =>
    own.role === "init" ? [{ own, container: newest[index] }] : [],
  );
  const failedInit = inits.some(
    ({ container }) =>
      spec.restartPolicy === "Never" && hasExited(container) && container?.exitCode !== 0,
  );
  const neverBegan = failedInit && apps.every(({ container }) => container === undefined);
  const finished = apps.every(({ own, container }) => hasEndedForGood(spec, own, container));
  return { finished: finished || neverBegan, neverBegan };
}

export function wrongContainer(
  { spec, own, end }: ContainerCase,
  container: FakeContainer | undefined,
  all: readonly FakeContainer[],
): string | undefined {
  if (container === undefined) {
    // The sandbox of a Never pod died before all of it had started: it gets no second one.
    const isLost = spec.restartPolicy === "Never" && all.length > 0;
    return isLost || end.neverBegan ? undefined : "was never made";
  }
  switch (container.state) {
    case ContainerState.CONTAINER_RUNNING:
      if (own.role === "init") return "is an init container and runs";
      return own.role === "sidecar" && end.finished ? "runs beside a finished pod" : undefined;
    case ContainerState.CONTAINER_EXITED:
      return wrongExit({ spec, own, end }, container);
    case ContainerState.CONTAINER_CREATED:
      return "was made and never started";
    case ContainerState.CONTAINER_UNKNOWN:
      return "stays unknown";
  }
  return "is in no known state";
}

function wrongExit(
  { spec, own, end }: ContainerCase,
  { exitCode }: FakeContainer,
): string | undefined {
  if (own.role === "sidecar") return end.finished ? undefined : "does not run";
  if (own.role === "init")
    return exitCode === 0 || spec.restartPolicy === "Never"
      ? undefined
      : `stays failed with ${exitCode}`;
  const policy = own.restartPolicy ?? spec.restartPolicy;
  if (policy === "Always") return end.neverBegan ? undefined : "does not run";
  return policy === "OnFailure" && exitCode !== 0 ? `stays failed with ${exitCode}` : undefined;
}

function hasExited(container: FakeContainer | undefined): boolean {
  return container?.state === ContainerState.CONTAINER_EXITED;
}

function hasEndedForGood(
  spec: SimSpec,
  own: SimContainer,
  container: FakeContainer | undefined,
): boolean {
  const policy = own.restartPolicy ?? spec.restartPolicy;
  if (policy === "Always" || !hasExited(container)) return false;
  return policy === "Never" || container?.exitCode === 0;
}
