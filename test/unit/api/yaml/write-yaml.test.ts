import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { manifestText } from "../../../../src/api/yaml/write-yaml.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";

function readBack(value: unknown): unknown {
  const { documents, errors } = readDocuments(manifestText(value, "a comment"));
  expect(errors).toEqual([]);
  return documents[0]?.value;
}

describe("the text of a manifest", () => {
  test.each([
    "yes",
    "No",
    "on",
    "0644",
    "1e3",
    "1_000",
    "0x1F",
    "~",
    "null",
    "",
    " a ",
    "- a",
    "a: b",
    "# a",
    "'",
    '"',
    "\\",
    "é",
    "2001-01-01",
    "12:30:45",
    "<<",
    "=",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a",
    "{",
    "[",
    "a\nb\n",
    "a\n\n",
    "\n",
    "\ta",
    "a\r\nb",
    "\u0000",
    "\u0007",
    "\u0085",
    "\u2028",
    "\uFEFF",
    "\u{1F600}",
    ".inf",
    ".NaN",
  ])("reads as the same text: %j", (text) => {
    expect(readBack({ text, [text === "" ? "empty" : text]: [text] })).toEqual({
      text,
      [text === "" ? "empty" : text]: [text],
    });
  });

  test("reads as the same data, whatever it is", () => {
    const value = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.jsonValue({ depthSize: "small" }),
    );
    fc.assert(
      fc.property(value, (object) => {
        const plain: unknown = JSON.parse(JSON.stringify({ kind: "x", ...object }));
        expect(readBack(plain)).toEqual(plain);
      }),
      { numRuns: 300 },
    );
  });
});
