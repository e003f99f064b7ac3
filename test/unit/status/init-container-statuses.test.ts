import { describe, expect, test } from "bun:test";
import type { ObservedContainer, ObservedSandbox } from "../../../src/api/pod/observed-pod.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodContainerStatuses,
} from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { containerStatuses } from "../../../src/status/container-statuses.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

/** Two init containers, one sidecar between them, one app container. */
const spec: Partial<PodSpec> = {
  initContainers: [aContainer("i"), aContainer("s", { restartPolicy: "Always" }), aContainer("j")],
  containers: [aContainer("a")],
};

function exited(name: string, exitCode: number, more: Partial<ObservedContainer> = {}) {
  return anInstance(name, { state: "Exited", exitCode, finishedAt: 5_000, ...more });
}

/** Attempt, then what the container does, started and ready: as short as a table of statuses can be. */
function say({ state, lastState, restartCount, started, ready }: ContainerStatus): string {
  const flags = [started ? "started" : "", ready ? "ready" : ""].filter((flag) => flag !== "");
  const last = lastState.terminated === undefined ? [] : [`after ${wordOf(lastState)}`];
  return [`#${restartCount}`, wordOf(state), ...last, ...flags].join(" ");
}

function wordOf({ waiting, running, terminated }: ContainerState): string {
  if (waiting !== undefined) return waiting.reason;
  if (running !== undefined) return "Running";
  return `${terminated?.reason ?? "nothing"}(${terminated?.exitCode ?? ""})`;
}

interface Case {
  readonly instances?: readonly ObservedContainer[];
  readonly sandboxes?: readonly ObservedSandbox[];
  readonly spec?: Partial<PodSpec>;
  readonly facts?: Partial<PodFacts>;
  readonly previous?: PodContainerStatuses;
  /** In the spec's order, init containers first. */
  readonly expected: readonly string[];
}

function statuses({ instances = [], ...given }: Omit<Case, "expected">): PodContainerStatuses {
  return containerStatuses({
    pod: aPod({ ...spec, ...given.spec }),
    observed: anObservedPod(given.sandboxes ?? [aSandbox()], instances),
    facts: { waiting: {}, ...given.facts },
    previous: given.previous,
  });
}

const initializing = "#0 PodInitializing";
const done = "#0 Completed(0) ready";
const up = "#0 Running started ready";
const lost = "ContainerStatusUnknown(137)";

const whole = [exited("i", 0), anInstance("s"), exited("j", 0), anInstance("a")];

const cases: Record<string, Case> = {
  "before anything exists all wait for the initialisation": {
    expected: [initializing, initializing, initializing, initializing],
  },
  "a pod without init containers has nothing to initialize": {
    spec: { initContainers: [] },
    expected: ["#0 ContainerCreating"],
  },
  "while the first runs the others wait for it; it has started, which is not ready": {
    instances: [anInstance("i")],
    expected: ["#0 Running started", initializing, initializing, initializing],
  },
  "one that was created and not started is being created": {
    instances: [anInstance("i", { state: "Created" })],
    expected: ["#0 ContainerCreating", initializing, initializing, initializing],
  },
  "one without its image has that reason, the others wait": {
    facts: { waiting: { i: { reason: "ImagePullBackOff" } } },
    expected: ["#0 ImagePullBackOff", initializing, initializing, initializing],
  },
  "one that ended well is ready and has not started": {
    instances: [exited("i", 0)],
    expected: [done, initializing, initializing, initializing],
  },
  "one that failed shows its end until its back-off is known": {
    instances: [exited("i", 1)],
    expected: ["#0 Error(1)", initializing, initializing, initializing],
  },
  "one that failed waits for its next start": {
    instances: [exited("i", 1, { attempt: 2, id: "i-2" })],
    facts: { waiting: { i: { reason: "CrashLoopBackOff" } } },
    expected: ["#2 CrashLoopBackOff after Error(1)", initializing, initializing, initializing],
  },
  "one that failed under Never does not wait": {
    instances: [exited("i", 1)],
    spec: { restartPolicy: "Never" },
    facts: { waiting: { i: { reason: "CrashLoopBackOff" } } },
    expected: ["#0 Error(1)", initializing, initializing, initializing],
  },
  "one that ended well never waits for a start, not even under Always": {
    instances: [exited("i", 0)],
    facts: { waiting: { i: { reason: "CrashLoopBackOff" } } },
    expected: [done, initializing, initializing, initializing],
  },
  "the one before the newest is the last state": {
    instances: [exited("i", 1), anInstance("i", { attempt: 1 })],
    expected: ["#1 Running after Error(1) started", initializing, initializing, initializing],
  },
  "a sidecar that runs is started and ready like an app container": {
    instances: [exited("i", 0), anInstance("s")],
    expected: [done, up, initializing, initializing],
  },
  "a sidecar that ended well is started again and waits": {
    instances: [exited("i", 0), exited("s", 0)],
    spec: { restartPolicy: "Never" },
    facts: { waiting: { s: { reason: "CrashLoopBackOff" } } },
    expected: [done, "#0 CrashLoopBackOff after Completed(0)", initializing, initializing],
  },
  "a sidecar that ended is not ready, however well it ended": {
    instances: [exited("i", 0), exited("s", 0)],
    expected: [done, "#0 Completed(0)", initializing, initializing],
  },
  "once all are done the app container is being created": {
    instances: [...whole.slice(0, 3), anInstance("a", { state: "Created" })],
    expected: [done, up, done, "#0 ContainerCreating"],
  },
  "the whole pod runs": { instances: whole, expected: [done, up, done, up] },
  "the record of a done init container was collected: the app container proves that it ended well":
    { instances: whole.slice(1), expected: [done, up, done, up] },
  "a created app container proves it as well": {
    instances: [anInstance("a", { state: "Created" })],
    expected: [done, initializing, done, "#0 ContainerCreating"],
  },
  "an app container of which nothing is known proves nothing": {
    instances: [anInstance("a", { state: "Unknown" })],
    expected: [initializing, initializing, initializing, `#0 ${lost}`],
  },
  "an app container of an earlier sandbox proves nothing of this one": {
    instances: [exited("a", 1)],
    sandboxes: [aSandbox({ state: "NotReady" }), aSandbox({ attempt: 1 })],
    expected: [initializing, initializing, initializing, "#0 Error(1)"],
  },
  "one whose start is tried is not done, whatever app containers there are": {
    instances: whole.slice(1),
    facts: { waiting: { i: { reason: "ErrImagePull" } } },
    expected: ["#0 ErrImagePull", up, done, up],
  },
  "a sidecar whose record is gone is not taken for done": {
    instances: [exited("i", 0), exited("j", 0), anInstance("a")],
    expected: [done, initializing, done, up],
  },
  "in a new sandbox a completed one runs again, and has a waiting reason until then": {
    instances: [exited("i", 0), exited("a", 137)],
    sandboxes: [aSandbox({ state: "NotReady" }), aSandbox({ attempt: 1 })],
    facts: { waiting: { i: { reason: "ErrImagePull" } } },
    expected: ["#0 ErrImagePull after Completed(0)", initializing, initializing, "#0 Error(137)"],
  },
  "while the sandbox is down one that was done stays done": {
    instances: [exited("i", 0), exited("a", 137)],
    sandboxes: [aSandbox({ state: "NotReady" })],
    facts: { waiting: { i: { reason: "ErrImagePull" } } },
    expected: [done, initializing, done, "#0 Error(137)"],
  },
  "an init container that ran and vanished was lost, and its number is spent": {
    previous: statuses({ instances: [anInstance("i")] }),
    expected: [`#1 PodInitializing after ${lost}`, initializing, initializing, initializing],
  },
  "an init container that ran and vanished while the pod stops has ended": {
    previous: statuses({ instances: [anInstance("i")] }),
    facts: { terminating: true },
    expected: [`#0 ${lost}`, initializing, initializing, initializing],
  },
  "an init container that ended and vanished keeps its end": {
    previous: statuses({ instances: [exited("i", 0)] }),
    expected: [done, initializing, initializing, initializing],
  },
  "a sidecar whose postStart hook has not ended has not started": {
    instances: [exited("i", 0), anInstance("s")],
    facts: { starting: ["s"] },
    expected: [done, "#0 ContainerCreating", initializing, initializing],
  },
};

describe("statuses of a pod with init containers", () => {
  test.each(Object.entries(cases))("%s", (_, { expected, ...given }) => {
    const { initContainerStatuses, containerStatuses: apps } = statuses(given);
    expect([...initContainerStatuses, ...apps].map(say)).toEqual([...expected]);
  });

  test("they stand in the spec's order, whatever the runtime's is", () => {
    const { initContainerStatuses } = statuses({ instances: whole.toReversed() });
    expect(initContainerStatuses.map(({ name }) => name)).toEqual(["i", "s", "j"]);
  });

  test("a collected record is marked as an assumption", () => {
    const [first] = statuses({ instances: whole.slice(1) }).initContainerStatuses;
    expect(first?.state.terminated).toEqual({
      exitCode: 0,
      reason: "Completed",
      message:
        "The runtime no longer has this container; the containers after it were created, so it completed",
      containerID: "",
    });
  });
});
