import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import { rankPods, type RankInput } from "../../../src/eviction/rank-pods.ts";
import type { PodUsage } from "../../../src/stats/pod-usage.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

const MIB = 1024 ** 2;

interface Facts {
  readonly request?: string;
  readonly used?: number;
  readonly spec?: Partial<PodSpec>;
  readonly more?: Partial<DesiredPod>;
}

const UNSIGNED = { source: "mqtt:node" } as const;
const SIGNED = { source: "mqtt:node", signed: true } as const;
const CRITICAL = { priorityClassName: "system-node-critical" };

function pod(name: string, { request, spec = {}, more = {} }: Facts): DesiredPod {
  const requests = request === undefined ? {} : { memory: request, "ephemeral-storage": request };
  const containers = [aContainer("a", { resources: { requests, limits: {} } })];
  return aDesiredPod(aPod({ containers, ...spec }, { name, uid: name }), {
    uid: name,
    source: "file",
    ...more,
  });
}

function usage(used: number | undefined): PodUsage {
  const tree = { bytes: (used ?? 0) * MIB, inodes: used ?? 0 };
  return {
    containers: [
      {
        name: "a",
        memoryBytes: used === undefined ? undefined : used * MIB,
        writableLayer: tree,
        logs: { bytes: 0, inodes: 0 },
      },
    ],
    emptyDirs: new Map(),
    cgroupMemoryBytes: undefined,
    pids: used,
  };
}

function order(
  facts: Readonly<Record<string, Facts>>,
  resource: RankInput["resource"] = "memory",
): readonly string[] {
  const names = Object.keys(facts);
  const pods = names.map((name) => pod(name, facts[name] ?? {}));
  const usages = new Map(names.map((name) => [name, usage(facts[name]?.used)]));
  const parts = { layers: true, local: true };
  return rankPods(pods, { resource, parts, priorityClasses: { low: -10 }, usages }).map(
    ({ uid }) => uid,
  );
}

describe("a pod is evicted before another", () => {
  test("if it uses more than it requests, whatever their priorities", () => {
    const facts = {
      modest: { request: "100Mi", used: 90, spec: { priorityClassName: "low" } },
      greedy: { request: "10Mi", used: 11, spec: { priority: 1000 } },
    };
    expect(order(facts)).toEqual(["greedy", "modest"]);
  });

  test("if both exceed their requests and its priority is lower", () => {
    const facts = {
      large: { used: 500, spec: { priority: 5 } },
      small: { used: 10, spec: { priority: 4 } },
    };
    expect(order(facts)).toEqual(["small", "large"]);
  });

  test("if it exceeds its request by more", () => {
    const facts = {
      asks: { request: "400Mi", used: 450 },
      asksNothing: { used: 100 },
      asksLess: { request: "10Mi", used: 80 },
    };
    expect(order(facts)).toEqual(["asksNothing", "asksLess", "asks"]);
  });

  test("if what it uses is unknown", () => {
    expect(order({ known: { used: 1000 }, unknown: {} })).toEqual(["unknown", "known"]);
  });

  test("if it has more inodes, for which nothing can be requested", () => {
    const facts = { asks: { request: "1Gi", used: 30 }, few: { used: 20 }, many: { used: 40 } };
    expect(order(facts, "inodes")).toEqual(["many", "asks", "few"]);
  });

  test("if it has more processes, after its priority only", () => {
    const facts = {
      few: { used: 2, spec: { priority: -1 } },
      many: { used: 40 },
      more: { used: 41 },
    };
    expect(order(facts, "pids")).toEqual(["few", "more", "many"]);
  });

  test("if an unsigned document declares it, whatever else holds", () => {
    const facts = {
      file: { used: 900 },
      signed: { used: 800, more: SIGNED },
      unsigned: { request: "1Gi", used: 1, spec: { priority: 999_999_999 }, more: UNSIGNED },
    };
    expect(order(facts)).toEqual(["unsigned", "file", "signed"]);
  });
});

describe("a critical pod", () => {
  test("is not evicted", () => {
    expect(order({ file: { spec: CRITICAL }, signed: { spec: CRITICAL, more: SIGNED } })).toEqual(
      [],
    );
    expect(order({ unsigned: { spec: CRITICAL, more: UNSIGNED } })).toEqual([]);
    expect(order({ byNumber: { spec: { priority: 2_000_000_000 } } })).toEqual([]);
  });

  test("of an unsigned document goes before pods of files, after its like", () => {
    const facts = {
      file: { used: 500 },
      critical: { spec: CRITICAL, more: UNSIGNED, used: 900 },
      unsigned: { more: UNSIGNED, used: 1 },
    };
    expect(order(facts)).toEqual(["unsigned", "critical", "file"]);
  });
});

test("the order does not depend on the order in which pods are listed", () => {
  const one = fc.record({
    request: fc.option(fc.constantFrom("0", "10Mi", "20Mi"), { nil: undefined }),
    used: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
    priority: fc.integer({ min: -1, max: 1 }),
    more: fc.constantFrom({}, UNSIGNED, SIGNED),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 6 }), (facts) => {
      const named = facts.map(({ priority, request, used, more }, index) => {
        const own = { spec: { priority }, more };
        const asked = request === undefined ? {} : { request };
        return [
          `p${index}`,
          { ...own, ...asked, ...(used === undefined ? {} : { used }) },
        ] as const;
      });
      const rank = (names: typeof named): readonly string[] => order(Object.fromEntries(names));
      const ranks = new Map(rank(named).map((name, index) => [name, index]));
      const back = rank(named.toReversed());
      expect(back.toSorted()).toEqual([...ranks.keys()].toSorted());
      // Unsigned ones are always a prefix.
      const kinds = back.map((name) => Object.fromEntries(named)[name]?.more === UNSIGNED);
      expect(kinds).toEqual(kinds.toSorted((a, b) => Number(b) - Number(a)));
    }),
  );
});
