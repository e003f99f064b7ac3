import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { satisfiesRange } from "../../../../src/source/document/requires.ts";

const cases: readonly (readonly [version: string, range: string, expected: boolean | undefined])[] =
  [
    ["1.2.0", ">=1.2", true],
    ["1.1.9", ">=1.2", false],
    ["1.10.0", ">=1.9", true],
    ["1.2.0-rc.1", ">=1.2", false],
    ["1.2.1-rc.1", ">=1.2", true],
    ["1.2.0+build.7", ">=1.2", true],
    ["1.2.9", ">1.2", false],
    ["1.3.0", ">1.2", true],
    ["1.2.4", ">1.2.3", true],
    ["1.2.9", "<=1.2", true],
    ["1.3.0", "<=1.2", false],
    ["1.1.0", "<1.2.0", true],
    ["1.2.0", "<1.2.0", false],
    ["1.2.7", "=1.2", true],
    ["1.2.7", "1.2.7", true],
    ["1.2.8", "=1.2.7", false],
    ["1.9.0", "^1.2", true],
    ["2.0.0", "^1.2", false],
    ["0.2.9", "^0.2.3", true],
    ["0.3.0", "^0.2.3", false],
    ["0.0.4", "^0.0.3", false],
    ["0.9.0", "^0", true],
    ["1.2.9", "~1.2.3", true],
    ["1.3.0", "~1.2.3", false],
    ["1.9.0", "~1", true],
    ["1.5.0", ">=1.2 <2", true],
    ["2.0.0", ">= 1.2 < 2", false],
    ["3.1.0", "^1.2 || ^3", true],
    ["2.1.0", "^1.2 || ^3", false],
    ["1.0.0", "*", true],
    ["1.0.0", "latest", undefined],
    ["1.0.0", "", undefined],
    ["1.0.0", "^1 || soon", undefined],
    ["1.0.0", ">=1.2.3.4", undefined],
    ["unknown", ">=1", undefined],
  ];

describe("satisfiesRange", () => {
  test.each(cases)("%s against %j is %p", (version, range, expected) => {
    expect(satisfiesRange(version, range)).toBe(expected);
  });

  test("a version lies on exactly one side of another", () => {
    const version = fc.tuple(fc.nat(30), fc.nat(30), fc.nat(30)).map((parts) => parts.join("."));
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(satisfiesRange(a, `>=${b}`)).toBe(!(satisfiesRange(a, `<${b}`) ?? true));
        expect(satisfiesRange(a, `<=${b}`)).toBe(!(satisfiesRange(a, `>${b}`) ?? true));
        expect(satisfiesRange(a, `=${a}`)).toBe(true);
      }),
    );
  });
});
