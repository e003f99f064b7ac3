import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DesiredPod, SourceName } from "../../../../src/api/pod/desired-pod.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import {
  byTier,
  comparePrecedence,
  compareTiers,
  mayPreempt,
} from "../../../../src/source/admission/preemption-order.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";

const SOURCES: readonly SourceName[] = ["file", "http", "mqtt:node", "mqtt:group/all"];

function pod(source: SourceName, spec: Partial<PodSpec> = {}): DesiredPod {
  return aDesiredPod(aPod({ containers: [aContainer("a")], ...spec }), { source });
}

const NODE_CRITICAL = { priorityClassName: "system-node-critical" };
const CLUSTER_CRITICAL = { priorityClassName: "system-cluster-critical" };

/** The table of docs/decisions/0067-priority.md, from the first tier to the last. */
const TIERS: readonly (readonly DesiredPod[])[] = [
  [pod("file", NODE_CRITICAL), pod("http", { priority: 2_000_001_000 })],
  [pod("file", CLUSTER_CRITICAL), pod("file", { priority: 2_000_000_000 })],
  [
    pod("file"),
    pod("http"),
    pod("file", { priority: 1_000_000_000 }),
    pod("file", { priority: -5 }),
  ],
  [pod("mqtt:node", NODE_CRITICAL), pod("mqtt:group/all", { priority: 2_000_001_000 })],
  [pod("mqtt:node", CLUSTER_CRITICAL)],
  [pod("mqtt:node"), pod("mqtt:group/all", { priority: 1_000_000_000 })],
];

describe("the tiers", () => {
  test("are in order, and pods of one tier push out none of each other", () => {
    for (const [index, tier] of TIERS.entries())
      for (const [other, pods] of TIERS.entries())
        for (const one of tier)
          for (const two of pods)
            expect(Math.sign(compareTiers(one, two))).toBe(Math.sign(index - other));
  });

  test("but the last one may push out others", () => {
    expect(TIERS.map((tier) => tier.map((one) => mayPreempt(one, [])))).toEqual(
      TIERS.map((tier, index) => tier.map(() => index < TIERS.length - 1)),
    );
  });

  test("and all that are listed push out what lingers of their kind", () => {
    const lingering = { ...pod("mqtt:node", NODE_CRITICAL), lingers: true };
    for (const one of TIERS.flat())
      expect([compareTiers(one, lingering), mayPreempt(one, [lingering])]).toEqual([-1, true]);
    const old = { ...pod("mqtt:node"), lingers: true };
    expect(mayPreempt(old, [old])).toBe(false);
    const ofFile = { ...pod("file"), lingers: true };
    expect(compareTiers(pod("mqtt:node", NODE_CRITICAL), ofFile)).toBe(1);
  });

  test("are told apart in any order of pods", () => {
    const all = TIERS.flat();
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        const found = byTier(shuffled);
        expect(found.map((tier) => new Set(tier))).toEqual(TIERS.map((tier) => new Set(tier)));
        for (const tier of found)
          expect(tier).toEqual(shuffled.filter((one) => tier.includes(one)));
      }),
    );
  });
});

describe("who stays longest", () => {
  const requests = { cpu: "1", memory: "1Mi" };
  const asking = (limits: object): Partial<PodSpec> => ({
    containers: [aContainer("a", { resources: { requests, limits: { ...limits } } })],
  });
  const inOrder = [
    pod("mqtt:node", CLUSTER_CRITICAL),
    pod("mqtt:group/all", { priorityClassName: "high" }),
    pod("mqtt:group/all", { priority: 5 }),
    pod("mqtt:group/all", asking(requests)),
    pod("mqtt:node", asking({})),
    pod("mqtt:node"),
    pod("mqtt:node", { ...asking(requests), priority: -1 }),
  ];

  test("is decided by tier, priority and QoS class", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(inOrder, { minLength: inOrder.length }), (shuffled) => {
        expect(shuffled.toSorted(comparePrecedence({ high: 1000 }))).toEqual(inOrder);
      }),
    );
  });

  test("is undecided among equals, whatever their source", () => {
    for (const source of SOURCES.filter((one) => one.startsWith("mqtt")))
      expect(comparePrecedence({})(pod(source), pod("mqtt:node"))).toBe(0);
  });
});
