// From what the runtime says to the row that `get pods` prints, through the local API's JSON.

import { describe, expect, test } from "bun:test";
import type { ObservedContainer, ObservedSandbox } from "../../../src/api/pod/observed-pod.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { Probe } from "../../../src/api/v1/probe.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { isListOf, isPod } from "../../../src/node/api-views.ts";
import { podCells } from "../../../src/node/pod-cells.ts";
import { podList } from "../../../src/node/pod-list.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { generatePodStatus } from "../../../src/status/generate-pod-status.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const NOW = 65_000;

interface World {
  readonly spec?: Partial<PodSpec>;
  readonly containers?: readonly ObservedContainer[];
  readonly sandbox?: Partial<ObservedSandbox>;
  readonly facts?: Partial<PodFacts>;
  readonly deleted?: true;
}

/** `READY STATUS RESTARTS`, as a person reads it. */
function columns(world: World, previous?: PodStatus): { row: string; status: PodStatus } {
  const pod: Pod = aPod(world.spec);
  const status = generatePodStatus({
    pod,
    observed: anObservedPod([aSandbox(world.sandbox)], world.containers ?? []),
    hostIPs: [],
    facts: { waiting: {}, ...world.facts },
    previous,
    now: 0,
  });
  const list: unknown = JSON.parse(
    JSON.stringify(
      podList([
        {
          pod,
          status,
          source: "file",
          sourceRef: "/etc/agent/manifests/web.yaml#0",
          specHash: "0123456789abcdef",
          nodeName: "pi-1",
          ...(world.deleted === true ? { deletedAt: NOW } : {}),
        },
      ]),
    ),
  );
  if (!isListOf(isPod)(list) || list.items[0] === undefined) throw new Error("not a list of pods");
  const { ready, status: word, restarts } = podCells(list.items[0], NOW);
  return { row: `${ready} ${word} ${restarts}`, status };
}

function exited(name: string, exitCode: number, more: Partial<ObservedContainer> = {}) {
  return anInstance(name, { state: "Exited", exitCode, finishedAt: 5_000, ...more });
}

const probe: Probe = {
  handler: { type: "tcpSocket", port: 80 },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};
const twoInit = { initContainers: [aContainer("i"), aContainer("j")] };
const sidecar = {
  initContainers: [aContainer("s", { restartPolicy: "Always", startupProbe: probe })],
};
const started = { probes: { "s-0": { startup: "Success" } } } as const;
const backOff = (name: string) => ({ waiting: { [name]: { reason: "CrashLoopBackOff" } } });
const done = { ...sidecar, restartPolicy: "Never" } as const;

const rows: Readonly<Record<string, readonly [World, string]>> = {
  "a pod without anything": [{}, "0/1 ContainerCreating 0"],
  "a pod before its init containers": [{ spec: twoInit }, "0/1 Init:0/2 0"],
  "a running init container": [{ spec: twoInit, containers: [anInstance("i")] }, "0/1 Init:0/2 0"],
  "a done init container": [
    { spec: twoInit, containers: [exited("i", 0), anInstance("j")] },
    "0/1 Init:1/2 0",
  ],
  "an init container without an image": [
    { spec: twoInit, facts: { waiting: { i: { reason: "ErrImagePull" } } } },
    "0/1 Init:ErrImagePull 0",
  ],
  "an init container that crash-loops": [
    {
      spec: twoInit,
      containers: [exited("i", 1), exited("i", 1, { attempt: 1, id: "i-1" })],
      facts: backOff("i"),
    },
    "0/1 Init:CrashLoopBackOff 1 (60s ago)",
  ],
  "an init container that failed for good": [
    { spec: { ...twoInit, restartPolicy: "Never" }, containers: [exited("i", 1)] },
    "0/1 Init:Error 0",
  ],
  "between the init containers and the app container": [
    { spec: twoInit, containers: [exited("i", 0), exited("j", 0)] },
    "0/1 PodInitializing 0",
  ],
  "a pod that runs after its init containers": [
    { spec: twoInit, containers: [exited("i", 0), exited("j", 0), anInstance("a")] },
    "1/1 Running 0",
  ],
  "a pod whose init containers' records are gone": [
    { spec: twoInit, containers: [anInstance("a")] },
    "1/1 Running 0",
  ],
  "a sidecar that has not started": [
    { spec: sidecar, containers: [anInstance("s")] },
    "0/2 Init:0/1 0",
  ],
  "a sidecar that has started": [
    { spec: sidecar, containers: [anInstance("s")], facts: started },
    "1/2 PodInitializing 0",
  ],
  "a sidecar and an app container that run": [
    { spec: sidecar, containers: [anInstance("s"), anInstance("a")], facts: started },
    "2/2 Running 0",
  ],
  "a sidecar that crash-loops beside a running app container": [
    {
      spec: sidecar,
      containers: [exited("s", 1, { attempt: 2, id: "s-2" }), anInstance("a")],
      facts: backOff("s"),
    },
    "1/2 Init:CrashLoopBackOff 2 (60s ago)",
  ],
  "an app container that is not ready": [
    {
      spec: { containers: [aContainer("a", { readinessProbe: probe })] },
      containers: [anInstance("a")],
    },
    "0/1 Running 0",
  ],
  "an app container whose postStart hook runs": [
    { containers: [anInstance("a")], facts: { starting: ["a"] } },
    "0/1 ContainerCreating 0",
  ],
  "an app container that is done beside one that is not ready": [
    {
      spec: {
        restartPolicy: "Never",
        containers: [aContainer("a"), aContainer("b")],
      },
      containers: [exited("a", 0), anInstance("b")],
    },
    "1/2 NotReady 0",
  ],
  "a pod that is done": [
    { spec: done, containers: [exited("s", 143), exited("a", 0)] },
    "0/2 Completed 0",
  ],
  "a pod that is done while its sidecar still stops": [
    { spec: done, containers: [anInstance("s"), exited("a", 0)], facts: started },
    "1/2 Completed 0",
  ],
  "a pod that failed": [
    { spec: { restartPolicy: "Never" }, containers: [exited("a", 2, { reason: "OOMKilled" })] },
    "0/1 OOMKilled 0",
  ],
  "a pod past its deadline whose container still stops": [
    { containers: [anInstance("a")], facts: { failed: true, podReason: "DeadlineExceeded" } },
    "1/1 DeadlineExceeded 0",
  ],
  "a pod past its deadline whose container has stopped": [
    { containers: [exited("a", 137)], facts: { failed: true, podReason: "DeadlineExceeded" } },
    "0/1 Error 0",
  ],
  "a pod that is removed while it is initialized": [
    { spec: twoInit, containers: [anInstance("i")], facts: { terminating: true }, deleted: true },
    "0/1 Terminating 0",
  ],
};

describe("get pods shows", () => {
  test.each(Object.entries(rows))("%s", (_, [world, expected]) => {
    expect(columns(world).row).toBe(expected);
  });

  test("a container that the runtime lost", () => {
    const first = columns({ containers: [anInstance("a")] });
    expect(columns({}, first.status).row).toBe("0/1 ContainerCreating 1");
  });
});
