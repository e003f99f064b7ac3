import { describe, expect, test } from "bun:test";
import type { ObservedContainer } from "../../../src/api/pod/observed-pod.ts";
import type { ContainerState, ContainerStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { RestartPolicy } from "../../../src/api/v1/pod.ts";
import { containerStatuses } from "../../../src/status/container-statuses.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

function exited(exitCode: number, more: Partial<ObservedContainer> = {}): ObservedContainer {
  return anInstance("a", { state: "Exited", exitCode, finishedAt: 5_000, ...more });
}

function ended(exitCode: number, reason: string, attempt = 0): ContainerState {
  return {
    terminated: {
      exitCode,
      reason,
      startedAt: "1970-01-01T00:00:01Z",
      finishedAt: "1970-01-01T00:00:05Z",
      containerID: `containerd://a-${attempt}`,
    },
  };
}

function lost(message: string, containerID: string): ContainerState {
  return {
    terminated: { exitCode: 137, reason: "ContainerStatusUnknown", message, containerID },
  };
}

/** As it is before anything of the container exists. */
const fresh: ContainerStatus = {
  name: "a",
  state: { waiting: { reason: "ContainerCreating" } },
  lastState: {},
  ready: false,
  started: false,
  restartCount: 0,
  image: "local/busybox:1",
  imageID: "",
  containerID: "",
};

/** As it is once the runtime has instance `attempt`. */
function known(attempt: number, more: Partial<ContainerStatus>): ContainerStatus {
  return {
    ...fresh,
    restartCount: attempt,
    imageID: "sha256:1",
    containerID: `containerd://a-${attempt}`,
    resources: {},
    ...more,
  };
}

const runs: Partial<ContainerStatus> = {
  state: { running: { startedAt: "1970-01-01T00:00:01Z" } },
  ready: true,
  started: true,
};

const crashLoop = { a: { reason: "CrashLoopBackOff", message: "back-off 10s" } };
const crashLooping: ContainerState = { waiting: crashLoop.a };

interface Case {
  readonly instances?: readonly ObservedContainer[];
  readonly restartPolicy?: RestartPolicy;
  readonly spec?: Partial<PodSpec>;
  readonly facts?: Partial<PodFacts>;
  readonly previous?: ContainerStatus;
  readonly expected: ContainerStatus;
}

const cases: Record<string, Case> = {
  "a container the runtime has never had is being created": { expected: fresh },
  "a container that pulls has a waiting reason": {
    facts: { waiting: { a: { reason: "ErrImagePull", message: "no such host" } } },
    expected: {
      ...fresh,
      state: { waiting: { reason: "ErrImagePull", message: "no such host" } },
    },
  },
  "a reason without a message has no message": {
    facts: { waiting: { a: { reason: "NetworkNotReady" } } },
    expected: { ...fresh, state: { waiting: { reason: "NetworkNotReady" } } },
  },
  "a reason of another container is not shown": {
    facts: { waiting: { b: { reason: "ErrImagePull" } } },
    expected: fresh,
  },
  "an instance that was made and never started is no restart": {
    instances: [anInstance("a", { state: "Created", attempt: 2 }), exited(1, { attempt: 1 })],
    expected: {
      ...known(2, { state: { waiting: { reason: "ContainerCreating" } } }),
      lastState: ended(1, "Error", 1),
      restartCount: 1,
    },
  },
  "attempts whose names the runtime had reserved are no restarts": {
    instances: [anInstance("a", { state: "Created", attempt: 2 })],
    previous: fresh,
    expected: {
      ...known(2, { state: { waiting: { reason: "ContainerCreating" } } }),
      restartCount: 0,
    },
  },
  "a created container that was not started yet is still being created": {
    instances: [anInstance("a", { state: "Created" })],
    expected: known(0, {}),
  },
  "a container whose start failed waits with the runtime's refusal": {
    instances: [anInstance("a", { state: "Created" })],
    facts: { waiting: { a: { reason: "RunContainerError", message: "exec: not found" } } },
    expected: known(0, {
      state: { waiting: { reason: "RunContainerError", message: "exec: not found" } },
    }),
  },
  "a running container without probes has started and is ready": {
    instances: [anInstance("a")],
    expected: known(0, runs),
  },
  "a running container does not show a reason of the past": {
    instances: [anInstance("a")],
    facts: { waiting: crashLoop },
    expected: known(0, runs),
  },
  "an exit with 0 is Completed": {
    instances: [exited(0)],
    expected: known(0, { state: ended(0, "Completed") }),
  },
  "an exit with 1 is an Error": {
    instances: [exited(1)],
    expected: known(0, { state: ended(1, "Error") }),
  },
  "the runtime's own reason and message stand": {
    instances: [exited(128, { reason: "StartError", message: "no such file" })],
    expected: known(0, {
      state: {
        terminated: {
          exitCode: 128,
          reason: "StartError",
          message: "no such file",
          startedAt: "1970-01-01T00:00:01Z",
          finishedAt: "1970-01-01T00:00:05Z",
          containerID: "containerd://a-0",
        },
      },
    }),
  },
  "a container that never started has no start time": {
    instances: [exited(128, { reason: "StartError", startedAt: 0 })],
    expected: known(0, {
      state: {
        terminated: {
          exitCode: 128,
          reason: "StartError",
          finishedAt: "1970-01-01T00:00:05Z",
          containerID: "containerd://a-0",
        },
      },
    }),
  },
  "the runtime's OOMKilled stands": {
    instances: [exited(137, { reason: "OOMKilled" })],
    expected: known(0, { state: ended(137, "OOMKilled") }),
  },
  "a container of which the runtime knows nothing has an unknown end": {
    instances: [anInstance("a", { state: "Unknown" })],
    expected: known(0, {
      state: lost("The runtime reports the state of this container as unknown", "containerd://a-0"),
    }),
  },
  "the instance before the newest is the last state": {
    instances: [exited(1), anInstance("a", { attempt: 1 })],
    expected: known(1, { ...runs, lastState: ended(1, "Error") }),
  },
  "newest is the highest attempt, whatever the clock": {
    instances: [exited(1, { createdAt: 9_000_000 }), anInstance("a", { attempt: 1, createdAt: 0 })],
    expected: known(1, { ...runs, lastState: ended(1, "Error") }),
  },
  "of three instances the oldest is not shown": {
    instances: [exited(1), exited(2, { attempt: 1, id: "a-1" }), anInstance("a", { attempt: 2 })],
    expected: known(2, { ...runs, lastState: ended(2, "Error", 1) }),
  },
  "restarts are the newest attempt even when older records are gone": {
    instances: [anInstance("a", { attempt: 7 })],
    expected: known(7, runs),
  },
  "the last state survives the removal of its record": {
    instances: [anInstance("a", { attempt: 2 })],
    previous: known(2, { ...runs, lastState: ended(1, "Error", 1) }),
    expected: known(2, { ...runs, lastState: ended(1, "Error", 1) }),
  },
  "the end seen before becomes the last state of the next instance": {
    instances: [anInstance("a", { attempt: 2 })],
    previous: known(1, { state: ended(1, "Error", 1) }),
    expected: known(2, { ...runs, lastState: ended(1, "Error", 1) }),
  },
  "an instance is never its own predecessor": {
    instances: [exited(1)],
    previous: known(0, { state: crashLooping, lastState: ended(1, "Error") }),
    expected: known(0, { state: ended(1, "Error") }),
  },
  "an instance that ends keeps the predecessor it had": {
    instances: [exited(1, { attempt: 3 })],
    previous: known(3, { ...runs, lastState: ended(2, "Error", 2) }),
    expected: known(3, { state: ended(1, "Error", 3), lastState: ended(2, "Error", 2) }),
  },
  "a crashing container waits in CrashLoopBackOff and its end is the last state": {
    instances: [exited(1)],
    facts: { waiting: crashLoop },
    expected: known(0, { state: crashLooping, lastState: ended(1, "Error") }),
  },
  "an exit with 0 is restarted under Always": {
    instances: [exited(0)],
    facts: { waiting: crashLoop },
    expected: known(0, { state: crashLooping, lastState: ended(0, "Completed") }),
  },
  "an exit with 0 is final under OnFailure": {
    instances: [exited(0)],
    restartPolicy: "OnFailure",
    facts: { waiting: crashLoop },
    expected: known(0, { state: ended(0, "Completed") }),
  },
  "an exit with 1 is restarted under OnFailure": {
    instances: [exited(1)],
    restartPolicy: "OnFailure",
    facts: { waiting: crashLoop },
    expected: known(0, { state: crashLooping, lastState: ended(1, "Error") }),
  },
  "an exit with 1 is final under Never": {
    instances: [exited(1)],
    restartPolicy: "Never",
    facts: { waiting: crashLoop },
    expected: known(0, { state: ended(1, "Error") }),
  },
  "an exit by a signal is an Error with the signal's code": {
    instances: [exited(143)],
    expected: known(0, { state: ended(143, "Error") }),
  },
  "an exit that a rule of the container restarts waits for its next start": {
    instances: [exited(42)],
    spec: {
      restartPolicy: "Never",
      containers: [
        aContainer("a", {
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        }),
      ],
    },
    facts: { waiting: crashLoop },
    expected: known(0, { state: crashLooping, lastState: ended(42, "Error") }),
  },
  "an exit that no rule of the container matches is final under its own Never": {
    instances: [exited(1)],
    spec: {
      restartPolicy: "Always",
      containers: [
        aContainer("a", {
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        }),
      ],
    },
    facts: { waiting: crashLoop },
    expected: known(0, { state: ended(1, "Error") }),
  },
  "a container's own policy outweighs the pod's": {
    instances: [exited(0)],
    spec: { restartPolicy: "Never", containers: [aContainer("a", { restartPolicy: "Always" })] },
    facts: { waiting: crashLoop },
    expected: known(0, { state: crashLooping, lastState: ended(0, "Completed") }),
  },
  "what the node ended to put another in its place waits whatever its exit code is": {
    instances: [exited(0)],
    restartPolicy: "OnFailure",
    facts: { waiting: crashLoop, replaced: ["a-0"] },
    expected: known(0, { state: crashLooping, lastState: ended(0, "Completed") }),
  },
  "the replacement of an earlier instance does not affect this one": {
    instances: [exited(0, { attempt: 1, id: "a-1" })],
    restartPolicy: "OnFailure",
    facts: { waiting: crashLoop, replaced: ["a-0"] },
    expected: known(1, { state: ended(0, "Completed", 1) }),
  },
  "a container whose postStart hook has not ended is still being created": {
    instances: [anInstance("a")],
    facts: { starting: ["a"] },
    expected: known(0, {}),
  },
  "a restarted container whose postStart hook has not ended shows how the last one ended": {
    instances: [exited(1), anInstance("a", { attempt: 1 })],
    facts: { starting: ["a"], waiting: crashLoop },
    expected: known(1, { lastState: ended(1, "Error") }),
  },
  "the hook of another container holds up nothing": {
    instances: [anInstance("a")],
    facts: { starting: ["b"] },
    expected: known(0, runs),
  },
  "an end during the hook is an end": {
    instances: [exited(1)],
    facts: { starting: ["a"] },
    expected: known(0, { state: ended(1, "Error") }),
  },
  "the stop signal of the spec is reported": {
    instances: [anInstance("a")],
    spec: { containers: [aContainer("a", { lifecycle: { stopSignal: "SIGUSR1" } })] },
    expected: known(0, { ...runs, stopSignal: "SIGUSR1" }),
  },
  "a count never falls, even if the next instance gets the number of one that was lost": {
    instances: [anInstance("a", { attempt: 4 })],
    previous: { ...fresh, lastState: lost("gone", "containerd://x"), restartCount: 5 },
    expected: known(4, {
      ...runs,
      lastState: lost("gone", "containerd://x"),
      restartCount: 5,
    }),
  },
  "a running container of a failed pod that vanished has ended": {
    facts: { failed: true },
    previous: known(4, runs),
    expected: {
      ...fresh,
      state: lost("The container ran, but the runtime no longer has it", "containerd://a-4"),
      restartCount: 4,
    },
  },
  "a container of a failed pod does not wait for a start": {
    instances: [exited(137)],
    facts: { failed: true, waiting: crashLoop },
    expected: known(0, { state: ended(137, "Error") }),
  },
  "a container that ended and vanished keeps its end": {
    restartPolicy: "Never",
    previous: known(0, { state: ended(1, "Error") }),
    expected: known(0, { state: ended(1, "Error") }),
  },
  "a Never container that ended and vanished does not wait again": {
    restartPolicy: "Never",
    previous: known(0, { state: ended(1, "Error") }),
    facts: { waiting: { a: { reason: "ContainerCreating" } } },
    expected: known(0, { state: ended(1, "Error") }),
  },
  "an Always container that ended and vanished waits for its next start": {
    previous: known(0, { state: ended(1, "Error") }),
    facts: { waiting: { a: { reason: "ErrImagePull" } } },
    expected: {
      ...fresh,
      state: { waiting: { reason: "ErrImagePull" } },
      lastState: ended(1, "Error"),
    },
  },
  "a running container that vanished was lost and its number is spent": {
    previous: known(4, runs),
    expected: {
      ...fresh,
      lastState: lost("The container ran, but the runtime no longer has it", "containerd://a-4"),
      restartCount: 5,
    },
  },
  "a lost container is counted once": {
    previous: { ...fresh, lastState: lost("gone", "containerd://a-4"), restartCount: 5 },
    expected: { ...fresh, lastState: lost("gone", "containerd://a-4"), restartCount: 5 },
  },
  "a running container that vanished while its pod stops has ended": {
    facts: { terminating: true },
    previous: known(4, runs),
    expected: {
      ...fresh,
      state: lost("The container ran, but the runtime no longer has it", "containerd://a-4"),
      restartCount: 4,
    },
  },
  "a container of a stopping pod does not wait for a start": {
    instances: [exited(137)],
    facts: { terminating: true, waiting: crashLoop },
    expected: known(0, { state: ended(137, "Error") }),
  },
};

describe("containerStatuses", () => {
  test.each(Object.entries(cases))("%s", (_, given) => {
    const { previous } = given;
    const statuses = containerStatuses({
      pod: aPod({ restartPolicy: given.restartPolicy ?? "Always", ...given.spec }),
      observed:
        given.instances === undefined ? undefined : anObservedPod([aSandbox()], given.instances),
      facts: { waiting: {}, ...given.facts },
      previous:
        previous === undefined
          ? undefined
          : { initContainerStatuses: [], containerStatuses: [previous] },
    });
    expect(statuses).toEqual({ initContainerStatuses: [], containerStatuses: [given.expected] });
  });

  test("they stand in the spec's order and know nothing of foreign containers", () => {
    const { containerStatuses: statuses } = containerStatuses({
      pod: aPod({ containers: [aContainer("b"), aContainer("a")] }),
      observed: anObservedPod([aSandbox()], [anInstance("z"), anInstance("a")]),
      facts: { waiting: {} },
      previous: undefined,
    });
    expect(statuses.map(({ name, ready }) => [name, ready])).toEqual([
      ["b", false],
      ["a", true],
    ]);
  });
});
