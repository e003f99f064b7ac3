import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedContainer, ObservedPod } from "../../../src/api/observed-pod.ts";
import type { Pod, PodSpec } from "../../../src/api/pod.ts";
import {
  computePodActions,
  type ActionContext,
  type PodAction,
} from "../../../src/runtime/actions.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

interface Case {
  readonly pod?: Partial<PodSpec>;
  readonly observed: ObservedPod | undefined;
  readonly context?: Partial<ActionContext>;
  readonly expect: readonly PodAction[];
}

const start = (container: string, attempt: number): PodAction => ({
  type: "StartContainer",
  container,
  attempt,
});
const two = { containers: [aContainer("a"), aContainer("b")] };
const down = aSandbox({ state: "NotReady", ips: [] });

function exited(exitCode: number, more: Partial<ObservedContainer> = {}): ObservedContainer {
  return anInstance("a", { state: "Exited", exitCode, ...more });
}

/** Back-off of 40 s, exit seen at 5,000 ms. */
const waiting = (id: string): ActionContext["restarts"] => ({
  a: { backoff: { delay: 40_000, at: 0 }, exit: { id, seenAt: 5_000 } },
});

const cases: Record<string, Case> = {
  "creates a sandbox and every container of a new pod": {
    pod: two,
    observed: undefined,
    expect: [{ type: "CreateSandbox", attempt: 0 }, start("a", 0), start("b", 0)],
  },
  "does nothing for a pod that runs as wanted": {
    observed: anObservedPod([aSandbox()], [anInstance("a")]),
    expect: [],
  },
  "starts only the container that is missing": {
    pod: two,
    observed: anObservedPod([aSandbox()], [anInstance("a")]),
    expect: [start("b", 0)],
  },
  "restarts an exited container if restartPolicy is Always": {
    observed: anObservedPod([aSandbox()], [exited(0)]),
    expect: [start("a", 1)],
  },
  "restarts a failed container if restartPolicy is OnFailure": {
    pod: { restartPolicy: "OnFailure" },
    observed: anObservedPod([aSandbox()], [exited(3)]),
    expect: [start("a", 1)],
  },
  "lets a succeeded container rest if restartPolicy is OnFailure, and releases the sandbox": {
    pod: { restartPolicy: "OnFailure" },
    observed: anObservedPod([aSandbox()], [exited(0)]),
    expect: [{ type: "StopSandbox", id: "sandbox-0", reason: "Finished" }],
  },
  "releases the sandbox of a Never pod that has finished, whatever its exit code": {
    pod: { restartPolicy: "Never" },
    observed: anObservedPod([aSandbox()], [exited(1)]),
    expect: [{ type: "StopSandbox", id: "sandbox-0", reason: "Finished" }],
  },
  "does nothing for a Never pod that has finished and released its sandbox": {
    pod: { restartPolicy: "Never" },
    observed: anObservedPod([down], [exited(0)]),
    expect: [],
  },
  "does nothing for an OnFailure pod that succeeded before a reboot": {
    pod: { restartPolicy: "OnFailure" },
    observed: anObservedPod([down], [exited(0)]),
    expect: [],
  },
  "keeps the sandbox of a Never pod while one container still runs": {
    pod: { ...two, restartPolicy: "Never" },
    observed: anObservedPod([aSandbox()], [exited(0), anInstance("b")]),
    expect: [],
  },
  "waits out the back-off of a crashing container": {
    observed: anObservedPod([aSandbox()], [exited(1, { attempt: 3 })]),
    context: { now: 10_000, restarts: waiting("a-3") },
    expect: [{ type: "Wait", container: "a", until: 45_000, reason: "CrashLoopBackOff" }],
  },
  "restarts when the back-off has passed": {
    observed: anObservedPod([aSandbox()], [exited(1, { attempt: 3 })]),
    context: { now: 45_000, restarts: waiting("a-3") },
    expect: [start("a", 4)],
  },
  "restarts at once after an exit that the back-off does not speak of": {
    observed: anObservedPod([aSandbox()], [exited(1, { attempt: 4 })]),
    context: { now: 10_000, restarts: waiting("a-3") },
    expect: [start("a", 5)],
  },
  "a container in back-off does not hold up the others": {
    pod: two,
    observed: anObservedPod([aSandbox()], [exited(1, { attempt: 3 })]),
    context: { now: 10_000, restarts: waiting("a-3") },
    expect: [
      { type: "Wait", container: "a", until: 45_000, reason: "CrashLoopBackOff" },
      start("b", 0),
    ],
  },
  "replaces a dead sandbox: next attempt, containers counted on, no back-off": {
    observed: anObservedPod([down], [exited(255, { attempt: 2 })]),
    context: { now: 10_000, restarts: waiting("a-2") },
    expect: [{ type: "CreateSandbox", attempt: 1 }, start("a", 3)],
  },
  "stops a dead sandbox in which a container still shows as running": {
    observed: anObservedPod([down], [anInstance("a")]),
    expect: [
      { type: "StopSandbox", id: "sandbox-0", reason: "SandboxChanged" },
      { type: "CreateSandbox", attempt: 1 },
      start("a", 1),
    ],
  },
  "replaces a sandbox that lost its address": {
    observed: anObservedPod([aSandbox({ ips: [] })], [anInstance("a")]),
    expect: [
      { type: "StopSandbox", id: "sandbox-0", reason: "SandboxChanged" },
      { type: "CreateSandbox", attempt: 1 },
      start("a", 1),
    ],
  },
  "needs no address with hostNetwork": {
    pod: { hostNetwork: true },
    observed: anObservedPod([aSandbox({ ips: [], hostNetwork: true })], [anInstance("a")]),
    expect: [],
  },
  "replaces a sandbox whose network mode is another": {
    pod: { hostNetwork: true },
    observed: anObservedPod([aSandbox()], [anInstance("a")]),
    expect: [
      { type: "StopSandbox", id: "sandbox-0", reason: "SandboxChanged" },
      { type: "CreateSandbox", attempt: 1 },
      start("a", 1),
    ],
  },
  "does not give a Never pod that ran a second sandbox": {
    pod: { ...two, restartPolicy: "Never" },
    observed: anObservedPod([down], [exited(255)]),
    expect: [],
  },
  "gives a Never pod whose first sandbox died before anything ran another one": {
    pod: { restartPolicy: "Never" },
    observed: anObservedPod([down], []),
    expect: [{ type: "CreateSandbox", attempt: 1 }, start("a", 0)],
  },
  "starts only what is not finished in the new sandbox of an OnFailure pod": {
    pod: { ...two, restartPolicy: "OnFailure" },
    observed: anObservedPod([down], [exited(0), anInstance("b", { state: "Exited", exitCode: 1 })]),
    expect: [{ type: "CreateSandbox", attempt: 1 }, start("b", 1)],
  },
  "takes the highest attempt for the newest, even if its clock was wrong": {
    observed: anObservedPod(
      [aSandbox({ attempt: 1, createdAt: 5 }), aSandbox({ state: "NotReady", createdAt: 9_000 })],
      [
        anInstance("a", { attempt: 1, sandboxId: "sandbox-1", createdAt: 5 }),
        exited(1, { createdAt: 9_000 }),
      ],
    ),
    expect: [],
  },
  "stops an older sandbox that is still up beside the newest": {
    observed: anObservedPod(
      [aSandbox({ attempt: 1 }), aSandbox()],
      [anInstance("a", { attempt: 1, sandboxId: "sandbox-1" })],
    ),
    expect: [{ type: "StopSandbox", id: "sandbox-0", reason: "Duplicate" }],
  },
  "does not start a container while an instance runs in an older sandbox": {
    observed: anObservedPod([aSandbox({ attempt: 1 }), aSandbox()], [anInstance("a")]),
    expect: [{ type: "StopSandbox", id: "sandbox-0", reason: "Duplicate" }],
  },
  "removes a container that was created and never started, and reuses its number": {
    observed: anObservedPod([aSandbox()], [anInstance("a", { state: "Created", attempt: 2 })]),
    expect: [{ type: "RemoveContainer", id: "a-2", container: "a" }, start("a", 2)],
  },
  "kills an older instance that runs beside the newest": {
    observed: anObservedPod([aSandbox()], [anInstance("a", { attempt: 1 }), anInstance("a")]),
    expect: [{ type: "KillContainer", id: "a-0", container: "a", reason: "Duplicate" }],
  },
  "kills a running container that the spec does not have": {
    observed: anObservedPod([aSandbox()], [anInstance("a"), anInstance("old")]),
    expect: [{ type: "KillContainer", id: "old-0", container: "old", reason: "NotInSpec" }],
  },
  "kills and restarts a container in a state the runtime does not know": {
    observed: anObservedPod([aSandbox()], [anInstance("a", { state: "Unknown" })]),
    expect: [
      { type: "KillContainer", id: "a-0", container: "a", reason: "ContainerUnknown" },
      start("a", 1),
    ],
  },
  "kills but does not restart an unknown container of a Never pod": {
    pod: { restartPolicy: "Never" },
    observed: anObservedPod([aSandbox()], [anInstance("a", { state: "Unknown" })]),
    expect: [{ type: "KillContainer", id: "a-0", container: "a", reason: "ContainerUnknown" }],
  },
};

describe("computePodActions", () => {
  test.each(Object.entries(cases))("%s", (_, { pod, observed, context, expect: expected }) => {
    const actions = computePodActions(aPod(pod), observed, { now: 0, restarts: {}, ...context });
    expect(actions).toEqual([...expected]);
  });

  test("a model that performs the actions reaches a fixed point", () => {
    fc.assert(
      fc.property(worlds(), ({ pod, observed }) => {
        let world: ObservedPod | undefined = observed;
        for (let round = 0; round < 8; round += 1) {
          const actions = computePodActions(pod, world, { now: 0, restarts: {} });
          if (actions.length === 0) return;
          world = perform(world, actions);
        }
        expect(computePodActions(pod, world, { now: 0, restarts: {} })).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("never starts a container of which an instance runs", () => {
    fc.assert(
      fc.property(worlds(), ({ pod, observed }) => {
        const actions = computePodActions(pod, observed, { now: 0, restarts: {} });
        for (const action of actions) {
          if (action.type !== "StartContainer") continue;
          const stopped = new Set(actions.flatMap((one) => ("id" in one ? [one.id] : [])));
          for (const container of observed?.containers ?? []) {
            if (container.name !== action.container || container.state !== "Running") continue;
            expect(stopped.has(container.id) || stopped.has(container.sandboxId)).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

function worlds(): fc.Arbitrary<{ pod: Pod; observed: ObservedPod | undefined }> {
  const state = fc.constantFrom("Created", "Running", "Exited", "Unknown" as const);
  const instance = fc.record({
    name: fc.constantFrom("a", "b"),
    attempt: fc.nat(3),
    sandbox: fc.nat(2),
    state,
    exitCode: fc.constantFrom(0, 1, 137),
  });
  const sandbox = fc.record({
    attempt: fc.nat(2),
    state: fc.constantFrom("Ready", "NotReady" as const),
    ips: fc.constantFrom<string[]>([], ["10.88.0.2"]),
  });
  return fc
    .record({
      restartPolicy: fc.constantFrom("Always", "OnFailure", "Never" as const),
      sandboxes: fc.uniqueArray(sandbox, { selector: ({ attempt }) => attempt, maxLength: 3 }),
      instances: fc.uniqueArray(instance, {
        selector: ({ name, attempt }) => `${name}-${attempt}`,
        maxLength: 6,
      }),
    })
    .map(({ restartPolicy, sandboxes, instances }) => {
      const up = sandboxes.map((one) => aSandbox(one));
      const containers = instances
        .filter((one) => up.some(({ attempt }) => attempt === one.sandbox))
        .map((one) => anInstance(one.name, { ...one, sandboxId: `sandbox-${one.sandbox}` }));
      return {
        pod: aPod({ ...two, restartPolicy }),
        observed: up.length === 0 ? undefined : anObservedPod(up, containers),
      };
    });
}

/** The runtime in twenty lines: what containerd would show after these actions. */
function perform(world: ObservedPod | undefined, actions: readonly PodAction[]): ObservedPod {
  let { sandboxes, containers } = world ?? anObservedPod([], []);
  const kill = (one: ObservedContainer): ObservedContainer => ({
    ...one,
    state: "Exited",
    exitCode: 137,
  });
  for (const action of actions) {
    switch (action.type) {
      case "StopSandbox":
        sandboxes = sandboxes.map((one) =>
          one.id === action.id ? { ...one, state: "NotReady" } : one,
        );
        containers = containers.map((one) =>
          one.sandboxId === action.id && one.state !== "Exited" && one.state !== "Created"
            ? kill(one)
            : one,
        );
        break;
      case "CreateSandbox":
        expect(sandboxes.map(({ attempt }) => attempt)).not.toContain(action.attempt);
        sandboxes = [aSandbox({ attempt: action.attempt }), ...sandboxes];
        break;
      case "KillContainer":
        containers = containers.map((one) => (one.id === action.id ? kill(one) : one));
        break;
      case "RemoveContainer":
        containers = containers.filter(({ id }) => id !== action.id);
        break;
      case "StartContainer": {
        const { container, attempt } = action;
        const same = containers.filter(({ name }) => name === container);
        expect(same.map((one) => one.attempt)).not.toContain(attempt);
        const sandboxId = sandboxes[0]?.id ?? "none";
        containers = [...containers, anInstance(container, { attempt, sandboxId })];
        break;
      }
      case "Wait":
        break;
    }
  }
  return anObservedPod(sandboxes, containers);
}
