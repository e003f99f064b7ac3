import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { editDistance, nearestField } from "../../../src/lib/nearest-field.ts";

const KNOWN = { "": ["maxPods", "mqtt", "socket"], mqtt: ["url", "keepAliveSeconds", "socket"] };

describe("nearestField", () => {
  test.each([
    ["maxpods", "", "maxPods"],
    ["urll", "mqtt", "url"],
    ["keepAliveSecond", "", "mqtt.keepAliveSeconds"],
    ["maxPod", "mqtt", "maxPods"],
    ["sockets", "mqtt", "socket"],
    ["sockets", "", "socket"],
  ])("takes %p under %p for %p", (written, parent, nearest) => {
    expect(nearestField(written, parent, KNOWN)).toBe(nearest);
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

  test("is exact up to what was asked for, and said to be more beyond that", () => {
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
