import { describe, expect, test } from "bun:test";
import type { ContainerState, ContainerStatus, PodPhase } from "../../../src/api/pod-status.ts";
import type { RestartPolicy } from "../../../src/api/pod.ts";
import { podPhase } from "../../../src/status/phase.ts";

type State = "running" | "waiting" | "succeeded" | "failed" | "crash-looping" | "nothing";

function terminated(exitCode: number): ContainerState {
  return { terminated: { exitCode, reason: "", containerID: "" } };
}

const STATES: Record<State, { state: ContainerState; lastState: ContainerState }> = {
  running: { state: { running: { startedAt: "" } }, lastState: {} },
  waiting: { state: { waiting: { reason: "ContainerCreating" } }, lastState: {} },
  succeeded: { state: terminated(0), lastState: {} },
  failed: { state: terminated(1), lastState: {} },
  "crash-looping": {
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: terminated(1),
  },
  nothing: { state: {}, lastState: {} },
};

function statusOf(state: State): ContainerStatus {
  return {
    name: "a",
    ...STATES[state],
    ready: false,
    started: false,
    restartCount: 0,
    image: "",
    imageID: "",
    containerID: "",
  };
}

/** Containers, then the phase under Always, OnFailure, Never. */
type Row = readonly [readonly State[], PodPhase, PodPhase, PodPhase];

const living: Record<string, Row> = {
  "all run": [["running", "running"], "Running", "Running", "Running"],
  "one still waits for its first start": [["running", "waiting"], "Pending", "Pending", "Pending"],
  "none has started": [["waiting"], "Pending", "Pending", "Pending"],
  "one has no state": [["running", "nothing"], "Pending", "Pending", "Pending"],
  "all ended well": [["succeeded", "succeeded"], "Running", "Succeeded", "Succeeded"],
  "all failed": [["failed", "failed"], "Running", "Running", "Failed"],
  "one failed, one ended well": [["failed", "succeeded"], "Running", "Running", "Failed"],
  "one runs, one ended well": [["running", "succeeded"], "Running", "Running", "Running"],
  "one runs, one failed": [["running", "failed"], "Running", "Running", "Running"],
  "one runs, one waits for its restart": [
    ["running", "crash-looping"],
    "Running",
    "Running",
    "Running",
  ],
  "all wait for their restart": [["crash-looping"], "Running", "Running", "Failed"],
  "no containers": [[], "Pending", "Pending", "Pending"],
};

const over: Record<string, Row> = {
  "all ended well": [["succeeded", "succeeded"], "Succeeded", "Succeeded", "Succeeded"],
  "one failed": [["succeeded", "failed"], "Failed", "Failed", "Failed"],
};

const POLICIES: readonly RestartPolicy[] = ["Always", "OnFailure", "Never"];

describe.each([
  ["while the pod lives", living, false],
  ["once nothing starts again", over, true],
] as const)("podPhase %s", (_, table, isOver) => {
  test.each(Object.entries(table))("%s", (_name, [states, ...expected]) => {
    const statuses = states.map(statusOf);
    const phases = POLICIES.map((restartPolicy) =>
      podPhase({ restartPolicy, statuses, terminated: isOver }),
    );
    expect(phases).toEqual(expected);
  });
});
