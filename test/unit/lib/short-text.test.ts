import { expect, test } from "bun:test";

import { shortText } from "../../../src/lib/short-text.ts";

test("what fits stays as it is", () => {
  expect(shortText("abc", 3)).toBe("abc");
});

test("what does not fit ends in an ellipsis", () => {
  expect(shortText("abcd", 3)).toBe("ab…");
});

test("no character is cut in two", () => {
  expect(shortText("a😀bc", 3)).toBe("a…");
  expect(shortText("a😀bc", 4)).toBe("a😀…");
});
