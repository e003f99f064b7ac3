import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { editDistance, nearestName, suggest } from "../../../src/lib/suggest.ts";

const VOLUME = ["name", "hostPath", "emptyDir", "configMap", "fc", "persistentVolumeClaim", "nfs"];

describe("suggest", () => {
  test.each([
    ["emptydir", VOLUME, "emptyDir"],
    ["configMpa", VOLUME, "configMap"],
    ["pvc", VOLUME, "persistentVolumeClaim"],
    ["cm", VOLUME, "configMap"],
    ["Pdo", ["Pod", "Secret"], "Pod"],
    ["name", ["secretName", "items"], "secretName"],
    ["environment", ["env", "envFrom"], "env"],
    ["storage", ["cpu", "memory", "ephemeral-storage"], "ephemeral-storage"],
  ])("%s of %p is %s", (written, names, meant) => {
    expect(suggest(written, names)).toBe(meant);
  });

  test.each([
    ["something else", VOLUME],
    ["abc", VOLUME],
    ["path", ["mountPath", "subPath"]],
    ["x", ["xavier"]],
    ["n".repeat(100), ["n".repeat(99)]],
  ])("%s of %p is none", (written, names) => {
    expect(suggest(written, names)).toBeUndefined();
  });
});

describe("nearestName", () => {
  test.each([
    ["Rod", 1, "Pod"],
    ["pods", 1, "Pod"],
    ["Rad", 2, "Pod"],
  ])("%s is %p letters away from %s", (written, reach, meant) => {
    expect(nearestName(written, ["Pod", "Secret"], reach)).toBe(meant);
  });

  test.each([
    ["Rad", 1],
    ["PodMonitor", 1],
    ["SecretStore", 2],
  ])("%s is not within %p letters of anything", (written, reach) => {
    expect(nearestName(written, ["Pod", "Secret"], reach)).toBeUndefined();
  });
});

describe("editDistance", () => {
  test("is zero for equal words only, the same both ways, and at most the longer word", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(editDistance(b, a)).toBe(distance);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  test("is exact up to the given limit, and larger than the limit beyond it", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
    fc.assert(
      fc.property(word, word, fc.nat(6), (a, b, most) => {
        const distance = editDistance(a, b);
        const asked = editDistance(a, b, most);
        if (distance <= most) expect(asked).toBe(distance);
        else expect(asked).toBeGreaterThan(most);
      }),
      { numRuns: 2000 },
    );
  });
});
