import { describe, expect, test } from "bun:test";
import {
  asWritten,
  expand,
  expandValue,
  missingIn,
} from "../../../../src/runtime/cri-config/expansion.ts";

const values = new Map([
  ["A", "1"],
  ["EMPTY", ""],
  ["NESTED", "$(A)"],
  ["a.b-c", "dots"],
]);

test.each([
  ["nothing", "nothing"],
  ["$(A)", "1"],
  ["x$(A)y$(A)", "x1y1"],
  ["[$(EMPTY)]", "[]"],
  ["$(a.b-c)", "dots"],
  ["$(UNKNOWN)", "$(UNKNOWN)"],
  ["$(NESTED)", "$(A)"],
  ["$A ${A}", "$A ${A}"],
  ["$$(A)", "$(A)"],
  ["$$$(A)", "$1"],
  ["$$$$(A)", "$$(A)"],
  ["cost: 5$", "cost: 5$"],
  ["$(A", "$(A"],
  ["$()", "$()"],
])("%s becomes %s", (text, expected) => {
  expect(expand(text, values)).toBe(expected);
});

const bytes = new Uint8Array([0xff, 0x00]);
const mixed = new Map<string, string | Uint8Array>([...values, ["KEY", bytes]]);

test("a value that is no text makes bytes of all around it", () => {
  expect(expandValue("ä$(KEY)$$$(A)", mixed)).toEqual(
    new Uint8Array([0xc3, 0xa4, 0xff, 0x00, 0x24, 0x31]),
  );
});

test("text stays text beside a value that is none and is not asked for", () => {
  expect(expandValue("$(A)", mixed)).toBe("1");
});

test("what must be text gets a mark in its place", () => {
  expect(expand("<$(KEY)>", mixed)).toBe("<\uFFFD\0>");
});

test.each<[string, readonly string[]]>([
  ["nothing", []],
  ["$(A)/$(A)", []],
  ["$(Z)/$(UNKNOWN)/$(Z)", ["UNKNOWN", "Z"]],
  ["$(EMPTY)", ["EMPTY"]],
  ["$$(UNKNOWN)", []],
  ["$(UNKNOWN", []],
])("in %s is missing %p", (text, missing) => {
  expect(missingIn(text, values)).toEqual([...missing]);
});

describe("a message about expanded words", () => {
  test.each<[string, string, string]>([
    ["no such file: hunter2/x", "hunter2/x", "no such file: $(W)"],
    ['exec: "a\\"bcd"', 'a"bcd', 'exec: "$(W)"'],
    ["a: abc", "abc", "a: abc"],
    ["plain: $(W)", "$(W)", "plain: $(W)"],
    ["twice hunter2 hunter2", "hunter2", "twice $(W) $(W)"],
  ])("%s", (message, expanded, shown) => {
    expect(asWritten(message, [{ written: "$(W)", expanded }])).toBe(shown);
  });

  test("the longest word goes first, and none is taken for a pattern", () => {
    const words = [
      { written: "$&", expanded: "hunter" },
      { written: "$(B)", expanded: "hunter2.*" },
    ];
    expect(asWritten("hunter2.* hunter", words)).toBe("$(B) $&");
  });
});
