import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ImageHold } from "../../../../src/image/gc/image-holds.ts";
import {
  bytesToFree,
  bytesToLowMark,
  planImageGC,
  usedPercent,
  type ImageCandidate,
} from "../../../../src/image/gc/plan-image-gc.ts";

const POLICY = { highPercent: 85, lowPercent: 80, minAgeMs: 100, maxAgeMs: 0 };
const HELD: ImageHold = { why: "Pod", by: ["default/web"] };
const ALL = Number.POSITIVE_INFINITY;

function candidate(
  id: string,
  of: Partial<ImageCandidate & { size: number }> = {},
): ImageCandidate {
  const { idleMs = 1000, hold, size = 10 } = of;
  const image = { id, tags: [id], digests: [], sizeBytes: size, isPinned: false };
  return { image, idleMs, hold };
}

function removed(candidates: readonly ImageCandidate[], toFree: number, policy = POLICY): string[] {
  return planImageGC(candidates, toFree, policy).remove.map(({ id }) => id);
}

describe("the marks", () => {
  test.each([
    ["below the high mark nothing is freed", { capacityBytes: 1000, availableBytes: 160 }, 0],
    ["a begun percent counts whole", { capacityBytes: 1000, availableBytes: 159 }, 41],
    [
      "at the high mark as much as the low one asks for",
      { capacityBytes: 1000, availableBytes: 150 },
      50,
    ],
    ["on a full disk", { capacityBytes: 1000, availableBytes: 0 }, 200],
    ["a file system without a size is not full", { capacityBytes: 0, availableBytes: 0 }, 0],
  ])("%s", (_name, space, bytes) => {
    expect(bytesToFree(space, POLICY)).toBe(bytes);
  });

  test("a high mark of 100 percent is never reached", () => {
    const full = { capacityBytes: 1000, availableBytes: 0 };
    expect(bytesToFree(full, { ...POLICY, highPercent: 100 })).toBe(0);
  });

  test("what is freed down to the low mark is below the high one", () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), (capacityBytes, available) => {
        const availableBytes = Math.min(available, capacityBytes);
        const missing = bytesToFree({ capacityBytes, availableBytes }, POLICY);
        const after = { capacityBytes, availableBytes: availableBytes + missing };
        expect(usedPercent(after)).toBeLessThanOrEqual(85);
        if (missing > 0) expect(bytesToLowMark(after, POLICY)).toBe(0);
      }),
    );
  });
});

describe("which images go", () => {
  test("the least recently used first, until enough is free", () => {
    const all = [candidate("b", { idleMs: 200 }), candidate("a", { idleMs: 300 }), candidate("c")];
    expect(removed(all, 15)).toEqual(["c", "a"]);
  });

  test("of equals the larger one first", () => {
    expect(removed([candidate("a"), candidate("b", { size: 20 })], 1)).toEqual(["b"]);
  });

  test("what is held stays, however much is missing", () => {
    expect(removed([candidate("a", { hold: HELD }), candidate("b")], 1e9)).toEqual(["b"]);
  });

  test("what has not been unused for the minimum age stays, unless everything is asked for", () => {
    const all = [candidate("new", { idleMs: 99 }), candidate("old", { idleMs: 100 })];
    expect(removed(all, 1e9)).toEqual(["old"]);
    expect(removed(all, ALL)).toEqual(["old", "new"]);
  });

  test("what is over the maximum age goes though the disk is empty", () => {
    const all = [candidate("a", { idleMs: 501 }), candidate("b", { idleMs: 500 })];
    expect(removed(all, 0, { ...POLICY, maxAgeMs: 500 })).toEqual(["a"]);
  });
});

describe("of any images", () => {
  const one = fc.record({
    idleMs: fc.nat(1000),
    size: fc.nat(50),
    hold: fc.constantFrom(undefined, undefined, HELD),
  });
  const candidates = fc
    .array(one, { maxLength: 12 })
    .map((all) => all.map((each, index) => candidate(`i${index}`, each)));
  const policies = fc.record({ minAgeMs: fc.nat(1000), maxAgeMs: fc.constantFrom(0, 300, 800) });
  const amounts = fc.oneof(fc.nat(400), fc.constant(ALL));

  test("nothing that is held goes, nor more than is needed, in the order of use", () => {
    fc.assert(
      fc.property(candidates, amounts, policies, (all, toFree, policy) => {
        const { remove } = planImageGC(all, toFree, policy);
        const of = new Map(all.map((each) => [each.image.id, each]));
        const found = remove.map(({ id }) => of.get(id)!);
        expect(found.every(({ hold }) => hold === undefined)).toBe(true);
        const idle = found.map(({ idleMs }) => idleMs);
        expect(idle).toEqual(idle.toSorted((a, b) => b - a));
        const before = found.slice(0, -1).reduce((sum, { image }) => sum + image.sizeBytes, 0);
        const last = found.at(-1);
        const isOver = policy.maxAgeMs > 0 && (last?.idleMs ?? 0) > policy.maxAgeMs;
        if (last !== undefined && !isOver) expect(before).toBeLessThan(toFree);
        // What stays and was used less recently than one that goes is held.
        for (const each of all) {
          const goes = remove.includes(each.image);
          if (!goes && each.hold === undefined && last !== undefined)
            expect(each.idleMs).toBeLessThanOrEqual(last.idleMs);
        }
      }),
    );
  });

  test("it is enough, or nothing else may go", () => {
    fc.assert(
      fc.property(candidates, amounts, policies, (all, toFree, policy) => {
        const { remove, bytes } = planImageGC(all, toFree, policy);
        if (bytes >= toFree) return;
        const left = all.filter(({ image, hold }) => hold === undefined && !remove.includes(image));
        for (const each of left) {
          expect(toFree).not.toBe(ALL);
          expect(each.idleMs).toBeLessThan(policy.minAgeMs);
        }
      }),
    );
  });

  test("after it was performed there is nothing left to do", () => {
    fc.assert(
      fc.property(candidates, amounts, policies, (all, toFree, policy) => {
        const { remove, bytes } = planImageGC(all, toFree, policy);
        const left = all.filter(({ image }) => !remove.includes(image));
        const missing = toFree === ALL ? ALL : Math.max(0, toFree - bytes);
        expect(planImageGC(left, missing, policy).remove).toEqual([]);
      }),
    );
  });

  test("who asks for more gets the same and more", () => {
    fc.assert(
      fc.property(candidates, fc.nat(400), fc.nat(400), policies, (all, first, more, policy) => {
        const less = planImageGC(all, first, policy).remove;
        const most = planImageGC(all, first + more, policy).remove;
        expect(most.slice(0, less.length)).toEqual([...less]);
      }),
    );
  });
});
