import { describe, expect, test } from "bun:test";
import { explainPod, type PodQuestion } from "../../../../src/node/explain/explain-pod.ts";
import type { Rejection } from "../../../../src/api/pod/desired-pod.ts";
import type { ContainerStatus, PodStatus } from "../../../../src/api/v1/pod-status.ts";
import type { EventEntry } from "../../../../src/node/events-list.ts";
import type { PodEntry } from "../../../../src/node/pod-list.ts";
import type { Ack } from "../../../../src/protocol/reported-state.ts";
import type { PodNotes } from "../../../../src/node/explain/pod-notes.ts";
import { aContainer, aPod, UID } from "../../../fakes/a-pod.ts";

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

describe("what is shown of a pod", () => {
  const spec = aPod(
    {
      initContainers: [aContainer("setup", { image: "local/busybox:2" })],
      containers: [aContainer("a"), aContainer("b", { image: "local/busybox:2" })],
      volumes: [
        { name: "data", hostPath: { path: "/data", type: "" } },
        {
          name: "settings",
          configMap: { name: "settings", optional: false, items: [], defaultMode: 0o644 },
        },
      ],
    },
    { annotations: { "agent/depends-on": "shop/db:Ready, shop/gone:Running" } },
  );
  const crashed = {
    exitCode: 127,
    reason: "Error",
    containerID: "",
    finishedAt: "2026-01-01T00:00:00Z",
  };
  const statuses: Partial<PodStatus> = {
    phase: "Pending",
    initContainerStatuses: [
      container({
        name: "setup",
        imageID: "sha256:1",
        restartCount: 3,
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s" } },
        lastState: { terminated: crashed },
      }),
    ],
    containerStatuses: [
      container({
        state: {
          waiting: {
            reason: "PodInitializing",
            message: 'pulling image "local/busybox:1": 1.0 MiB of 2.0 MiB (50 %)',
          },
        },
      }),
      container({ name: "b", state: { waiting: { reason: "PodInitializing" } } }),
    ],
  };
  const one = entry(statuses, { pod: spec, sourceRef: "/m/web.yaml#1" });
  const db = entry(
    { conditions: [{ type: "Ready", status: "True" }], phase: "Running" },
    { pod: aPod({}, { name: "db", namespace: "shop" }) },
  );
  const notes: PodNotes = {
    line: 12,
    tries: new Map([["setup", Date.parse("2026-01-01T00:01:00Z")]]),
    lines: new Map([["setup", ["sh: nothing: not found"]]]),
  };
  const explained = explainPod(ask({ entry: one, pods: [one, db], objects: [], notes }));

  test("its file and line, and that it is admitted", () => {
    expect(explained).toMatchObject({
      source: { source: "file", ref: "/m/web.yaml", line: 12, specHash: "0" },
      admitted: true,
    });
  });

  test("the pods that it waits for", () => {
    expect(explained?.dependencies).toEqual([
      { pod: "shop/db", state: "Ready", now: "Ready", met: true },
      { pod: "shop/gone", state: "Running", now: "NotFound", met: false },
    ]);
  });

  test("each image once, with how far it is", () => {
    expect(explained?.images).toEqual([
      { image: "local/busybox:2", state: "Present" },
      {
        image: "local/busybox:1",
        state: "Pulling",
        message: 'pulling image "local/busybox:1": 1.0 MiB of 2.0 MiB (50 %)',
      },
    ]);
  });

  test("each volume, with the object that is missing behind it", () => {
    expect(explained?.volumes).toEqual([
      { name: "data", kind: "hostPath", state: "Unknown" },
      {
        name: "settings",
        kind: "configMap",
        state: "Missing",
        message: 'ConfigMap "settings" is not on this node',
      },
    ]);
  });

  test("each container with its stage, last exit, lines and next try", () => {
    expect(explained?.containers.map(({ name, kind, stage }) => [name, kind, stage])).toEqual([
      ["setup", "init", "BackOff"],
      ["a", "app", "Image"],
      ["b", "app", "InitContainers"],
    ]);
    expect(explained?.containers[0]).toEqual({
      name: "setup",
      kind: "init",
      stage: "BackOff",
      ready: false,
      restarts: 3,
      reason: "CrashLoopBackOff",
      message: "back-off 40s",
      lastExit: { exitCode: 127, reason: "Error", finishedAt: "2026-01-01T00:00:00Z" },
      lines: ["sh: nothing: not found"],
      nextTry: "2026-01-01T00:01:00Z",
    });
  });

  test("advice by the exit code, with the place of the pod", () => {
    expect(explained?.advice).toBe(
      "The program is not in the image: check command in /m/web.yaml:12, and that the shell or interpreter is there.",
    );
  });

  test("a container that was killed for memory gets that advice, not that of the loop", () => {
    const oom = { ...crashed, exitCode: 137, reason: "OOMKilled" };
    const killed = waiting("CrashLoopBackOff", "back-off 10s", { lastState: { terminated: oom } });
    expect(explainPod(ask({ entry: killed }))?.advice).toStartWith(
      "The container needed more memory",
    );
  });

  test("of a refused file the advice names the line of the refusal", () => {
    const rejected: Rejection = {
      source: "file",
      ref: "/m/web.yaml",
      kind: "Pod",
      namespace: "default",
      name: "web",
      code: "UnknownField",
      path: "spec.contaners",
      message: "unknown field",
      line: 7,
    };
    expect(explainPod(ask({ rejected: [rejected] }))).toMatchObject({
      admitted: false,
      advice:
        "A field is unknown, and probably misspelt: correct the field in /m/web.yaml:7, and check the file with agent validate before.",
    });
  });

  test("trouble of the node is the cause where the pod has none of its own", () => {
    const problems = ["the container runtime does not answer"];
    expect(explainPod(ask({ entry: entry(), problems }))).toMatchObject({
      causes: [{ category: "node", reason: "NodeNotReady", message: problems[0] }],
    });
    expect(explainPod(ask({ entry: entry(), problems }))?.advice).toContain("agent check");
    expect(explainPod(ask({ entry: entry({ phase: "Succeeded" }), problems }))?.causes).toEqual([]);
  });

  test("an update of its document that has not converged", () => {
    const ack: Ack = {
      source: "node",
      epoch: "e",
      generation: 4,
      observedGeneration: 3,
      digest: "d",
      signed: false,
      code: 423,
      message: "on hold",
      since: "",
      phase: "Held",
    };
    const held = entry({ phase: "Running" }, { source: "mqtt:node", sourceRef: "generation 4" });
    expect(explainPod(ask({ entry: held, acks: [ack] }))?.updates).toEqual([
      { reason: "Held", message: "generation 4: on hold (423)" },
    ]);
    const healthy: Ack = { ...ack, phase: "Healthy", code: 200 };
    expect(explainPod(ask({ entry: held, acks: [healthy] }))?.updates).toEqual([]);
  });
});
