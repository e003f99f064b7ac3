import { describe, expect, test } from "bun:test";
import { lastLines, lineInManifest } from "../../../../src/node/explain/pod-notes.ts";

const log = (...lines: readonly string[]): string =>
  lines.map((line) => `2026-01-01T00:00:00.000000000Z ${line}\n`).join("");

describe("the last lines of a log", () => {
  test("are five at most, without what the runtime adds", () => {
    const lines = [1, 2, 3, 4, 5, 6].map((number) => `stderr F line ${number}`);
    expect(lastLines(log(...lines))).toEqual(["line 2", "line 3", "line 4", "line 5", "line 6"]);
  });

  test("join a line in several parts, also one that is not over", () => {
    expect(lastLines(log("stdout P one, ", "stdout F two", "stdout P open"))).toEqual([
      "one, two",
      "open",
    ]);
  });

  test("leave out the rest of a line before which the log was cut, and are never long", () => {
    expect(lastLines(`half of a line\n${log("stdout F whole")}`)).toEqual(["whole"]);
    expect(lastLines(log(`stdout F ${"x".repeat(9_000)}`))[0]).toHaveLength(500);
    expect(lastLines("")).toEqual([]);
  });
});

describe("the line of a pod", () => {
  const text = `kind: Pod
metadata:
  name: first
---
kind: List
items:
  - kind: Pod
    metadata: {name: second}
  - kind: Pod
    metadata:
      name: third
---
kind: Deployment
`;
  test.each([
    [0, "first", 3],
    [1, "second", 8],
    [1, "third", 11],
    [2, "made-of-it", 13],
    [3, "gone", undefined],
  ] as const)("in document %p of %p is %p", (document, name, line) => {
    expect(lineInManifest(text, document, name)).toBe(line);
  });
});
