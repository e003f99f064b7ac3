import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { editDistance, nearestField } from "../../../src/api/nearest-field.ts";

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
});
