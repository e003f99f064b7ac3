import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { jsonValue } from "../../../../src/api/yaml/json-value.ts";
import { readDocuments } from "../../../../src/api/yaml/yaml-documents.ts";

const LIMITS = { depth: 5, values: 20 };

function valueOf(text: string): unknown {
  const read = jsonValue(text, LIMITS);
  return "document" in read ? read.document.value : undefined;
}

describe("jsonValue", () => {
  test("reads what JSON.parse reads", () => {
    const text =
      '\uFEFF \r\n{"a": [1, -0, 2.5e-3, true, false, null, "x\\u00e9\\n\\ud83d\\ude00\\/"], "b":{},"c":[ ]}\n';
    expect(valueOf(text)).toEqual({
      a: [1, 0, 0.0025, true, false, null, "xé\n😀/"],
      b: {},
      c: [],
    });
  });

  test.each([
    "",
    " ",
    "1",
    '"text"',
    "{",
    "[1,]",
    '{"a":1,}',
    '{"a" 1}',
    "{a: 1}",
    "[01]",
    "[+1]",
    "[.5]",
    "[1.]",
    "[1e]",
    "[truex]",
    "[nul]",
    "['a']",
    '["a]',
    '["\\x"]',
    '["\\',
    '["line\nend"]',
    "[1] [2]",
    "[1] # comment",
    "[[[[[[1]]]]]]",
  ])("leaves %j to YAML", (text) => {
    expect(jsonValue(text, LIMITS)).toMatchObject({ stopped: "NotJson" });
  });

  test("says where a text is no JSON, and where it is too much", () => {
    expect(jsonValue('{"a": [1,]}', LIMITS)).toEqual({ stopped: "NotJson", at: 9 });
    expect(valueOf(`[${"1,".repeat(18)}1]`)).toHaveLength(19);
    expect(jsonValue(`[${"1,".repeat(19)}1]`, LIMITS)).toEqual({ stopped: "TooMuch", at: 39 });
  });

  test("a key named __proto__ is data", () => {
    const value = valueOf('{"__proto__": {"polluted": true}}');
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test("says the same as YAML's reader, in the same places", () => {
    const key = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("a", "b", "__proto__"));
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.array(json), fc.constantFrom(0, 1, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(!/[\uFFFE\uFFFF]/.test(text));
        const [fast] = readDocuments(text).documents;
        // With a comment before it, it is no JSON any more.
        const [slow] = readDocuments(`#\n${text}`).documents;
        expect(fast?.value).toEqual(slow?.value);
        for (const [index] of value.entries()) {
          const place = slow?.locate([index]) ?? { line: 0, column: 0 };
          expect(fast?.locate([index])).toMatchObject({
            line: place.line - 1,
            column: place.column,
          });
        }
      }),
    );
  });
});
