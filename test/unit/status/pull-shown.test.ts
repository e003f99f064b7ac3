import { expect, test } from "bun:test";
import type { ContainerState, ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import { withPulls } from "../../../src/status/pull-shown.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";

const pod = aPod({
  initContainers: [aContainer("i", { image: "r.test/init:1" })],
  containers: [
    aContainer("a", { image: "r.test/app:1" }),
    aContainer("b", { image: "r.test/other:1" }),
  ],
});

function status(name: string, state: ContainerState): ContainerStatus {
  return {
    name,
    state,
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    image: "",
    imageID: "",
    containerID: "",
  };
}

function statusOf(a: ContainerState): PodStatus {
  return {
    phase: "Pending",
    observedGeneration: 0,
    qosClass: "BestEffort",
    conditions: [],
    initContainerStatuses: [status("i", { waiting: { reason: "PodInitializing" } })],
    containerStatuses: [status("a", a), status("b", { waiting: { reason: "PodInitializing" } })],
  };
}

const messages = ({ initContainerStatuses, containerStatuses }: PodStatus) =>
  [...initContainerStatuses, ...containerStatuses].map(({ state }) => state.waiting?.message);

test.each([
  ["ContainerCreating", 'pulling image "r.test/app:1": half'],
  ["ImagePullBackOff", 'pulling image "r.test/app:1": half'],
  ["CrashLoopBackOff", undefined],
])("a container that waits with %s shows %p", (reason, message) => {
  const shown = withPulls(statusOf({ waiting: { reason } }), pod, (image) =>
    image === "r.test/app:1" ? "half" : undefined,
  );
  expect(messages(shown)).toEqual([undefined, message, undefined]);
});

test("an init container as well; one that runs shows nothing", () => {
  const running = statusOf({ running: { startedAt: "2026-01-01T00:00:00Z" } });
  const shown = withPulls(running, pod, () => "half");
  expect(messages(shown)).toEqual([
    'pulling image "r.test/init:1": half',
    undefined,
    'pulling image "r.test/other:1": half',
  ]);
});
