import { expect, test } from "bun:test";
import fc from "fast-check";

import {
  decodeRollout,
  isWithin,
  MAX_ROLLOUT_BYTES,
  placeOf,
} from "../../../src/protocol/rollout-order.ts";
import { sha256 } from "../api/digest.ts";

const ORDER = {
  apiVersion: "agent/v1",
  kind: "Rollout",
  group: "kiosks",
  generation: 7,
  percent: 2.5,
  salt: "s",
};

function decode(value: unknown) {
  return decodeRollout(new TextEncoder().encode(JSON.stringify(value)));
}

test("a Rollout is read with its defaults", () => {
  const read = decode(ORDER);
  expect(read.ok && read.value).toMatchObject({
    group: "kiosks",
    epoch: "",
    generation: 7,
    percent: 2.5,
    match: {},
    paused: false,
  });
});

test.each([
  [{ ...ORDER, percent: 101 }, "must be a number from 0 to 100, such as 2.5"],
  [{ ...ORDER, percent: "10" }, "must be a number from 0 to 100, such as 2.5"],
  [{ ...ORDER, salt: "" }, "must not be empty"],
  [{ ...ORDER, kind: "DesiredState" }, 'kind: Unsupported value: "DesiredState"'],
  [{ ...ORDER, generation: 0 }, "must be at least 1"],
  [[ORDER], ": Invalid value"],
])("a Rollout that is wrong is refused: %j", (value, message) => {
  const read = decode(value);
  const said = read.ok ? [] : read.errors.map(({ path, message: text }) => `${path}: ${text}`);
  expect(said.join("\n")).toContain(message);
});

test("a plan of a newer version does not make a Rollout unreadable", () => {
  expect(
    decode({ ...ORDER, plan: { steps: [1], bakeSeconds: 0, maxFailures: 0, new: 1 } }).ok,
  ).toBe(true);
});

test("no bytes make it throw", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void decodeRollout(bytes)));
  expect(MAX_ROLLOUT_BYTES).toBeLessThan(48 * 1024);
});

test("the contract's own arithmetic: u32(sha256(salt + node)) mod 10000 < percent × 100", () => {
  const hash = Number.parseInt(sha256("spi-1").slice(0, 8), 16);
  const place = placeOf("pi-1", "s", sha256);
  expect(Math.round(place * 100)).toBe(hash % 10_000);
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), fc.integer({ min: 0, max: 10_000 }), (node, n) => {
      const own = Number.parseInt(sha256(`s${node}`).slice(0, 8), 16) % 10_000;
      expect(isWithin(placeOf(node, "s", sha256), n / 100)).toBe(own < n);
    }),
  );
});

test("a higher percent never drops a node, 0 has none and 100 has all", () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 20 }),
      fc.double({ min: 0, max: 100, noNaN: true }),
      fc.double({ min: 0, max: 100, noNaN: true }),
      (node, one, other) => {
        const place = placeOf(node, "s", sha256);
        const [low, high] = one < other ? [one, other] : [other, one];
        if (isWithin(place, low)) expect(isWithin(place, high)).toBe(true);
        expect(isWithin(place, 0)).toBe(false);
        expect(isWithin(place, 100)).toBe(true);
      },
    ),
  );
});
