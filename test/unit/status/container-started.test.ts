import { describe, expect, test } from "bun:test";
import type { ContainerState } from "../../../src/api/v1/pod-status.ts";
import type { Probe, ContainerVerdicts } from "../../../src/api/v1/probe.ts";
import { containerStatuses, startedAndReady } from "../../../src/status/container-statuses.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const probe: Probe = {
  handler: { type: "exec", command: ["true"] },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

const running: ContainerState = { running: { startedAt: "" } };
const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };
const ended = (exitCode: number): ContainerState => ({
  terminated: { exitCode, reason: "", containerID: "" },
});

const none = aContainer("a");
const startup = aContainer("a", { startupProbe: probe });
const readiness = aContainer("a", { readinessProbe: probe });
const liveness = aContainer("a", { livenessProbe: probe });
const both = aContainer("a", { startupProbe: probe, readinessProbe: probe });

type Row = readonly [
  container: typeof none,
  state: ContainerState,
  verdicts: ContainerVerdicts | undefined,
  expected: "started and ready" | "started" | "ready" | "neither",
];

const cases: Record<string, Row> = {
  "one without probes that runs": [none, running, undefined, "started and ready"],
  "one without probes that waits": [none, waiting, undefined, "neither"],
  "one without probes that ended well": [none, ended(0), undefined, "neither"],
  "one whose startup probe was not asked yet": [startup, running, undefined, "neither"],
  "one whose startup probe has not decided": [startup, running, { startup: "Unknown" }, "neither"],
  "one whose startup probe failed": [startup, running, { startup: "Failure" }, "neither"],
  "one whose startup probe succeeded": [
    startup,
    running,
    { startup: "Success" },
    "started and ready",
  ],
  "one that ended after its startup probe succeeded": [
    startup,
    ended(0),
    { startup: "Success" },
    "neither",
  ],
  "one whose readiness probe was not asked yet": [readiness, running, undefined, "started"],
  "one whose readiness probe has not decided": [
    readiness,
    running,
    { readiness: "Unknown" },
    "started",
  ],
  "one whose readiness probe fails": [readiness, running, { readiness: "Failure" }, "started"],
  "one whose readiness probe succeeds": [
    readiness,
    running,
    { readiness: "Success" },
    "started and ready",
  ],
  "one that ended while its readiness probe succeeded": [
    readiness,
    ended(1),
    { readiness: "Success" },
    "neither",
  ],
  "one that is ready before it has started": [both, running, { readiness: "Success" }, "neither"],
  "one that has started and is not ready": [both, running, { startup: "Success" }, "started"],
  "one that has started and is ready": [
    both,
    running,
    { startup: "Success", readiness: "Success" },
    "started and ready",
  ],
  "one whose liveness probe fails, which readiness does not reflect": [
    liveness,
    running,
    { liveness: "Failure" },
    "started and ready",
  ],
};

function say({ started, ready }: { readonly started: boolean; readonly ready: boolean }): string {
  if (started) return ready ? "started and ready" : "started";
  return ready ? "ready" : "neither";
}

describe.each(["an app container", "a sidecar"])("%s", (kind) => {
  test.each(Object.entries(cases))("%s", (_, [written, state, verdicts, expected]) => {
    const isApp = kind === "an app container";
    const container = isApp ? written : { ...written, restartPolicy: "Always" as const };
    const { spec } = aPod(isApp ? { containers: [container] } : { initContainers: [container] });
    expect(say(startedAndReady({ spec, container, state, verdicts }))).toBe(expected);
  });
});

describe("a plain init container", () => {
  const plain: Record<string, readonly [ContainerState, string]> = {
    "that waits": [waiting, "neither"],
    "that runs has started": [running, "started"],
    "that ended well is ready and has not started": [ended(0), "ready"],
    "that failed is neither": [ended(1), "neither"],
  };
  test.each(Object.entries(plain))("%s", (_, [state, expected]) => {
    const { spec } = aPod({ initContainers: [none] });
    expect(say(startedAndReady({ spec, container: none, state, verdicts: undefined }))).toBe(
      expected,
    );
  });
});

describe("verdicts", () => {
  const pod = aPod({ containers: [readiness] });
  const observed = anObservedPod([aSandbox()], [anInstance("a", { attempt: 1 })]);
  const ready = (probes: Record<string, ContainerVerdicts>) =>
    containerStatuses({ pod, observed, facts: { waiting: {}, probes }, previous: undefined })
      .containerStatuses[0]?.ready;

  test("count for the instance they were given", () =>
    expect(ready({ "a-1": { readiness: "Success" } })).toBe(true));
  test("of the instance before count no more", () =>
    expect(ready({ "a-0": { readiness: "Success" } })).toBe(false));
});
