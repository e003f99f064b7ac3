import { expect, test } from "bun:test";
import fc from "fast-check";
import { printable, printableText } from "../../../src/cli/terminal-text.ts";

test.each([
  ["plain text stays", "web 1/1 – ü 漢 🙂", "web 1/1 – ü 漢 🙂"],
  ["an escape sequence is shown, not obeyed", "\u001b[31mred", "\\u001b[31mred"],
  ["C1 controls as well", "\u009b2J", "\\u009b2J"],
  ["a carriage return cannot overwrite a line", "a\rb", "a\\u000db"],
  ["the writing direction stays", "a\u202eb", "a\\u202eb"],
  ["invisible characters become visible", "a\u200bb", "a\\u200bb"],
  ["tags beyond U+FFFF as well", "a\u{e0041}b", "a\\udb40\\udc41b"],
  ["a line feed would be a second line", "a\nb", "a\\u000ab"],
])("%s", (_sentence, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test("a whole text keeps its lines", () => {
  expect(printableText("a\n\tb\u0007\n")).toBe("a\n\tb\\u0007\n");
});

test("JSON means the same when it was made printable", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = printableText(JSON.stringify({ text }, null, 2));
      expect(JSON.parse(json)).toEqual({ text });
    }),
  );
});
