import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedContainer, ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type { ContainerStatus, PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { ProbeOutcome } from "../../../src/api/v1/probe.ts";
import type { PodFacts } from "../../../src/status/pod-facts.ts";
import { generatePodStatus } from "../../../src/status/generate-pod-status.ts";
import { isTerminal } from "../../../src/status/pod-phase.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const NAMES = ["i", "s", "a", "b"];

const policy = fc.constantFrom("Always" as const, "OnFailure" as const, "Never" as const);
const exitCode = fc.constantFrom(0, 1, 42, 137, 143);
const outcome = fc.constantFrom<ProbeOutcome>("Success", "Failure", "Unknown");

const probe = {
  handler: { type: "exec", command: ["true"] },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
} as const;

function container(name: string): fc.Arbitrary<Container> {
  return fc
    .record(
      {
        restartPolicy: policy,
        startupProbe: fc.constant(probe),
        readinessProbe: fc.constant(probe),
      },
      { requiredKeys: [] },
    )
    .chain((more) =>
      fc.subarray([0, 1, 42]).map((values) =>
        aContainer(name, {
          ...more,
          restartPolicyRules:
            more.restartPolicy === undefined || values.length === 0
              ? []
              : [{ action: "Restart", exitCodes: { operator: "In", values } }],
        }),
      ),
    );
}

const spec: fc.Arbitrary<PodSpec> = fc
  .record({
    restartPolicy: policy,
    init: fc.tuple(container("i"), container("s")),
    apps: fc.tuple(container("a"), container("b")),
    hasInit: fc.boolean(),
  })
  .map(({ restartPolicy, init: [plain, sidecar], apps, hasInit }) => {
    const initContainers = [plain, { ...sidecar, restartPolicy: "Always" as const }];
    return aPod({
      restartPolicy,
      containers: [...apps],
      initContainers: hasInit ? initContainers : [],
    }).spec;
  });

const instance: fc.Arbitrary<ObservedContainer> = fc
  .record({
    name: fc.constantFrom(...NAMES),
    attempt: fc.integer({ min: 0, max: 4 }),
    sandbox: fc.integer({ min: 0, max: 1 }),
    state: fc.constantFrom(
      "Created" as const,
      "Running" as const,
      "Exited" as const,
      "Unknown" as const,
    ),
    exitCode,
  })
  .map(({ name, attempt, sandbox, state, exitCode: code }) =>
    anInstance(name, {
      attempt,
      state,
      sandboxId: `sandbox-${sandbox}`,
      ...(state === "Exited" ? { exitCode: code, finishedAt: 5_000 } : {}),
    }),
  );

const observed: fc.Arbitrary<ObservedPod | undefined> = fc.option(
  fc
    .record({
      states: fc.array(fc.constantFrom("Ready" as const, "NotReady" as const), { maxLength: 2 }),
      containers: fc.uniqueArray(instance, { selector: ({ id }) => id, maxLength: 8 }),
    })
    .map(({ states, containers }) =>
      anObservedPod(
        states.map((state, attempt) =>
          aSandbox({ attempt, state, ips: state === "Ready" ? ["10.88.0.2"] : [] }),
        ),
        containers,
      ),
    ),
  { nil: undefined },
);

const waiting = fc.constantFrom(
  { reason: "ImagePullBackOff" },
  { reason: "CrashLoopBackOff", message: "back-off" },
);

const facts: fc.Arbitrary<PodFacts> = fc
  .record({
    waiting: fc.dictionary(fc.constantFrom(...NAMES), waiting),
    starting: fc.subarray(NAMES),
    replaced: fc.subarray(NAMES.map((name) => `${name}-0`)),
    probes: fc.dictionary(
      fc.constantFrom(...NAMES.map((name) => `${name}-0`)),
      fc.record({ startup: outcome, readiness: outcome }, { requiredKeys: [] }),
    ),
    end: fc.constantFrom<Partial<PodFacts>>(
      {},
      {},
      {},
      { terminating: true },
      { failed: true, podReason: "DeadlineExceeded" },
    ),
  })
  .map(({ end, ...all }) => ({ ...all, ...end }));

const world = fc.record({ observed, facts });

interface World {
  readonly observed: ObservedPod | undefined;
  readonly facts: PodFacts;
}

/** One status after the other, each from what came before. */
function history(of: PodSpec, worlds: readonly World[]): readonly PodStatus[] {
  const pod = aPod(of);
  let previous: PodStatus | undefined;
  return worlds.map((given, index) => {
    const now = index * 1_000;
    previous = generatePodStatus({ pod, hostIPs: ["192.0.2.7"], ...given, previous, now });
    return previous;
  });
}

function all({ initContainerStatuses, containerStatuses }: PodStatus): readonly ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/** Whatever the runtime says, in whatever order. */
function always(
  property: (statuses: readonly PodStatus[], of: PodSpec, worlds: readonly World[]) => void,
): void {
  const worlds = fc.array(world, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(spec, worlds, (of, given) => property(history(of, given), of, given)),
    { numRuns: 300 },
  );
}

describe("whatever the runtime reports,", () => {
  test("a finished pod stays finished, with its reason", () => {
    always((statuses) => {
      const end = statuses.findIndex(({ phase }) => isTerminal(phase));
      if (end < 0) return;
      const later = statuses.slice(end);
      expect(new Set(later.map(({ phase }) => phase)).size).toBe(1);
      expect(later.every((one) => later[0]?.reason === undefined || one.reason !== undefined)).toBe(
        true,
      );
    });
  });

  test("a restart count never falls", () => {
    always((statuses) => {
      for (const name of NAMES) {
        const counts = statuses.flatMap((status) =>
          all(status)
            .filter((one) => one.name === name)
            .map(({ restartCount }) => restartCount),
        );
        expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      }
    });
  });

  test("a container waits, runs or has ended: exactly one of them", () => {
    always((statuses) => {
      for (const status of statuses)
        for (const { state, lastState } of all(status)) {
          expect(Object.keys(state)).toHaveLength(1);
          expect(Object.keys(lastState)).toBeOneOf([[], ["terminated"]]);
        }
    });
  });

  test("what is ready has started and runs, or is an init container that is done", () => {
    always((statuses, { initContainers }) => {
      const plain = new Set(
        initContainers.filter((one) => one.restartPolicy !== "Always").map(({ name }) => name),
      );
      for (const status of statuses)
        for (const one of all(status)) {
          if (one.started) expect(one.state.running).toBeDefined();
          if (!one.ready) continue;
          if (plain.has(one.name)) expect(one.state.terminated?.exitCode).toBe(0);
          else expect(one.started).toBe(true);
        }
    });
  });

  test("a pod is Ready only if it runs and every container that must be is ready", () => {
    always((statuses, { initContainers }) => {
      const plain = new Set(
        initContainers.filter((one) => one.restartPolicy !== "Always").map(({ name }) => name),
      );
      for (const status of statuses) {
        const ready = status.conditions.find(({ type }) => type === "Ready");
        const counted = all(status).filter(({ name }) => !plain.has(name));
        const expected =
          !isTerminal(status.phase) && counted.length > 0 && counted.every((one) => one.ready);
        expect(ready?.status).toBe(expected ? "True" : "False");
      }
    });
  });

  test("generating a status again yields the same", () => {
    always((statuses, of, worlds) => {
      const last = worlds.at(-1);
      const previous = statuses.at(-1);
      if (last === undefined || previous === undefined) return;
      const again = generatePodStatus({
        pod: aPod(of),
        hostIPs: ["192.0.2.7"],
        ...last,
        previous,
        now: 9_000_000,
      });
      expect(again).toEqual(previous);
    });
  });
});
