import { expect, test } from "bun:test";
import fc from "fast-check";

import { canonicalJson, parseJson, withoutUndefined } from "../../../src/lib/json.ts";

test("JSON comes back as it was written, and any other text is undefined", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(parseJson(text)).toEqual(JSON.parse(text));
      expect(parseJson(`${text}}`)).toBeUndefined();
    }),
  );
  for (const text of ["", "{", "nul"]) expect(parseJson(text)).toBeUndefined();
});

test("members that are undefined are left out, all others stay", () => {
  const kept = withoutUndefined({ a: 0, b: undefined, c: "", d: null, e: false });
  expect(Object.entries(kept)).toEqual([
    ["a", 0],
    ["c", ""],
    ["d", null],
    ["e", false],
  ]);
});

test("keys are sorted by UTF-16 code units, at every level", () => {
  const value = { b: [{ d: 1, c: 2 }], "\uD83D\uDE00": 1, "\uFB33": 2, a: undefined, A: null };
  expect(canonicalJson(value)).toBe('{"A":null,"b":[{"c":2,"d":1}],"\uD83D\uDE00":1,"\uFB33":2}');
});

test("numbers have one spelling", () => {
  expect(canonicalJson([1.0, 1e3, -0, 1e21, 0.1, Number.NaN])).toBe("[1,1000,0,1e+21,0.1,null]");
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, one]) => [key, reversed(one)]),
  );
}

test("is equal to JSON, whatever the key order", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
    }),
  );
});
