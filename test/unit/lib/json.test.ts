import { expect, test } from "bun:test";
import fc from "fast-check";

import { parseJson, withoutUndefined } from "../../../src/lib/json.ts";

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
