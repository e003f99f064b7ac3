import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodPhase,
} from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { podConditions, timed, type ConditionsInput } from "../../../src/status/pod-conditions.ts";
import { aContainer, aPod, aSandbox, anObservedPod } from "../../fakes/a-pod.ts";

const running: ContainerState = { running: { startedAt: "" } };
const waiting: ContainerState = { waiting: { reason: "PodInitializing" } };
const ended: ContainerState = { terminated: { exitCode: 1, reason: "", containerID: "" } };

type Word = "ready" | "started" | "up" | "unready" | "ended" | "crash-looping";

/** `up`: runs, and is neither started nor ready. */
const WORDS: Record<Word, Partial<ContainerStatus>> = {
  ready: { state: running, ready: true, started: true },
  started: { state: running, started: true },
  up: { state: running },
  unready: {},
  ended: { state: ended },
  "crash-looping": { lastState: ended },
};

function statuses(words: Readonly<Record<string, Word>>): readonly ContainerStatus[] {
  return Object.entries(words).map(([name, word]) => ({
    name,
    state: waiting,
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    image: "",
    imageID: "",
    containerID: "",
    ...WORDS[word],
  }));
}

interface Given {
  readonly spec?: Partial<PodSpec>;
  readonly init?: Readonly<Record<string, Word>>;
  readonly apps?: Readonly<Record<string, Word>>;
  readonly phase?: PodPhase;
}

function conditions(given: Given, more: Partial<ConditionsInput> = {}) {
  return podConditions({
    spec: aPod(given.spec).spec,
    observed: undefined,
    statuses: {
      initContainerStatuses: statuses(given.init ?? {}),
      containerStatuses: statuses(given.apps ?? {}),
    },
    phase: given.phase ?? "Running",
    ...more,
  });
}

function say(type: string, given: Given): string {
  const found = conditions(given).find((condition) => condition.type === type);
  const words = [found?.status, found?.reason, found?.message];
  return words.filter((word) => word !== undefined).join(" ");
}

type Row = readonly [given: Given, expected: string];

const one = { initContainers: [aContainer("i")] };
const two = { initContainers: [aContainer("i"), aContainer("j")] };
const sidecar = { initContainers: [aContainer("s", { restartPolicy: "Always" })] };
const notInitialized = (message: string) => `False ContainersNotInitialized ${message}`;

describe("Initialized", () => {
  const cases: Record<string, Row> = {
    "without init containers": [{ apps: { a: "unready" } }, "True"],
    "while no status is known": [{ spec: two }, "False UnknownContainerStatuses"],
    "while the init container has no status": [
      { spec: one, apps: { a: "unready" } },
      notInitialized("containers with unknown status: [i]"),
    ],
    "while one of two has no status": [
      { spec: two, init: { i: "ready" }, apps: { a: "unready" } },
      notInitialized("containers with unknown status: [j]"),
    ],
    "while one of two is not done": [
      { spec: two, init: { i: "ready", j: "unready" }, apps: { a: "unready" } },
      notInitialized("containers with incomplete status: [j]"),
    ],
    "while none of two is done": [
      { spec: two, init: { i: "up", j: "unready" }, apps: { a: "unready" } },
      notInitialized("containers with incomplete status: [i j]"),
    ],
    "while one is not done and one has no status": [
      { spec: two, init: { i: "up" }, apps: { a: "unready" } },
      notInitialized("containers with unknown status: [j], containers with incomplete status: [i]"),
    ],
    "once both are done": [
      { spec: two, init: { i: "ready", j: "ready" }, apps: { a: "unready" } },
      "True",
    ],
    "while the sidecar has not started": [
      { spec: sidecar, init: { s: "up" }, apps: { a: "unready" }, phase: "Pending" },
      notInitialized("containers with incomplete status: [s]"),
    ],
    "once the sidecar has started, ready or not": [
      { spec: sidecar, init: { s: "started" }, apps: { a: "unready" } },
      "True",
    ],
    "while the sidecar starts again beside an app container": [
      { spec: sidecar, init: { s: "up" }, apps: { a: "up" } },
      "True",
    ],
    "while the sidecar starts again beside an app container that ended": [
      { spec: sidecar, init: { s: "unready" }, apps: { a: "ended" } },
      "True",
    ],
    "while the sidecar starts again beside an app container that waits for its restart": [
      { spec: sidecar, init: { s: "unready" }, apps: { a: "crash-looping" } },
      "True",
    ],
    "of a pod whose init containers run again after its app container": [
      { spec: one, init: { i: "unready" }, apps: { a: "ended" } },
      "True",
    ],
    "of a pod that succeeded": [
      { spec: one, init: { i: "ready" }, apps: { a: "ended" }, phase: "Succeeded" },
      "True PodCompleted",
    ],
    "of a pod without init containers that succeeded": [
      { apps: { a: "ended" }, phase: "Succeeded" },
      "True PodCompleted",
    ],
    "of a pod that failed in its init container": [
      { spec: one, init: { i: "ended" }, apps: { a: "unready" }, phase: "Failed" },
      notInitialized("containers with incomplete status: [i]"),
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [given, expected]) => {
    expect(say("Initialized", given)).toBe(expected);
  });
});

describe("Ready and ContainersReady", () => {
  const both = { containers: [aContainer("a"), aContainer("b")] };
  const notReady = (message: string) => `False ContainersNotReady ${message}`;
  const cases: Record<string, Row> = {
    "while no status is known": [{}, "False UnknownContainerStatuses"],
    "while one of two has no status": [
      { spec: both, apps: { a: "ready" } },
      notReady("containers with unknown status: [b]"),
    ],
    "once both are ready": [{ spec: both, apps: { a: "ready", b: "ready" } }, "True"],
    "while one of two is not": [
      { spec: both, apps: { a: "ready", b: "started" } },
      notReady("containers with unready status: [b]"),
    ],
    "while none is": [
      { spec: both, apps: { a: "ended", b: "unready" } },
      notReady("containers with unready status: [a b]"),
    ],
    "while one is not and one has no status": [
      { spec: both, apps: { b: "unready" } },
      notReady("containers with unknown status: [a], containers with unready status: [b]"),
    ],
    "do not ask plain init containers": [
      { spec: one, init: { i: "unready" }, apps: { a: "ready" } },
      "True",
    ],
    "ask sidecars": [
      { spec: sidecar, init: { s: "started" }, apps: { a: "ready" } },
      notReady("containers with unready status: [s]"),
    ],
    "miss the status of a sidecar": [
      { spec: sidecar, apps: { a: "ready" } },
      notReady("containers with unknown status: [s]"),
    ],
    "name sidecars first": [
      { spec: sidecar, init: { s: "up" }, apps: { a: "unready" } },
      notReady("containers with unready status: [s a]"),
    ],
    "of a pod with a ready sidecar": [
      { spec: sidecar, init: { s: "ready" }, apps: { a: "ready" } },
      "True",
    ],
    "of a pod that succeeded": [{ apps: { a: "ended" }, phase: "Succeeded" }, "False PodCompleted"],
    "of a pod that failed": [{ apps: { a: "ended" }, phase: "Failed" }, "False PodFailed"],
    "of a pod that failed while its containers still stop": [
      { apps: { a: "ready" }, phase: "Failed" },
      "False PodFailed",
    ],
    "of a pod that failed before it had containers": [{ phase: "Failed" }, "False PodFailed"],
  };
  test.each(Object.entries(cases))("%s", (_, [given, expected]) => {
    expect([say("Ready", given), say("ContainersReady", given)]).toEqual([expected, expected]);
  });
});

describe("PodReadyToStartContainers", () => {
  const hostNetwork = { ips: [], hostNetwork: true };
  const cases: Record<string, readonly [ObservedPod | undefined, Partial<PodSpec>, string]> = {
    "without a sandbox": [undefined, {}, "False"],
    "with a ready sandbox that has an address": [anObservedPod([aSandbox()], []), {}, "True"],
    "with a sandbox that has no address": [anObservedPod([aSandbox({ ips: [] })], []), {}, "False"],
    "on the host's network no address is needed": [
      anObservedPod([aSandbox(hostNetwork)], []),
      { hostNetwork: true },
      "True",
    ],
    "with a sandbox of the wrong network": [
      anObservedPod([aSandbox(hostNetwork)], []),
      {},
      "False",
    ],
    "with a sandbox that is down": [
      anObservedPod([aSandbox({ state: "NotReady" })], []),
      {},
      "False",
    ],
    "the newest counts, not an older one that is still up": [
      anObservedPod([aSandbox(), aSandbox({ attempt: 1, state: "NotReady" })], []),
      {},
      "False",
    ],
    "two that are up are one too many": [
      anObservedPod([aSandbox(), aSandbox({ attempt: 1 })], []),
      {},
      "False",
    ],
    "an older one that is down does not matter": [
      anObservedPod([aSandbox({ state: "NotReady" }), aSandbox({ attempt: 1 })], []),
      {},
      "True",
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [observed, spec, expected]) => {
    const all = conditions({ spec }, { observed });
    expect(String(all.find(({ type }) => type === "PodReadyToStartContainers")?.status)).toBe(
      expected,
    );
  });
});

test("they are in the kubelet's order and have the only generation", () => {
  const disruption = { reason: "TerminationByKubelet", message: "disk full" };
  const all = conditions({ apps: { a: "ready" } }, { disruption });
  expect(
    all.map(({ type, status, observedGeneration }) => [type, status, observedGeneration]),
  ).toEqual([
    ["DisruptionTarget", "True", 1],
    ["PodReadyToStartContainers", "False", 1],
    ["Initialized", "True", 1],
    ["Ready", "True", 1],
    ["ContainersReady", "True", 1],
    ["PodScheduled", "True", 1],
  ]);
  expect(all[0]).toMatchObject(disruption);
});

describe("timed", () => {
  const condition = fc.record(
    {
      type: fc.constantFrom("Ready", "Initialized", "agent/A"),
      status: fc.constantFrom("True", "False", "Unknown"),
      reason: fc.string(),
      lastTransitionTime: fc.constantFrom("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
    },
    { requiredKeys: ["type", "status"] },
  );
  const list: fc.Arbitrary<PodCondition[]> = fc.uniqueArray(condition, {
    selector: ({ type }) => type,
  });
  const wall = fc.integer({ min: 0, max: 4e12 });

  test("gives every condition a time and never takes one back", () => {
    fc.assert(
      fc.property(list, list, wall, wall, (now, before, at, later) => {
        const once = timed(now, before, at);
        expect(once.every(({ lastTransitionTime }) => lastTransitionTime !== undefined)).toBe(true);
        expect(timed(once, before, later)).toEqual(once);
        expect(timed(now, once, later)).toEqual(once);
      }),
    );
  });

  test("moves the time only with the status", () => {
    const before: PodCondition[] = [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const now = Date.parse("2026-03-01T00:00:00Z");
    const at = (status: "True" | "False") =>
      timed([{ type: "Ready", status, reason: "Other" }], before, now)[0]?.lastTransitionTime;
    expect([at("True"), at("False")]).toEqual(["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"]);
  });
});
