import { describe, expect, test } from "bun:test";
import type { ContainerState } from "../../../../src/api/v1/pod-status.ts";
import { podSummary } from "../../../../src/node/pod-cells.ts";
import { aPod, aStatus, type PodParts } from "../../cli/views.ts";

const waiting = (reason: string): ContainerState => ({ waiting: { reason } });
const ended = (exitCode: number, reason: string, signal = 0): ContainerState => ({
  terminated: { exitCode, reason, signal, containerID: "containerd://1" },
});
const initialized = [{ type: "Initialized", status: "True" }] as const;
const twoSidecars = {
  initContainers: [
    { name: "s", restartPolicy: "Always" },
    { name: "t", restartPolicy: "Always" },
  ],
};
const idle = { ready: false, started: false };

/** The pod, then `STATUS ready/containers restarts`. */
const cases: Readonly<Record<string, readonly [pod: PodParts, expected: string]>> = {
  "is Running for a running pod": [{}, "Running 1/1 0"],
  "is the phase while no container is known": [
    { status: { phase: "Pending", containerStatuses: [] } },
    "Pending 0/1 0",
  ],
  "is the pod's own reason rather than its phase": [
    { status: { phase: "Failed", reason: "Evicted", containerStatuses: [] } },
    "Evicted 0/1 0",
  ],
  "is the waiting reason of a container": [
    {
      status: {
        phase: "Pending",
        containerStatuses: [aStatus("a", { ...idle, state: waiting("ContainerCreating") })],
      },
    },
    "ContainerCreating 0/1 0",
  ],
  "is CrashLoopBackOff, with the restarts counted": [
    {
      status: {
        phase: "Running",
        containerStatuses: [
          aStatus("a", { ...idle, state: waiting("CrashLoopBackOff"), restartCount: 4 }),
        ],
      },
    },
    "CrashLoopBackOff 0/1 4",
  ],
  "is Completed for a pod that succeeded": [
    {
      status: {
        phase: "Succeeded",
        containerStatuses: [aStatus("a", { ...idle, state: ended(0, "Completed") })],
      },
    },
    "Completed 0/1 0",
  ],
  "is Error for a pod that failed": [
    {
      status: {
        phase: "Failed",
        containerStatuses: [aStatus("a", { ...idle, state: ended(3, "Error") })],
      },
    },
    "Error 0/1 0",
  ],
  "is the exit code if there is no reason": [
    {
      status: {
        phase: "Failed",
        containerStatuses: [aStatus("a", { ...idle, state: ended(3, "") })],
      },
    },
    "ExitCode:3 0/1 0",
  ],
  "is the signal if there is a signal and no reason": [
    {
      status: {
        phase: "Failed",
        containerStatuses: [aStatus("a", { ...idle, state: ended(137, "", 9) })],
      },
    },
    "Signal:9 0/1 0",
  ],
  "is the reason of the first container that has one": [
    {
      spec: { containers: [{ name: "a" }, { name: "b" }, { name: "c" }] },
      status: {
        phase: "Running",
        containerStatuses: [
          aStatus("a"),
          aStatus("b", { ...idle, state: waiting("ImagePullBackOff") }),
          aStatus("c", { ...idle, state: ended(1, "Error") }),
        ],
      },
    },
    "ImagePullBackOff 1/3 0",
  ],
  "is Running if one container completed, another runs and the pod is Ready": [
    {
      spec: { containers: [{ name: "a" }, { name: "b" }] },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [aStatus("a", { ...idle, state: ended(0, "Completed") }), aStatus("b")],
      },
    },
    "Running 1/2 0",
  ],
  "is NotReady if one container completed, another runs and the pod is not Ready": [
    {
      spec: { containers: [{ name: "a" }, { name: "b" }] },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "False" }],
        containerStatuses: [aStatus("a", { ...idle, state: ended(0, "Completed") }), aStatus("b")],
      },
    },
    "NotReady 1/2 0",
  ],
  "counts a running container that is not ready as not ready": [
    { status: { containerStatuses: [aStatus("a", { ready: false })] } },
    "Running 0/1 0",
  ],
  "is Terminating for a pod that is being stopped": [
    { metadata: { deletionTimestamp: "2026-01-01T00:00:09Z" } },
    "Terminating 1/1 0",
  ],
  "keeps the end of a finished pod that is being removed": [
    {
      metadata: { deletionTimestamp: "2026-01-01T00:00:09Z" },
      status: {
        phase: "Succeeded",
        containerStatuses: [aStatus("a", { ...idle, state: ended(0, "Completed") })],
      },
    },
    "Completed 0/1 0",
  ],
  "adds that an update is pending": [
    { status: { conditions: [{ type: "agent/UpdatePending", status: "True" }] } },
    "Running (update pending) 1/1 0",
  ],
  "adds nothing once the update is done": [
    { status: { conditions: [{ type: "agent/UpdatePending", status: "False" }] } },
    "Running 1/1 0",
  ],
  "shows the progress of initialisation": [
    {
      spec: { initContainers: [{ name: "i" }, { name: "j" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          aStatus("i", { ...idle, state: ended(0, "Completed") }),
          aStatus("j", { ...idle, state: { running: { startedAt: "" } } }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: waiting("PodInitializing") })],
      },
    },
    "Init:1/2 0/1 0",
  ],
  "is the waiting reason of an init container, with only the init restarts counted": [
    {
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          aStatus("i", { ...idle, state: waiting("CrashLoopBackOff"), restartCount: 2 }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: waiting("PodInitializing") })],
      },
    },
    "Init:CrashLoopBackOff 0/1 2",
  ],
  "shows how an init container failed": [
    {
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Failed",
        initContainerStatuses: [aStatus("i", { ...idle, state: ended(7, "Error") })],
      },
    },
    "Init:Error 0/1 0",
  ],
  "counts a sidecar like a container of the pod": [
    {
      spec: { initContainers: [{ name: "s", restartPolicy: "Always" }] },
      status: {
        phase: "Running",
        initContainerStatuses: [aStatus("s", { restartCount: 1 })],
        containerStatuses: [aStatus("a", { restartCount: 2 })],
      },
    },
    "Running 2/2 3",
  ],
  "waits for a sidecar that has not started": [
    {
      spec: { initContainers: [{ name: "s", restartPolicy: "Always" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [aStatus("s", { ...idle })],
        containerStatuses: [],
      },
    },
    "Init:0/1 0/2 0",
  ],
  "is the state of the app container once the pod is Initialized": [
    {
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Running",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("i", { ...idle, state: waiting("Unknown"), restartCount: 3 }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: ended(1, "Error") })],
      },
    },
    "Error 0/1 0",
  ],
  "shows the sidecar that is down beside a running container": [
    {
      spec: { initContainers: [{ name: "s", restartPolicy: "Always" }] },
      status: {
        phase: "Running",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("s", { ...idle, state: waiting("CrashLoopBackOff"), restartCount: 3 }),
        ],
        containerStatuses: [aStatus("a", { restartCount: 1 })],
      },
    },
    "Init:CrashLoopBackOff 1/2 4",
  ],
  "looks no further than the sidecar that is down": [
    {
      spec: {
        initContainers: [
          { name: "s", restartPolicy: "Always" },
          { name: "t", restartPolicy: "Always" },
        ],
      },
      status: {
        phase: "Running",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("s", { ...idle, state: { running: { startedAt: "" } } }),
          aStatus("t", { restartCount: 7 }),
        ],
        containerStatuses: [aStatus("a")],
      },
    },
    "Init:0/2 1/3 0",
  ],
  "is PodInitializing between the last init container and the first app container": [
    {
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Pending",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("i", { ...idle, ready: true, state: ended(0, "Completed") }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: waiting("PodInitializing") })],
      },
    },
    "PodInitializing 0/1 0",
  ],
  "is Init:0/2 while the first of two sidecars runs and has not started": [
    {
      spec: twoSidecars,
      status: {
        phase: "Pending",
        initContainerStatuses: [
          aStatus("s", { ...idle, state: { running: { startedAt: "" } }, restartCount: 3 }),
          aStatus("t", { ...idle, state: waiting("PodInitializing") }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: waiting("PodInitializing") })],
      },
    },
    "Init:0/2 0/3 3",
  ],
  "is Init:1/2 while the second of two sidecars has not started, with the ready one counted": [
    {
      spec: twoSidecars,
      status: {
        phase: "Pending",
        initContainerStatuses: [
          aStatus("s"),
          aStatus("t", { ...idle, state: { running: { startedAt: "" } } }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: waiting("PodInitializing") })],
      },
    },
    "Init:1/2 1/3 0",
  ],
  "does not count sidecars that have started and are not ready": [
    {
      spec: twoSidecars,
      status: {
        phase: "Running",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("s", { ready: false, restartCount: 3 }),
          aStatus("t", { ready: false }),
        ],
        containerStatuses: [aStatus("a", { restartCount: 4 })],
      },
    },
    "Running 1/3 7",
  ],
  "is Completed for a pod that succeeded, however its sidecars were stopped": [
    {
      spec: twoSidecars,
      status: {
        phase: "Succeeded",
        conditions: initialized,
        initContainerStatuses: [
          aStatus("s", { ...idle, state: ended(137, "Error"), restartCount: 3 }),
          aStatus("t", { ...idle, state: ended(137, "Error") }),
        ],
        containerStatuses: [
          aStatus("a", { ...idle, state: ended(0, "Completed"), restartCount: 4 }),
        ],
      },
    },
    "Completed 0/3 7",
  ],
  "passes over a sidecar that ended well": [
    {
      spec: twoSidecars,
      status: {
        phase: "Succeeded",
        initContainerStatuses: [
          aStatus("s", { ...idle, state: ended(0, "Completed") }),
          aStatus("t", { ...idle, state: ended(0, "Completed") }),
        ],
        containerStatuses: [aStatus("a", { ...idle, state: ended(0, "Completed") })],
      },
    },
    "Completed 0/3 0",
  ],
  "is the exit code of an init container if there is no reason": [
    {
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [aStatus("i", { ...idle, state: ended(3, "") })],
      },
    },
    "Init:ExitCode:3 0/1 0",
  ],
  "is Terminating for a pod that is stopped during initialisation": [
    {
      metadata: { deletionTimestamp: "2026-01-01T00:00:09Z" },
      spec: { initContainers: [{ name: "i" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [aStatus("i", { ...idle, state: { running: { startedAt: "" } } })],
      },
    },
    "Terminating 0/1 0",
  ],
  "is the pod's own reason for one that failed at its deadline": [
    {
      status: {
        phase: "Failed",
        reason: "DeadlineExceeded",
        containerStatuses: [aStatus("a")],
      },
    },
    "DeadlineExceeded 1/1 0",
  ],
};

test.each(Object.entries(cases))("%s", (_sentence, [pod, expected]) => {
  const { status, ready, containers, restarts } = podSummary(aPod(pod));
  expect(`${status} ${ready}/${containers} ${restarts}`).toBe(expected);
});

test("survives a status without anything in it", () => {
  const { status, ready, containers } = podSummary({ ...aPod(), status: {} });
  expect(`${status} ${ready}/${containers}`).toBe("Unknown 0/1");
});

describe("the newest restart", () => {
  const restarted = (finishedAt: string) =>
    aStatus("a", {
      restartCount: 1,
      lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt, containerID: "" } },
    });

  test("is that of the container which ended last", () => {
    const containerStatuses = [
      restarted("2026-01-01T00:05:00Z"),
      restarted("2026-01-01T00:03:00Z"),
    ];
    const { lastRestart } = podSummary(aPod({ status: { containerStatuses } }));
    expect(lastRestart).toBe("2026-01-01T00:05:00Z");
  });

  test("of an init container counts only while the pod is initialized", () => {
    const initContainerStatuses = [
      { ...restarted("2026-01-01T00:07:00Z"), name: "i", ...idle, state: waiting("X") },
    ];
    const containerStatuses = [restarted("2026-01-01T00:03:00Z")];
    const spec = { initContainers: [{ name: "i" }] };
    const last = (conditions: typeof initialized | readonly []) =>
      podSummary(aPod({ spec, status: { initContainerStatuses, containerStatuses, conditions } }))
        .lastRestart;
    expect([last([]), last(initialized)]).toEqual(["2026-01-01T00:07:00Z", "2026-01-01T00:03:00Z"]);
  });

  test("is absent while nothing was restarted", () => {
    expect(podSummary(aPod()).lastRestart).toBeUndefined();
  });
});
