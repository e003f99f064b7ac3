import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { unifiedDiff } from "../../../../src/cli/write/unified-diff.ts";

/** Applies the hunks, as patch(1) does. */
function patched(before: string, hunks: readonly string[]): string {
  const lines = before === "" ? [] : before.split("\n");
  const result: string[] = [];
  let at = 0;
  for (const line of hunks) {
    const [, start, count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    if (start !== undefined) {
      const from = count === "0" ? Number(start) : Number(start) - 1;
      while (at < from) result.push(lines[at++] ?? "?");
    } else if (line.startsWith("+")) result.push(line.slice(1));
    else {
      expect(line.slice(1)).toBe(lines[at] ?? "?");
      if (line.startsWith(" ")) result.push(line.slice(1));
      at += 1;
    }
  }
  return [...result, ...lines.slice(at)].join("\n");
}

describe("the diff of two texts", () => {
  test("of equal ones is empty", () => {
    expect(unifiedDiff("a\nb\n", "a\nb\n")).toEqual([]);
  });

  test("has three lines around each change, and a hunk for each place", () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const after = before.map((line) => (["line 2", "line 15"].includes(line) ? `${line}!` : line));
    expect(unifiedDiff(before.join("\n"), after.join("\n"))).toEqual([
      "@@ -1,6 +1,6 @@",
      " line 0",
      " line 1",
      "-line 2",
      "+line 2!",
      " line 3",
      " line 4",
      " line 5",
      "@@ -13,7 +13,7 @@",
      " line 12",
      " line 13",
      " line 14",
      "-line 15",
      "+line 15!",
      " line 16",
      " line 17",
      " line 18",
    ]);
  });

  test("leads from one to the other", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [before, after] = [a.join("\n"), b.join("\n")];
        expect(patched(before, unifiedDiff(before, after))).toBe(after);
      }),
    );
  });
});
