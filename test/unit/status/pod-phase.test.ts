import { describe, expect, test } from "bun:test";
import type { ContainerState, ContainerStatus, PodPhase } from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { RestartPolicy } from "../../../src/api/v1/pod.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { podPhase } from "../../../src/status/pod-phase.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import type { Container } from "../../../src/api/v1/container.ts";

function terminated(exitCode: number): ContainerState {
  return { terminated: { exitCode, reason: "", containerID: "containerd://dead" } };
}

const creating: ContainerState = { waiting: { reason: "ContainerCreating" } };
const backOff: ContainerState = { waiting: { reason: "CrashLoopBackOff" } };

const STATES = {
  /** Runs, and its startup probe has not succeeded. */
  running: { state: { running: { startedAt: "" } }, lastState: {} },
  started: { state: { running: { startedAt: "" } }, lastState: {}, started: true },
  waiting: { state: creating, lastState: {} },
  succeeded: { state: terminated(0), lastState: {} },
  failed: { state: terminated(1), lastState: {} },
  "crash-looping": { state: backOff, lastState: terminated(1) },
  /** Ended well and waits for its next start all the same. */
  "starting again": { state: backOff, lastState: terminated(0) },
  nothing: { state: {}, lastState: {} },
} satisfies Record<string, Partial<ContainerStatus>>;

/** `missing`: it has no status at all. */
type State = keyof typeof STATES | "missing";

function statusesOf(names: readonly string[], states: readonly State[]): ContainerStatus[] {
  return states.flatMap((state, index) =>
    state === "missing"
      ? []
      : [
          {
            name: names[index] ?? "",
            ready: false,
            started: false,
            restartCount: 0,
            image: "",
            imageID: "",
            containerID: "",
            ...STATES[state],
          },
        ],
  );
}

interface Given {
  readonly init?: readonly State[];
  /** The init containers of the spec; default: as many plain ones as there are states. */
  readonly initContainers?: readonly Container[];
  readonly apps: readonly State[];
  readonly containers?: readonly Container[];
  readonly restartPolicy?: RestartPolicy;
  readonly facts?: Partial<PodFacts>;
  readonly initialized?: boolean;
}

function phaseOf(given: Given): PodPhase {
  const { init = [], apps, restartPolicy = "Always" } = given;
  const spec: PodSpec = aPod({
    restartPolicy,
    initContainers: given.initContainers ?? init.map((_, index) => aContainer(`i${index}`)),
    containers: given.containers ?? apps.map((_, index) => aContainer(`a${index}`)),
  }).spec;
  const names = (containers: readonly Container[]) => containers.map(({ name }) => name);
  return podPhase({
    spec,
    statuses: {
      initContainerStatuses: statusesOf(names(spec.initContainers), init),
      containerStatuses: statusesOf(names(spec.containers), apps),
    },
    facts: { waiting: {}, ...given.facts },
    initialized: given.initialized ?? false,
  });
}

const POLICIES: readonly RestartPolicy[] = ["Always", "OnFailure", "Never"];

/** The phase under Always, OnFailure, Never. */
type Phases = readonly [PodPhase, PodPhase, PodPhase];

const PENDING: Phases = ["Pending", "Pending", "Pending"];
const RUNNING: Phases = ["Running", "Running", "Running"];

function phases(given: Given): PodPhase[] {
  return POLICIES.map((restartPolicy) => phaseOf({ ...given, restartPolicy }));
}

describe("app containers, of which", () => {
  const living: Record<string, readonly [readonly State[], Phases]> = {
    "all run": [["running", "running"], RUNNING],
    "one still waits for its first start": [["running", "waiting"], PENDING],
    "none has started": [["waiting"], PENDING],
    "one has no state": [["running", "nothing"], PENDING],
    "one has no status": [["running", "missing"], PENDING],
    "none has a status": [["missing", "missing"], PENDING],
    "one ended and one has no status": [["failed", "missing"], PENDING],
    "all ended well": [
      ["succeeded", "succeeded"],
      ["Running", "Succeeded", "Succeeded"],
    ],
    "all failed": [
      ["failed", "failed"],
      ["Running", "Running", "Failed"],
    ],
    "one failed, one ended well": [
      ["failed", "succeeded"],
      ["Running", "Running", "Failed"],
    ],
    "one runs, one ended well": [["running", "succeeded"], RUNNING],
    "one runs, one failed": [["running", "failed"], RUNNING],
    "one runs, one waits for its restart": [["running", "crash-looping"], RUNNING],
    "all wait for their restart": [["crash-looping"], ["Running", "Running", "Failed"]],
    "there are none": [[], PENDING],
  };
  test.each(Object.entries(living))("%s", (_, [apps, expected]) => {
    expect(phases({ apps })).toEqual([...expected]);
  });
});

describe("an init container", () => {
  const apps: readonly State[] = ["waiting", "waiting"];
  const cases: Record<string, readonly [Given, Phases]> = {
    "without a status": [{ init: ["missing"], apps }, PENDING],
    "that has no state": [{ init: ["nothing"], apps }, PENDING],
    "that waits": [{ init: ["waiting"], apps }, PENDING],
    "that runs": [{ init: ["running"], apps }, PENDING],
    "that runs, while nothing is known of the app containers": [
      { init: ["running"], apps: ["missing"] },
      PENDING,
    ],
    "that failed: only Never is its end": [
      { init: ["failed"], apps },
      ["Pending", "Pending", "Failed"],
    ],
    "that failed, while nothing is known of the app containers": [
      { init: ["failed"], apps: ["missing"] },
      ["Pending", "Pending", "Failed"],
    ],
    "that waits for its restart": [
      { init: ["crash-looping"], apps },
      ["Pending", "Pending", "Failed"],
    ],
    "that ended well and waits": [{ init: ["starting again"], apps }, PENDING],
    "that ended well, its app containers wait": [{ init: ["succeeded"], apps }, PENDING],
    "that ended well, its app containers run": [
      { init: ["succeeded"], apps: ["running", "running"] },
      RUNNING,
    ],
    "that runs again beside running app containers": [
      { init: ["running"], apps: ["running", "running"], initialized: true },
      PENDING,
    ],
    "that runs again after app containers that ended": [
      { init: ["running"], apps: ["failed"] },
      PENDING,
    ],
    "of two, of which the first is done": [{ init: ["succeeded", "running"], apps }, PENDING],
    "of two, of which the first failed": [
      { init: ["failed", "waiting"], apps },
      ["Pending", "Pending", "Failed"],
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [given, expected]) => {
    expect(phases(given)).toEqual([...expected]);
  });
});

describe("a sidecar", () => {
  const initContainers = [aContainer("s", { restartPolicy: "Always" })];
  const run: readonly State[] = ["running", "running"];
  const finished: Phases = ["Running", "Succeeded", "Succeeded"];
  const cases: Record<string, readonly [Omit<Given, "initContainers">, Phases]> = {
    "without a status": [{ init: ["missing"], apps: ["missing"] }, PENDING],
    "that waits, before the app containers": [{ init: ["waiting"], apps: ["waiting"] }, PENDING],
    "that runs and has not started": [{ init: ["running"], apps: ["missing"] }, PENDING],
    "that stopped before there are app containers": [
      { init: ["succeeded"], apps: ["missing"] },
      PENDING,
    ],
    "that waits for its restart before there are app containers": [
      { init: ["crash-looping"], apps: ["missing"] },
      PENDING,
    ],
    "that has started, one of two app containers runs": [
      { init: ["started"], apps: ["running", "missing"] },
      PENDING,
    ],
    "that has started, all run": [{ init: ["started"], apps: run }, RUNNING],
    "that starts again beside initialized app containers": [
      { init: ["running"], apps: run, initialized: true },
      RUNNING,
    ],
    "that starts again in a sandbox without app containers": [
      { init: ["running"], apps: run },
      PENDING,
    ],
    "that stopped beside running app containers": [{ init: ["succeeded"], apps: run }, RUNNING],
    "that failed beside running app containers": [{ init: ["failed"], apps: run }, RUNNING],
    "that crash-loops beside running app containers": [
      { init: ["crash-looping"], apps: run },
      RUNNING,
    ],
    "that never started beside running app containers": [
      { init: ["waiting"], apps: run, initialized: true },
      PENDING,
    ],
    "that still runs after the app containers ended": [
      { init: ["started"], apps: ["succeeded", "succeeded"], initialized: true },
      RUNNING,
    ],
    "that stopped does not keep a finished pod": [
      { init: ["succeeded"], apps: ["succeeded", "succeeded"] },
      finished,
    ],
    "that failed does not spoil a success": [
      { init: ["failed"], apps: ["succeeded", "succeeded"] },
      finished,
    ],
    "that crash-loops does not keep a finished pod": [
      { init: ["crash-looping"], apps: ["succeeded", "succeeded"] },
      finished,
    ],
    "that ended well does not mend a failure": [
      { init: ["succeeded"], apps: ["failed", "succeeded"] },
      ["Running", "Running", "Failed"],
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [given, expected]) => {
    expect(phases({ ...given, initContainers })).toEqual([...expected]);
  });

  test("waits for the plain init container after it", () => {
    const both = [...initContainers, aContainer("i")];
    expect(phaseOf({ initContainers: both, init: ["started", "running"], apps: ["waiting"] })).toBe(
      "Pending",
    );
  });
});

describe("a container with a restart policy of its own", () => {
  const restartsOn = (exitCode: number): Partial<Container> => ({
    restartPolicy: "Never",
    restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [exitCode] } }],
  });
  const never = aContainer("a0", { restartPolicy: "Never" });
  const cases: Record<string, readonly [Given, Phases]> = {
    "Never, that failed": [
      { containers: [never], apps: ["failed"] },
      ["Failed", "Failed", "Failed"],
    ],
    "Never, that ended well": [
      { containers: [never], apps: ["succeeded"] },
      ["Succeeded", "Succeeded", "Succeeded"],
    ],
    "Always, that failed": [
      { containers: [aContainer("a0", { restartPolicy: "Always" })], apps: ["failed"] },
      RUNNING,
    ],
    "OnFailure, that ended well": [
      { containers: [aContainer("a0", { restartPolicy: "OnFailure" })], apps: ["succeeded"] },
      ["Succeeded", "Succeeded", "Succeeded"],
    ],
    "a rule that matches its exit code": [
      { containers: [aContainer("a0", restartsOn(1))], apps: ["failed"] },
      RUNNING,
    ],
    "a rule that matches and a back-off that goes on": [
      { containers: [aContainer("a0", restartsOn(1))], apps: ["crash-looping"] },
      RUNNING,
    ],
    "a rule that does not match": [
      { containers: [aContainer("a0", restartsOn(42))], apps: ["failed"] },
      ["Failed", "Failed", "Failed"],
    ],
    "a rule even for a good end": [
      { containers: [aContainer("a0", restartsOn(0))], apps: ["succeeded"] },
      RUNNING,
    ],
    "Never, that failed beside one that starts again": [
      { containers: [never, aContainer("a1", restartsOn(1))], apps: ["failed", "failed"] },
      RUNNING,
    ],
    "Never, as an init container that failed": [
      {
        initContainers: [aContainer("i0", { restartPolicy: "Never" })],
        init: ["failed"],
        apps: ["waiting"],
      },
      ["Failed", "Failed", "Failed"],
    ],
    "a rule, as an init container that failed with that code": [
      { initContainers: [aContainer("i0", restartsOn(1))], init: ["failed"], apps: ["waiting"] },
      PENDING,
    ],
    "a rule, as an init container that failed otherwise": [
      {
        initContainers: [aContainer("i0", restartsOn(42))],
        init: ["crash-looping"],
        apps: ["waiting"],
      },
      ["Failed", "Failed", "Failed"],
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [given, expected]) => {
    expect(phases(given)).toEqual([...expected]);
  });
});

describe("a container that the node ended to put another in its place", () => {
  const facts = { replaced: ["dead"] };
  test("has not finished its pod, however it ended", () => {
    expect(phases({ apps: ["succeeded"], facts })).toEqual([...RUNNING]);
    expect(phases({ apps: ["failed"], facts })).toEqual([...RUNNING]);
  });
});
