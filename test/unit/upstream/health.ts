// Base values of the tests on acknowledgements and reports.

import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import type { DocumentState } from "../../../src/protocol/desired-document.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { ContainerState, ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { RestartPolicy } from "../../../src/api/v1/pod.ts";
import type { RunningFacts } from "../../../src/upstream/report/acknowledge.ts";
import type { PodHealth } from "../../../src/rollout/pod-health.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";

export const WALL = Date.UTC(2026, 10, 21, 8);
/** Monotonic ms of a test's present. */
export const NOW = 1_000_000;

export function podNamed(name: string, restartPolicy: RestartPolicy = "Always"): DesiredPod {
  return aDesiredPod(aPod({ restartPolicy }, { name, uid: `uid-${name}` }), {
    source: "mqtt:node",
    sourceRef: "generation 7",
  });
}

export function healthOf(name: string, more: Partial<PodHealth>): PodHealth {
  return {
    uid: `uid-${name}`,
    stage: "Pending",
    readySince: undefined,
    hasBegun: false,
    crashes: 0,
    totalCrashes: 0,
    ...more,
  };
}

/** Runs and is Ready for so many seconds. */
export function readyFor(name: string, seconds: number): PodHealth {
  return healthOf(name, { stage: "Running", readySince: NOW - seconds * 1000 });
}

export function aState(
  pods: readonly DesiredPod[],
  more: Partial<DocumentState> = {},
): DocumentState {
  return {
    source: "mqtt:node",
    document: {
      source: "mqtt:node",
      epoch: "e1",
      generation: 7,
      digest: "sha256:d7",
      policy: DEFAULT_POLICY,
      pods,
      written: new Map(),
      objects: [],
    },
    observedGeneration: 6,
    acceptedAt: WALL,
    lastRejected: undefined,
    ...more,
  };
}

export function facts(
  health: readonly PodHealth[],
  more: Partial<RunningFacts> = {},
): RunningFacts {
  return {
    health: new Map(health.map((one) => [one.uid, one])),
    shadowed: new Set(),
    leftovers: 0,
    now: NOW,
    wall: WALL,
    previous: undefined,
    ...more,
  };
}

export function aContainerStatus(
  state: ContainerState,
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  const isRunning = state.running !== undefined;
  return {
    name: "a",
    state,
    lastState: {},
    ready: isRunning,
    started: isRunning,
    restartCount: 0,
    image: "local/busybox:1",
    imageID: "sha256:1",
    containerID: "containerd://1",
    ...more,
  };
}

export function aStatus(
  containerStatuses: readonly ContainerStatus[],
  more: Partial<PodStatus> = {},
): PodStatus {
  const isReady = containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready);
  return {
    observedGeneration: 1,
    phase: "Running",
    conditions: [
      {
        type: "Ready",
        status: isReady ? "True" : "False",
        lastTransitionTime: "2026-11-21T07:59:00Z",
      },
    ],
    startTime: "2026-11-21T07:58:00Z",
    initContainerStatuses: [],
    containerStatuses,
    qosClass: "BestEffort",
    ...more,
  };
}

export const RUNNING: ContainerState = { running: { startedAt: "2026-11-21T07:59:00Z" } };

export function exited(exitCode: number, reason = exitCode === 0 ? "Completed" : "Error") {
  return { terminated: { exitCode, reason, containerID: "containerd://1" } };
}
