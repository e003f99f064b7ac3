import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { FieldPath } from "../../../../src/api/decode/field-path.ts";
import { plainYaml } from "../../../../src/api/yaml/plain-yaml.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";
import { fixturesIn } from "../fixture-files.ts";

const LIMITS = { depth: 6, values: 30, lines: 30, documents: 3 };
const ROOMY = { depth: 20, values: 1000, lines: 1000, documents: 100 };
/** Nothing plain has a tab, so that a text with it is the library's; it moves every place a line down. */
const FOR_THE_LIBRARY = "#\t\n";

function lines(...text: readonly string[]): string {
  return text.map((line) => `${line}\n`).join("");
}

/** undefined = not plain. */
function valuesOf(text: string, limits = LIMITS): readonly unknown[] | undefined {
  const read = plainYaml(text, limits);
  return "documents" in read ? read.documents.map(({ value }) => value) : undefined;
}

/** Whether it was plain; fails where the library reads it otherwise or finds a field elsewhere. */
function agrees(text: string): boolean {
  const values = valuesOf(text, ROOMY);
  if (values === undefined) return false;
  const library = readDocuments(FOR_THE_LIBRARY + text);
  expect(library.errors).toEqual([]);
  const read = library.documents.map(({ value }) => value);
  expect(JSON.stringify(values)).toBe(JSON.stringify(read));
  expect(values).toStrictEqual(read);
  const here = readDocuments(text).documents;
  for (const [index, { value, locate }] of library.documents.entries())
    for (const path of pathsIn(value)) {
      const { line, ...place } = locate(path) ?? { line: 0 };
      expect(here[index]?.locate(path)).toStrictEqual({ line: line - 1, ...place } as never);
    }
  return true;
}

/** Of a value and of all that is in it. */
function pathsIn(value: unknown, path: FieldPath = []): readonly FieldPath[] {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  const inside = Array.isArray(value) ? [...value.entries()] : isMap ? Object.entries(value) : [];
  return [path, ...inside.flatMap(([step, member]) => pathsIn(member, [...path, step]))];
}

describe("plainYaml", () => {
  test("reads maps, lists, words, quotes and literal text", () => {
    const text = lines(
      "# of a shop",
      "---",
      "kind: Pod   # a comment",
      "name: 'it''s'",
      "",
      "list:",
      "- a",
      "-   b: 1",
      '    c: "x # y"',
      "- - 0644",
      "  - ~",
      "- d: größer",
      "- d:",
      "    e: yes",
      "script: |",
      "  one",
      "",
      "    two # no comment",
      "text: |-",
      "   three",
      "",
      "image: registry:5000/a/b:1.2@sha256:0f  ",
      'args: [ -c, --all, "a, b", { k: v, n: [] }, http://x:1/?, ]',
    );
    // The comma before the bracket is not plain.
    expect(valuesOf(text)).toBeUndefined();
    expect(valuesOf(text.replace(", http://x:1/?, ]", ", http://x:1/ ]"))).toEqual([
      {
        kind: "Pod",
        name: "it's",
        list: ["a", { b: 1, c: "x # y" }, [420, null], { d: "größer" }, { d: { e: true } }],
        script: "one\n\n  two # no comment\n",
        text: "three",
        image: "registry:5000/a/b:1.2@sha256:0f",
        args: ["-c", "--all", "a, b", { k: "v", n: [] }, "http://x:1/"],
      },
    ]);
  });

  test("reads quotes with the escapes of JSON, however long", () => {
    const long = `"${"x".repeat(1_000_000)}"`;
    const text = lines('a: "b\\n\\"\\u00e9"', 'c: [ "\\t", "\\\\" ]', `d: ${long}`);
    expect(valuesOf(text)).toEqual([{ a: 'b\n"é', c: ["\t", "\\"], d: "x".repeat(1_000_000) }]);
  });

  test("reads several documents", () => {
    expect(valuesOf("a: 1\n---\nb: 2\n---\nc: 3")).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  });

  test.each([
    ["no text", ""],
    ["comments only", "# a\n"],
    ["an empty document", "a: 1\n---\n"],
    ["an empty document before one", "---\n---\na: 1\n"],
    ["too many documents", "a: 1\n---\na: 1\n---\na: 1\n---\na: 1\n"],
    ["too deep a map", "a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g: 1\n"],
    ["too deep a list", "a:\n- - - - - - 1\n"],
    ["too many values", `a: [${"b, ".repeat(29)}b]\n`],
    [
      "too many values in all",
      `a: 1\n---\n${Array.from({ length: 30 }, (_, index) => `b${index}: 1\n`).join("")}`,
    ],
    ["too many lines", "#\n".repeat(30) + "a: 1\n"],
    ["too long a line of brackets", `a: ["${"b".repeat(12_000)}"]\n`],
    ["too long a line of single quotes", `a: '${"b".repeat(12_000)}'\n`],
    ["too far a text", `a: |\n${" ".repeat(101)}b\n`],
    ["a tab", "a:\tb\n"],
    ["another line end", "a: b\r\n"],
    ["a blank of its own kind", "a: b\u00A0\n"],
    ["a line end of its own kind", "a: b\u2028\n"],
    ["a key of other letters", "ä: b\n"],
    ["an item that is nothing", "a:\n-\n"],
    ["a word alone", "a\n"],
    ["a list alone", "- a\n"],
    ["a key twice", "a: 1\na: 2\n"],
    ["a key twice in brackets", "a: { b: 1, b: 2 }\n"],
    ["a key __proto__", "__proto__: 1\n"],
    ["a key __proto__ in brackets", "a: { __proto__: 1 }\n"],
    ["a merge key", "<<: 1\n"],
    ["a quoted key", '"a": 1\n'],
    ["a key without a value in brackets", "a: { b: }\n"],
    ["a colon without a blank in brackets", "a: {b:1}\n"],
    ["an indented document", " a: 1\n"],
    ["a deeper key after a word", "a: b\n  c: d\n"],
    ["a word over two lines", "a: b\n  c\n"],
    ["an item deeper than the one before", "a:\n- b\n  - c\n"],
    ["an item in a map", "a:\n  b: 1\n  - c\n"],
    ["a key in a list", "a:\n  - b\n  c: 1\n"],
    ["less indent than anything above", "a:\n    b: 1\n  c: 2\n"],
    ["an anchor", "a: &b c\n"],
    ["an alias", "a: *b\n"],
    ["a tag", "a: !!str 1\n"],
    ["an escape that JSON has not", 'a: "\\x41"\n'],
    ["half an escape", 'a: ["\\u00"]\n'],
    ["an open quote", "a: 'b\n"],
    ["text behind a quote", 'a: "b" c\n'],
    ["text behind a bracket", "a: [b] c\n"],
    ["a comment without a blank before it", 'a: "b"#c\n'],
    ["a key in a value", "a: b: c\n"],
    ["a value that ends as a key", "a: b:\n"],
    ["a folded text", "a: >\n  b\n"],
    ["a kept text", "a: |+\n  b\n"],
    ["a text with its indent", "a: |2\n  b\n"],
    ["an empty text", "a: |\nb: 1\n"],
    ["a text that begins with an empty line", "a: |\n\n  b\n"],
    ["a text whose empty line has blanks", "a: |\n  b\n    \n  c\n"],
    ["a text without a last line end", "a: |\n  b"],
    ["a text and less indent", "a:\n  b: |\n     c\n    d\n"],
    ["an open bracket", "a: [b\n"],
    ["a key in a list in brackets", "a: [b:, c]\n"],
    ["an item behind a key", "a: - b\n"],
    ["words in brackets", "a: [b c]\n"],
    ["two commas", "a: [b,, c]\n"],
    ["a question", "? a\n"],
    ["a directive", "%YAML 1.2\n---\na: 1\n"],
    ["an end mark", "a: 1\n...\n"],
    ["text behind the mark", "--- a\n"],
  ])("leaves %s to the library", (_what, text) => {
    expect(valuesOf(text)).toBeUndefined();
  });

  test("reads most manifests, as the library does", () => {
    const fixtures = [...fixturesIn("valid"), ...fixturesIn("invalid")].map(({ text }) => text);
    const plain = fixtures.filter(agrees);
    expect(plain.length).toBeGreaterThan(fixtures.length / 2);
  });

  test("reads what is nearly a manifest as the library does, or not at all", () => {
    const fixtures = fixturesIn("valid").map(({ text }) => text);
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      dropped: fc.constantFrom(0, 0, 0, 1, 2, 5),
      added: fc.constantFrom(...PIECES),
    });
    let plain = 0;
    const property = fc.property(
      fc.constantFrom(...fixtures),
      fc.tuple(fc.nat(), fc.integer({ min: 1, max: 12 })),
      fc.array(edit, { maxLength: 4 }),
      (text, [from, count], edits) => {
        if (agrees(edits.reduce(edited, excerpt(text, from, count)))) plain += 1;
      },
    );
    fc.assert(property, { numRuns: 20_000 });
    expect(plain).toBeGreaterThan(2000);
  });
});

describe("readDocuments", () => {
  test("knows where the fields of plain documents stand", () => {
    const { documents } = readDocuments("a: 1\n---\nb:\n  - c: yes\n");
    expect(documents.map(({ index }) => index)).toEqual([0, 1]);
    expect(documents[1]?.locate(["b", 0, "c"])).toEqual({ line: 4, column: 5, text: "yes" });
  });
});

/** Some lines, as far left as they go. */
function excerpt(text: string, from: number, count: number): string {
  const all = text.split("\n");
  const some = all.slice(from % all.length, (from % all.length) + count);
  const indents = some.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const left = indents.length === 0 ? 0 : Math.min(...indents);
  return lines(...some.map((line) => line.slice(left)));
}

interface Edit {
  /** 0 = the start, 1 = the end. */
  readonly at: number;
  readonly dropped: number;
  readonly added: string;
}

function edited(text: string, { at, dropped, added }: Edit): string {
  const offset = Math.floor(at * text.length);
  return text.slice(0, offset) + added + text.slice(offset + dropped);
}

const SIGNS = " -:#'\"|>[]{},a01~&*!%@`?.=\\\n\t".split("");
const WORDS = [
  "",
  "- - ",
  "''",
  "|-",
  "|+",
  "<<",
  "null",
  "0x1",
  "1e3",
  "0644",
  "yes",
  "$(A)",
  "--x",
  '"a\\nb"',
  '"\\"',
  '\\"',
  "\\u00e9",
  "\\ud83d",
  "\\/",
  "\\\\",
];
const FLOWS = [
  "[]",
  "{}",
  "[a, 'b']",
  "{ a: b }",
  "{a: 1, b: [c]}",
  "x: y",
  "- ",
  ": ",
  " #",
  "? ",
];
const LINES = [
  "\n\n",
  "\n \n",
  "- |\n",
  "---\n",
  "\n---\n",
  "\n...\n",
  "\n#c\n",
  "\n   # c\n",
  "key:\n",
];
/** Letters, signs, blanks and line ends that are none in YAML, half a character. */
const OTHERS = ["é", "–", "日本", "😀", "\u00A0", "\u2028", "\u0085", "\uFEFF", "\uD83D"];
const PIECES = [...SIGNS, ...WORDS, ...FLOWS, ...LINES, ...OTHERS];
