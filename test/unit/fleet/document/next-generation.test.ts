import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  nextVersion,
  type KnownVersion,
  type VersionFacts,
} from "../../../../src/fleet/document/next-generation.ts";

const retained = (epoch: string, generation: number): KnownVersion => ({
  of: "the retained document",
  epoch,
  generation,
});
const node = (name: string, epoch: string, generation: number): KnownVersion => ({
  of: `node ${name}`,
  epoch,
  generation,
});

describe("nextVersion", () => {
  const cases: Readonly<Record<string, readonly [facts: VersionFacts, expected: object]>> = {
    "begins with 1": [
      { retained: undefined, nodes: [] },
      { ok: true, epoch: "", generation: 1 },
    ],
    "follows the retained document": [
      { retained: retained("e1", 4), nodes: [] },
      { ok: true, epoch: "e1", generation: 5 },
    ],
    "exceeds the nodes' generation when the broker lost its documents": [
      { retained: undefined, nodes: [node("a", "e1", 9), node("b", "e1", 3)] },
      { ok: true, epoch: "e1", generation: 10 },
    ],
    "takes the epoch of the nodes over the one on the broker": [
      { retained: retained("stray", 50), nodes: [node("a", "e1", 9)] },
      { ok: true, epoch: "e1", generation: 51 },
    ],
    "lets a node without an epoch take any": [
      { retained: retained("e1", 2), nodes: [node("a", "", 7), node("b", "e1", 2)] },
      { ok: true, epoch: "e1", generation: 8 },
    ],
    "does not mind the epoch of a node that has accepted nothing": [
      { retained: undefined, nodes: [node("a", "old", 0), node("b", "e1", 2)] },
      { ok: true, epoch: "e1", generation: 3 },
    ],
    "takes the epoch that was asked for, and names its predecessor": [
      { retained: retained("e1", 2), nodes: [], epoch: "e2" },
      { ok: true, epoch: "e2", generation: 1, previousEpoch: "e1" },
    ],
    "counts on in the epoch that was asked for": [
      { retained: retained("e1", 50), nodes: [node("a", "e2", 4)], epoch: "e2" },
      { ok: true, epoch: "e2", generation: 5 },
    ],
    "names no predecessor where there is none": [
      { retained: retained("", 2), nodes: [], epoch: "e2" },
      { ok: true, epoch: "e2", generation: 1 },
    ],
    "leaves nodes of two epochs to a person": [
      { retained: undefined, nodes: [node("a", "e1", 1), node("b", "e2", 1)] },
      {
        ok: false,
        why: 'node a is in epoch "e1" and node b in "e2"; choose one with --epoch, nodes of the other answer 409 until "agent trust reset"',
      },
    ],
    "ignores an implausibly high generation": [
      { retained: retained("", 3), nodes: [node("a", "", 2 ** 40 + 1)] },
      {
        ok: false,
        why: "node a reports generation 1099511627777, which is implausibly high; start a new epoch with --epoch NAME",
      },
    ],
    "believes the highest that may be": [
      { retained: retained("", 2 ** 40), nodes: [] },
      { ok: true, epoch: "", generation: 2 ** 40 + 1 },
    ],
    "has a way out of it": [
      { retained: retained("e1", Number.MAX_SAFE_INTEGER), nodes: [], epoch: "e2" },
      { ok: true, epoch: "e2", generation: 1, previousEpoch: "e1" },
    ],
    "does not believe it of the epoch that was asked for either": [
      { retained: retained("e1", Number.MAX_SAFE_INTEGER), nodes: [], epoch: "e1" },
      {
        ok: false,
        why: "the retained document reports generation 9007199254740991, which is implausibly high; start another epoch with --epoch NAME",
      },
    ],
  };

  test.each(Object.entries(cases))("%s", (_, [facts, expected]) => {
    expect(nextVersion(facts)).toEqual(expected as ReturnType<typeof nextVersion>);
  });

  test("is always newer than everything that is known", () => {
    const version = fc.record({
      of: fc.constant("node x"),
      epoch: fc.constantFrom("", "e1"),
      generation: fc.nat(),
    });
    fc.assert(
      fc.property(fc.option(version, { nil: undefined }), fc.array(version), (kept, nodes) => {
        const next = nextVersion({ retained: kept, nodes });
        expect(next.ok).toBe(true);
        for (const one of kept === undefined ? nodes : [kept, ...nodes])
          expect(next.ok && next.generation > one.generation).toBe(true);
      }),
    );
  });
});
