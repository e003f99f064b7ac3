import { describe, expect, test } from "bun:test";
import { explainPod, type PodQuestion } from "../../../src/command/explain-pod.ts";
import type { Rejection } from "../../../src/api/pod/desired-pod.ts";
import type { ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { EventEntry } from "../../../src/node/events-list.ts";
import type { PodEntry } from "../../../src/node/pod-list.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";

function container(more: Partial<ContainerStatus>): ContainerStatus {
  return {
    name: "a",
    state: {},
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    image: "local/busybox:1",
    imageID: "",
    containerID: "",
    ...more,
  };
}

function entry(status: Partial<PodStatus> = {}, more: Partial<PodEntry> = {}): PodEntry {
  return {
    pod: aPod(),
    status: {
      observedGeneration: 1,
      phase: "Pending",
      conditions: [],
      initContainerStatuses: [],
      containerStatuses: [],
      qosClass: "BestEffort",
      ...status,
    },
    source: "file",
    sourceRef: "web.yaml#0",
    specHash: "0",
    nodeName: "pi-1",
    ...more,
  };
}

function event(message: string, more: Partial<EventEntry> = {}): EventEntry {
  return {
    id: 1,
    type: "Warning",
    reason: "Unhealthy",
    object: {
      kind: "Pod",
      namespace: "default",
      name: "web",
      uid: UID,
      fieldPath: "spec.containers{a}",
    },
    message,
    count: 1,
    first: 0,
    last: 0,
    host: "pi-1",
    ...more,
  };
}

const ask = (more: Partial<PodQuestion>): PodQuestion => ({
  namespace: "default",
  name: "web",
  entry: undefined,
  rejected: [],
  events: [],
  ...more,
});
const causes = (one: PodEntry, events: readonly EventEntry[] = []): readonly string[] =>
  (explainPod(ask({ entry: one, events }))?.causes ?? []).map(
    ({ category, element, reason, message }) => [category, element, reason, message].join(" | "),
  );
const waiting = (reason: string, message: string, more: Partial<ContainerStatus> = {}) =>
  entry({ containerStatuses: [container({ state: { waiting: { reason, message } }, ...more })] });
const ended = { exitCode: 1, reason: "Error", containerID: "" };

describe("why a pod does not run", () => {
  test("a pod that was never desired is not found", () => {
    expect(explainPod(ask({}))).toBeUndefined();
  });

  test("its source was refused", () => {
    const rejected: Rejection = {
      source: "file",
      ref: "web.yaml",
      kind: "Pod",
      namespace: "default",
      name: "web",
      code: "Invalid",
      path: "spec.containers[0].image",
      message: "is required",
    };
    const other = { ...rejected, name: "other" };
    expect(explainPod(ask({ rejected: [other, rejected] }))).toMatchObject({
      well: false,
      causes: [{ category: "source", element: "spec.containers[0].image", reason: "Invalid" }],
    });
  });

  test("it was not admitted, which is one cause", () => {
    const code = "HostPortConflict";
    const message = "host port 80/TCP is taken";
    const named = { kind: "Pod", namespace: "default", name: "web" };
    const why = { code, path: "spec.containers", message };
    const rejected: readonly Rejection[] = [{ source: "file", ref: "web.yaml", ...named, ...why }];
    const failed = entry({
      phase: "Failed",
      reason: code,
      message: `Pod was rejected: ${message}`,
    });
    const explained = explainPod(ask({ entry: failed, rejected }));
    expect(explained).toMatchObject({ phase: "Failed", well: false });
    expect(explained?.causes).toEqual([
      { category: "admission", element: "spec.containers", reason: code, message },
    ]);
  });

  test.each([
    [waiting("ImagePullBackOff", "no such image"), "pull | a | ImagePullBackOff | no such image"],
    [
      waiting("CrashLoopBackOff", "back-off 10s", {
        lastState: { terminated: ended },
        restartCount: 4,
      }),
      "back-off | a | CrashLoopBackOff | back-off 10s; it last ended with exit code 1 (Error) after 4 restarts",
    ],
    [
      waiting("CreateContainerConfigError", 'secret "x" not found'),
      'config | a | CreateContainerConfigError | secret "x" not found',
    ],
    [
      waiting("ContainerCreating", "waiting for pod default/db to be Ready; it is Pending"),
      "dependency | a | ContainerCreating | waiting for pod default/db to be Ready; it is Pending",
    ],
    [waiting("FailedMount", "no such claim"), "volume | a | FailedMount | no such claim"],
    [waiting("NetworkNotReady", "no cni"), "sandbox | a | NetworkNotReady | no cni"],
    [waiting("ContainerCreating", "x"), "waiting | a | ContainerCreating | x"],
    [
      entry({ containerStatuses: [container({ state: { terminated: { ...ended, signal: 9 } } })] }),
      "exit | a | Error | the container ended with signal 9 (Error)",
    ],
    [
      entry({ phase: "Failed", reason: "OutOfcpu", message: "no room" }),
      "admission |  | OutOfcpu | no room",
    ],
    [
      entry({}, { deletedAt: 0 }),
      "ending |  | Terminating | the pod has been stopping since 1970-01-01T00:00:00Z",
    ],
    [
      entry({}, { pendingUpdate: { specHash: "1", reason: "Pulling", message: "pulling" } }),
      "update | 1 | Pulling | pulling",
    ],
  ])("case %#", (one, expected) => {
    expect(causes(one)).toEqual([expected]);
  });

  test("a failed probe is shown, with its own message if there is one", () => {
    const one = entry({
      phase: "Running",
      containerStatuses: [container({ state: { running: { startedAt: "" } }, started: true })],
    });
    expect(causes(one)).toEqual(["probe | a | NotReady | the container runs and is not ready"]);
    expect(causes(one, [event("Readiness probe failed: 503")])).toEqual([
      "probe | a | Unhealthy | Readiness probe failed: 503",
    ]);
    const foreign = { ...event("x").object, uid: "another life" };
    expect(causes(one, [event("of another life", { object: foreign })])).toEqual([
      "probe | a | NotReady | the container runs and is not ready",
    ]);
  });

  test("nothing is wrong with a pod that is ready, or has done its work", () => {
    const ready = entry({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [container({ ready: true, state: { running: { startedAt: "" } } })],
    });
    expect(explainPod(ask({ entry: ready }))).toMatchObject({ well: true, causes: [] });
    expect(explainPod(ask({ entry: entry({ phase: "Succeeded" }) }))).toMatchObject({ well: true });
    expect(explainPod(ask({ entry: entry() }))).toMatchObject({ well: false });
  });

  test("the newest warnings stand beside it, five at most, of this pod only", () => {
    const events = [1, 2, 3, 4, 5, 6].map((last) => event(`no ${last}`, { last }));
    const normal = event("fine", { type: "Normal", last: 9 });
    const other = event("other", {
      object: { kind: "Pod", namespace: "default", name: "db" },
      last: 9,
    });
    const told = explainPod(ask({ entry: entry(), events: [...events, normal, other] }));
    expect(told?.warnings.map(({ message }) => message)).toEqual([
      "no 6",
      "no 5",
      "no 4",
      "no 3",
      "no 2",
    ]);
  });
});
