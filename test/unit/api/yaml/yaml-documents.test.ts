import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { decodeText, readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";

/** Value of the one document. */
function valueOf(text: string): unknown {
  const { documents, errors } = readDocuments(text);
  expect(errors).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.value;
}

describe("scalars are read as Kubernetes reads them", () => {
  const golden: readonly (readonly [source: string, value: unknown])[] = [
    ["0644", 420],
    ["0400", 256],
    ["-010", -8],
    ["0o17", 15],
    ["089", 89],
    ["yes", true],
    ["on", true],
    ["y", true],
    ["Off", false],
    ["NO", false],
    ["yEs", "yEs"],
    ["True", true],
    ["80:80", "80:80"],
    ["1e3", 1000],
    [".5", 0.5],
    ["1.0", 1],
    ["+12", 12],
    ["-0", 0],
    ["0x1F", 31],
    ["1_000", "1_000"],
    ["0b11", "0b11"],
    ["~", null],
    ["Null", null],
    ["2026-11-21", "2026-11-21"],
    ["2026-11-21T08:00:00Z", "2026-11-21T08:00:00Z"],
    [".inf", Number.POSITIVE_INFINITY],
    ["'yes'", "yes"],
    ['"0644"', "0644"],
    ["!!str 0644", "0644"],
    ["!!int '7'", 7],
    ["|\n  12\n", "12\n"],
  ];
  test.each(golden.map(([source, value]) => [source, value] as const))("%s", (source, value) => {
    expect(valueOf(`a: ${source}`)).toEqual({ a: value });
  });

  test("keys are always text", () => {
    expect(valueOf("on: 1\n0644: 2\n~: 3")).toEqual({ on: 1, "0644": 2, "~": 3 });
  });
});

describe("documents", () => {
  test("empty documents count but are not returned", () => {
    const { documents, errors } = readDocuments("# top\n---\n---\na: 1\n...\n---\nb: 2\n");
    expect(errors).toEqual([]);
    expect(documents.map(({ index, value }) => [index, value])).toEqual([
      [1, { a: 1 }],
      [2, { b: 2 }],
    ]);
  });

  test("windows line ends and a byte order mark are no content", () => {
    const bytes = new TextEncoder().encode("\uFEFFa: 1\r\nb: x\r\n");
    const text = decodeText(bytes);
    expect(text).toMatchObject({ ok: true });
    expect(valueOf(text.ok ? text.value : "")).toEqual({ a: 1, b: "x" });
    expect(valueOf("\uFEFFa: x\r\n")).toEqual({ a: "x" });
  });

  test("merge keys give what a map does not say itself", () => {
    const text =
      "b: &b { x: 1, y: 2 }\nc: &c { y: 3, z: 4 }\nd: { <<: [*b, *c], x: 5 }\ne: { '<<': 1 }\n";
    expect(valueOf(text)).toMatchObject({ d: { x: 5, y: 2, z: 4 }, e: { "<<": 1 } });
  });

  test("JSON is read, tabs and escapes included", () => {
    expect(valueOf('{\n\t"a": [1,\n\t\t"\\u00e9\\/"],\n\t"b": null }\n')).toEqual({
      a: [1, "é/"],
      b: null,
    });
  });

  test("a key named __proto__ is data", () => {
    const value = valueOf("__proto__: { polluted: true }");
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true}}');
  });

  test("any JSON value comes back as it went in", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const text = JSON.stringify(value);
        // A lone -0 is the one number that YAML's reader has no use for; control characters are refused as binary.
        fc.pre(!/\\u00[01]/.test(text) && !text.includes("-0"));
        const { documents } = readDocuments(text);
        expect(documents[0]?.value).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("places", () => {
  test("a field is where its key is, an item where it begins", () => {
    const [document] = readDocuments("a:\n  b: [1, yes]\n").documents;
    expect(document?.locate(["a", "b"])).toEqual({ line: 2, column: 3 });
    expect(document?.locate(["a", "b", 1])).toEqual({ line: 2, column: 10, text: "yes" });
  });

  test("a field that is missing is looked for where its parent is", () => {
    const [document] = readDocuments("a:\n  b: x\n").documents;
    expect(document?.locate(["a", "c", 0])).toEqual({ line: 1, column: 1 });
    expect(document?.locate(["a", "b", "c"])).toEqual({ line: 2, column: 3 });
  });
});

describe("refusals", () => {
  const refused: Readonly<Record<string, readonly [text: string, error: string]>> = {
    "an empty file": ["", "1:1 Empty it holds no document"],
    "nothing but comments": ["# a\n---\n", "1:1 Empty it holds no document"],
    "a duplicate key": ["a: 1\nb: 2\na: 3", '3:1 Duplicate duplicate key "a"'],
    "a duplicate key in JSON": ['{"a": 1, "a": 2}', '1:10 Duplicate duplicate key "a"'],
    "a NUL character": ["a: 1\nb: \0", "2:4 Syntax the file holds binary data"],
    "an alias without its anchor": [
      "a: *b",
      "1:4 Syntax an alias (*) without its anchor (&) before it; put text in quotes",
    ],
    "an alias of what surrounds it": [
      "a: &a [*a]",
      "1:8 Syntax an alias (*) without its anchor (&) before it; put text in quotes",
    ],
    "a tag that does not fit": [
      "a: !!int x",
      "1:10 Syntax tag !!int that does not fit its value; put text in quotes",
    ],
    "a tag of a program": [
      "a: !ruby/object x",
      "1:17 Syntax a tag (!) that does not fit its value; put text in quotes",
    ],
    "a merge of text": ["<<: x", "1:1 Syntax a merge key << takes a map or a list of maps"],
    "a map as key": [
      "{a: 1}: 2",
      "1:1 Syntax a key must be a string; put text that begins with { or [ in quotes",
    ],
  };
  test.each(Object.entries(refused))("%s", (_sentence, [text, error]) => {
    const { documents, errors } = readDocuments(text);
    const said = errors.map(
      ({ line, column, code, message }) => `${line}:${column} ${code} ${message}`,
    );
    expect({ documents, said }).toEqual({ documents: [], said: [error] });
  });

  test("a break of syntax gives no document at all", () => {
    const { documents, errors } = readDocuments("a: 1\n---\nb: [1\n");
    expect(documents).toEqual([]);
    expect(errors[0]).toMatchObject({ code: "Syntax", path: "", line: 4 });
  });

  test.each([
    "password: |hunter2",
    "password:\n|  hunter2\n",
    "password: !!hunter2 x",
    "password: !hunter2!a x",
    "password: !a!hunter2",
    "password: !<hunter2> x",
    'password: "C:\\Uhunter2"',
    'password: "C:\\hunter2"',
    "password: >hunter2\n  x",
    "password: 'a'hunter2",
    "password: {a: b}hunter2",
    "%YAML hunter2\n---\na: 1",
    "] hunter2",
  ])("a break of syntax shows nothing of a password: %s", (text) => {
    const { errors } = readDocuments(text);
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toContain("hunt");
  });

  test("bytes that are not UTF-8", () => {
    expect(decodeText(new Uint8Array([0x61, 0xff, 0xfe]))).toMatchObject({
      ok: false,
      errors: [{ code: "Syntax", message: "the file is not UTF-8 text" }],
    });
  });

  const TOO_LONG =
    "this is neither plain YAML nor JSON, and the file is too long for more: write it plainly or split the file";
  const hostile: Readonly<Record<string, readonly [text: string, message: string]>> = {
    "brackets without end": ["[".repeat(1_000_000), "nested deeper than 100 levels"],
    "a staircase": ["- ".repeat(500_000), "nested deeper than 100 levels"],
    "keys without end": ["k: v\n".repeat(90_000), TOO_LONG],
    "comments without end": ["#\n".repeat(50_000), "too long: split it into several files"],
    "escapes that are none": [`a: "${"\\q".repeat(500_000)}"\n`, TOO_LONG],
    "a megabyte in quotes": [`a: "${"x".repeat(1_000_000)}\\x41"\n`, TOO_LONG],
    "a tag that is written out everywhere": [
      `%TAG !e! ${"a".repeat(900_000)}\n---\n[${"!e!b c,".repeat(3000)}]`,
      "a directive of more than 1000 characters",
    ],
    "a megabyte of empty lines in a text": [
      `a: |\n b\n${"\n".repeat(1_000_000)} c\n`,
      "more than 100000 lines: split it into several files",
    ],
    "50,000 folded lines": [`a: >\n${" b\n".repeat(50_001)}`, TOO_LONG],
    "keys without end, plainly": [
      Array.from({ length: 4001 }, (_, index) => `k${index}: v\n`).join(""),
      "too long: split it into several files",
    ],
    "numbers without end, in JSON": [
      `[${"1,".repeat(4000)}1]`,
      "too long: split it into several files",
    ],
    "aliases of aliases": [
      `a: &a [${"x,".repeat(500)}]\nb: &b [${"*a,".repeat(500)}]\nc: [${"*b,".repeat(500)}]`,
      "its aliases stand for too many values",
    ],
  };
  test.each(Object.entries(hostile))(
    "%s is refused with bounded work",
    (_sentence, [text, message]) => {
      const { documents, errors } = readDocuments(text);
      expect(documents).toEqual([]);
      expect(errors.map((error) => error.message)).toEqual([message]);
    },
  );

  test("what is too long for more than plain YAML or JSON is shown where it is no longer that", () => {
    const keys = Array.from({ length: 3000 }, (_, index) => `k${index}: v\n`).join("");
    const ones = `[\n${"1,\n".repeat(3000)}x]`;
    const placed = [`${keys}t: !!str x\n`, ones].map((text) =>
      readDocuments(text).errors.map(({ line, column, message }) => ({ line, column, message })),
    );
    expect(placed).toEqual([
      [{ line: 3001, column: 1, message: TOO_LONG }],
      [{ line: 3002, column: 1, message: TOO_LONG }],
    ]);
    expect(readDocuments(keys).errors).toEqual([]);
  });

  test("no text makes it throw", () => {
    const piece = fc.constantFrom(
      "a",
      ": ",
      "- ",
      "\n",
      "  ",
      "[",
      "]",
      "{",
      "}",
      "&a ",
      "*a",
      "<<",
      "'",
      '"',
      "|",
      "!!",
      "---\n",
      "\t",
      "#",
      "%",
      "?",
      ",",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { documents, errors } = readDocuments(pieces.join(""));
        expect(documents.length + errors.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
