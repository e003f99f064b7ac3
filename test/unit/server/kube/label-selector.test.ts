import { describe, expect, test } from "bun:test";
import { matchesSelector, parseSelector } from "../../../../src/server/kube/label-selector.ts";

const LABELS = { app: "web", "example.org/tier": "front", empty: "" };

function matches(written: string): boolean | string {
  const selector = parseSelector(written);
  return selector.ok ? matchesSelector(LABELS, selector.value) : "refused";
}

describe("a selector", () => {
  test.each([
    ["", true],
    ["app=web", true],
    ["app==web", true],
    [" app = web ", true],
    ["app=db", false],
    ["app!=db", true],
    ["app!=web", false],
    ["missing!=x", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["!app", false],
    ["empty=", true],
    ["app=", false],
    ["example.org/tier=front,app=web", true],
    ["example.org/tier=front,app=db", false],
    ["app in (db, web)", true],
    ["app in (db)", false],
    ["app notin (db,web)", false],
    ["missing notin (db)", true],
    ["app in (db,web),example.org/tier!=back", true],
  ])("%p is %p", (written, expected) => {
    expect(matches(written)).toBe(expected);
  });

  test.each([
    ",",
    "app=web,",
    "app=web,,tier=x",
    "a=b=c",
    "a in b",
    "a in (b",
    "a b",
    "-a=b",
    "=x",
    "a/b/c=d",
  ])("%p is refused", (written) => {
    expect(matches(written)).toBe("refused");
  });

  test("that is refused explains the syntax", () => {
    const selector = parseSelector("a=b=c");
    expect(selector.ok ? "" : selector.errors[0]?.message).toBe(
      'invalid selector "a=b=c": cannot read "a=b=c"; write a=b, a!=b, a, !a, or a in (b,c)',
    );
  });
});
