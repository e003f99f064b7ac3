import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ObservedContainer, ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { allContainers, isSidecar, type Pod } from "../../../src/api/v1/pod.ts";
import { computePodActions, neverAgain } from "../../../src/runtime/decide/compute-pod-actions.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { PodModel } from "./actions-model.ts";
import { CALM, PROBE } from "./actions-table.ts";
import type { Container } from "../../../src/api/v1/container.ts";

const policy = fc.constantFrom("Always", "OnFailure", "Never" as const);
const own = fc.option(policy, { nil: undefined });
const rules = fc.constantFrom<Container["restartPolicyRules"]>(
  [],
  [],
  [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
  [{ action: "Restart", exitCodes: { operator: "NotIn", values: [0, 42] } }],
);
const probes = fc.record({ startup: fc.boolean(), liveness: fc.boolean() });

function containers(prefix: string, size: { minLength: number; maxLength: number }) {
  const one = fc.record({ own, rules, probes });
  return fc.array(one, size).map((list) =>
    list.map(({ own: restartPolicy, rules: restartPolicyRules, probes: asked }, index) => {
      const mayAsk = prefix !== "i" || restartPolicy === "Always";
      return aContainer(`${prefix}${index}`, {
        ...(restartPolicy === undefined ? {} : { restartPolicy, restartPolicyRules }),
        ...(mayAsk && asked.startup ? { startupProbe: PROBE } : {}),
        ...(mayAsk && asked.liveness ? { livenessProbe: PROBE } : {}),
      });
    }),
  );
}

/** Any pod: init containers and sidecars in any order, policies and rules of their own. */
const pods: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: policy,
    hostNetwork: fc.boolean(),
    initContainers: containers("i", { minLength: 0, maxLength: 3 }),
    containers: containers("a", { minLength: 1, maxLength: 2 }),
  })
  .map((spec) => aPod(spec));

const dice = fc.array(fc.nat(23), { maxLength: 120 });

/** Lives until no dice are left and then some; the model throws as soon as something is out of order. */
function liveThrough(model: PodModel): void {
  for (let round = 0; model.hasDice && round < 200; round += 1) {
    model.sync();
    model.live();
  }
}

/** Until nothing is left to do, not even to wait. */
function settle(model: PodModel, context: Parameters<PodModel["sync"]>[0] = {}): void {
  for (let round = 0; round < 60; round += 1) {
    const actions = model.sync(context);
    model.live();
    if (actions.length === 0 && model.decide(context).length === 0) return;
  }
  throw new Error(`no fixed point after\n${model.story.slice(-12).join("\n")}`);
}

describe("a pod whose actions are performed", () => {
  test("reaches a fixed point, in order all the way, and is what its spec asks for", () => {
    fc.assert(
      fc.property(pods, dice, (pod, rolled) => {
        const model = new PodModel(pod, rolled);
        liveThrough(model);
        settle(model);
        if (model.isOver || neverAgain(pod, model.observed, {})) {
          if (model.isOver) expect(model.alive).toEqual([]);
          if (model.isOver) expect(model.sandboxes.filter((s) => s.state === "Ready")).toEqual([]);
          return;
        }
        expect(model.sandboxes.filter(({ state }) => state === "Ready")).toHaveLength(1);
        for (const container of allContainers(pod.spec)) {
          const isInit = pod.spec.initContainers.includes(container);
          const isPlain = isInit && !isSidecar(pod.spec, container);
          const may = isPlain ? ["Exited"] : isInit ? ["Running"] : ["Running", "Exited"];
          expect(may).toContain(model.state(container.name) ?? "absent");
        }
      }),
      { numRuns: 1_500, includeErrorInReport: true },
    );
  });

  test("ends, once it has failed as a whole, and starts nothing", () => {
    fc.assert(
      fc.property(pods, dice, (pod, rolled) => {
        const model = new PodModel(pod, rolled);
        for (let round = 0; round < 6; round += 1) {
          model.sync();
          model.live();
        }
        const failed = { failed: "DeadlineExceeded" } as const;
        for (let round = 0; round < 20; round += 1)
          expect(model.sync(failed).filter(({ type }) => type === "StartContainer")).toEqual([]);
        expect(model.alive).toEqual([]);
        expect(model.decide(failed)).toEqual([]);
      }),
      { numRuns: 300, includeErrorInReport: true },
    );
  });
});

describe("a decision", () => {
  test("is empty when the runtime shows what the spec asks for", () => {
    const facts = fc.record({
      attempt: fc.nat(4),
      lost: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      hash: fc.constantFrom("v1:00", "v2:99", ""),
      configDigest: fc.constantFrom("v1:key:0", "v1:other:1", "v2:key:1", ""),
      time: fc.nat(9_000_000),
    });
    fc.assert(
      fc.property(pods, facts, (pod, wanted) => {
        const observed = asWanted(pod, wanted);
        const names = allContainers(pod.spec).map(({ name }) => name);
        const hashes = Object.fromEntries(names.map((name) => [name, "v1:00"]));
        const said = Object.fromEntries(
          observed.containers.map(({ id }) => [id, { liveness: "Success", startup: "Success" }]),
        ) as typeof CALM.probes;
        const configDigests = Object.fromEntries(names.map((name) => [name, "v1:key:0"]));
        const context = { ...CALM, now: wanted.time, hashes, configDigests, probes: said };
        expect(computePodActions(pod, observed, context)).toEqual([]);
      }),
      { numRuns: 500, includeErrorInReport: true },
    );
  });

  test("does not depend on what any clock has written", () => {
    const times = fc.array(fc.integer({ min: -9e15, max: 9e15 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(pods, worlds, times, (pod, observed, list) => {
        let next = 0;
        const time = (): number => list[next++ % list.length] ?? 0;
        const shuffled: ObservedPod = {
          ...observed,
          observedAt: time(),
          sandboxes: observed.sandboxes.map((one) => ({ ...one, createdAt: time() })),
          containers: observed.containers.map((one) => ({
            ...one,
            createdAt: time(),
            startedAt: time(),
            finishedAt: time(),
          })),
        };
        const decided = computePodActions(pod, observed, CALM);
        expect(computePodActions(pod, shuffled, CALM)).toEqual([...decided]);
      }),
      { numRuns: 500, includeErrorInReport: true },
    );
  });

  test("leads from any world to a fixed point, without a second instance of anything", () => {
    fc.assert(
      fc.property(pods, worlds, (pod, observed) => {
        const model = new PodModel(pod, []);
        model.sandboxes = [...observed.sandboxes];
        model.containers = [...observed.containers];
        model.trustHistory();
        settle(model);
        for (const { name } of allContainers(pod.spec))
          expect(model.alive.filter((one) => one.name === name).length).toBeLessThan(2);
      }),
      { numRuns: 1_000, includeErrorInReport: true },
    );
  });
});

interface Wanted {
  readonly attempt: number;
  /** Whether the record of a plain init container is gone. */
  readonly lost: readonly boolean[];
  readonly hash: string;
  readonly configDigest: string;
  readonly time: number;
}

/** What a pod looks like that needs nothing; its earlier sandbox and instances lie about. */
function asWanted(pod: Pod, { attempt, lost, time, ...written }: Wanted): ObservedPod {
  const { spec } = pod;
  const { hostNetwork } = spec;
  const old = aSandbox({ attempt, state: "NotReady", ips: [] });
  const own = aSandbox({ attempt: attempt + 1, hostNetwork, ...(hostNetwork ? { ips: [] } : {}) });
  const now = allContainers(spec).flatMap((container, index): ObservedContainer[] => {
    const isPlain = index < spec.initContainers.length && !isSidecar(spec, container);
    const place = { sandboxId: own.id, attempt: attempt + 1, createdAt: time, ...written };
    if (!isPlain) return [anInstance(container.name, place)];
    if (lost[index] === true) return [];
    return [anInstance(container.name, { ...place, state: "Exited", exitCode: 0 })];
  });
  const before = allContainers(spec).map(({ name }) =>
    anInstance(name, { attempt, sandboxId: old.id, state: "Exited", exitCode: 255, ...written }),
  );
  return anObservedPod([old, own], [...before, ...now]);
}

/** Any world, however it came about: what lies in a newer sandbox has a higher attempt, as everywhere. */
const worlds: fc.Arbitrary<ObservedPod> = fc
  .record({
    sandboxes: fc.array(
      fc.record({
        state: fc.constantFrom("Ready", "NotReady" as const),
        ips: fc.constantFrom<readonly string[]>([], ["10.88.0.2"]),
        hostNetwork: fc.boolean(),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    instances: fc.array(
      fc.record({
        name: fc.constantFrom("i0", "i1", "i2", "a0", "a1", "old"),
        sandbox: fc.nat(2),
        state: fc.constantFrom("Created", "Running", "Exited", "Unknown" as const),
        exitCode: fc.constantFrom(0, 1, 42, 137),
      }),
      { maxLength: 8 },
    ),
  })
  .map(({ sandboxes, instances }) => {
    const up = sandboxes.map((one, attempt) => aSandbox({ ...one, attempt }));
    const placed = instances
      .filter(({ sandbox }) => sandbox < up.length)
      .toSorted((x, y) => x.sandbox - y.sandbox)
      .map(({ sandbox, ...one }, attempt) =>
        anInstance(one.name, { ...one, attempt, sandboxId: `sandbox-${sandbox}` }),
      );
    return anObservedPod(up, placed);
  });
