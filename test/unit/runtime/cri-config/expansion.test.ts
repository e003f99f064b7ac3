import { describe, expect, test } from "bun:test";
import {
  asWritten,
  expand,
  expandValue,
  expandWords,
  MAX_EXPANDED,
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
  ["$(A)$$$(A", "1$$(A"],
  ["$(A$(A)$$", "$(A$(A)$"],
])("%s becomes %s", (text, expected) => {
  expect(expand(text, values, "a text")).toBe(expected);
});

const bytes = new Uint8Array([0xff, 0x00]);
const mixed = new Map<string, string | Uint8Array>([...values, ["KEY", bytes]]);

test("a value that is no text makes bytes of all around it", () => {
  expect(expandValue("ä$(KEY)$$$(A)", mixed, "a text")).toEqual(
    new Uint8Array([0xc3, 0xa4, 0xff, 0x00, 0x24, 0x31]),
  );
});

test("text stays text beside a value that is none and is not asked for", () => {
  expect(expandValue("$(A)", mixed, "a text")).toBe("1");
});

test("what must be text gets a mark in its place", () => {
  expect(expand("<$(KEY)>", mixed, "a text")).toBe("<\uFFFD\0>");
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
    ['exec: "abc": abcd', "abc", 'exec: "$(W)": abcd'],
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

describe("a bomb of references", () => {
  const long = new Map([["LONG", "x".repeat(MAX_EXPANDED - 1)]]);

  test("is refused before it is joined, with the field and without the value", () => {
    expect(expand("$(LONG)y", long, "a text")).toHaveLength(MAX_EXPANDED);
    expect(() => expand("$(LONG)yz", long, "args[0]")).toThrow(
      "args[0] is longer than 131072 bytes when its $(NAME) are replaced; make the values that it refers to shorter",
    );
  });

  test("is measured in bytes of UTF-8", () => {
    const umlauts = new Map([["A", "ä".repeat(MAX_EXPANDED / 2)]]);
    expect(expand("$(A)", umlauts, "a text")).toHaveLength(MAX_EXPANDED / 2);
    expect(() => expand("$(A)x", umlauts, "a text")).toThrow("131072 bytes");
    const bytesOnly = new Map([["A", new Uint8Array(MAX_EXPANDED)]]);
    expect(() => expandValue("$(A)x", bytesOnly, "a text")).toThrow("131072 bytes");
  });

  test("is refused in many words too", () => {
    const words = Array.from({ length: 9 }, () => "$(LONG)");
    expect(expandWords(words.slice(1), long, "command")).toHaveLength(8);
    expect(() => expandWords(words, long, "command")).toThrow(
      "command of the container has more than 1048576 bytes",
    );
  });
});

test("a long text of references that are never closed is read once", () => {
  // Searching for a ")" after each of them would be 500,000,000,000 steps.
  const text = "$(".repeat(500_000);
  expect(missingIn(text, values)).toEqual([]);
  expect(missingIn(`$(Z)${text}$$`, values)).toEqual(["Z"]);
});
