import { describe, expect, test } from "bun:test";

import type { DirectoryHint } from "../../../../src/host/files.ts";
import { sortHints } from "../../../../src/source/file/directory-events.ts";
import { departuresNow, type Departures } from "../../../../src/source/file/recreated-manifests.ts";

/** `Type name` each, one after the other. */
function hints(words: string): readonly DirectoryHint[] {
  return words.split(", ").map((word): DirectoryHint => {
    const [type = "", name = ""] = word.split(" ");
    switch (type) {
      case "MovedIn":
      case "MovedOut":
      case "Created":
      case "Deleted":
      case "Written":
      case "Closed":
      case "CameOrWent":
        return { type, name };
      case "SelfGone":
        return { type };
      default:
        return { type: "Unknown" };
    }
  });
}

const cases: readonly (readonly [hints: string, meaning: string])[] = [
  ["MovedIn a", "Whole a"],
  ["Created a", ""],
  ["Created a, Written a, Closed a", "Written a"],
  ["MovedIn a, Written a", "Written a"],
  ["Written a, Closed a, MovedIn a", "Whole a"],
  ["MovedIn a, Closed a", ""],
  ["MovedIn a, Created b, Written b", "Whole a; Written b"],
  ["Created b, Written b, Closed b, MovedOut b, MovedIn a", "Whole a; left b MovedOut"],
  ["MovedIn a, Deleted a", "left a Deleted"],
  ["Deleted a, MovedIn a", "Whole a; left a Deleted"],
  ["Deleted a, Created a, Written a, Closed a", "Written a; left a Deleted"],
  ["MovedOut a, Created a, Written a", "Written a; left a MovedOut"],
  ["MovedOut a, MovedIn a, Deleted a, Created a", "left a Deleted"],
  ["Deleted a, MovedIn a, MovedOut a, MovedIn a", "Whole a; left a Deleted"],
  ["Deleted a, Deleted b, SelfGone", "directory"],
  ["CameOrWent a", "MaybeWhole a"],
  ["CameOrWent a, Written a", "Written a"],
  ["Written a, CameOrWent a", "Written a"],
  ["Unknown", ""],
  ["MovedIn a, Unknown", "Whole a"],
];

describe("hints mean", () => {
  test.each(cases)("%s: %s", (words, meaning) => {
    const { arrivals, left, directory } = sortHints(hints(words), (name) => name);
    const said = [
      ...[...arrivals].map(([path, arrival]) => `${arrival} ${path}`),
      ...[...left].map(([path, how]) => `left ${path} ${how}`),
      ...(directory ? ["directory"] : []),
    ];
    expect(said.join("; ")).toBe(meaning);
  });
});

describe("what is known of how a file left", () => {
  type How = "Deleted" | "MovedOut" | "Unknown" | undefined;
  const table: readonly (readonly [before: How, left: How, isAbsent: boolean, now: How])[] = [
    [undefined, undefined, false, undefined],
    [undefined, undefined, true, "Unknown"],
    [undefined, "MovedOut", true, "MovedOut"],
    [undefined, "Deleted", false, "Deleted"],
    ["Unknown", "MovedOut", false, "MovedOut"],
    ["Unknown", "Deleted", false, "Deleted"],
    ["MovedOut", undefined, true, "MovedOut"],
    ["MovedOut", "Deleted", false, "Deleted"],
    ["Deleted", "MovedOut", true, "Deleted"],
  ];
  test.each(table)("%p, then %p, absent: %p = %p", (before, left, isAbsent, now) => {
    const known: Departures = new Map(before === undefined ? [] : [["a", before]]);
    const departed = new Map(
      left === undefined || left === "Unknown" ? [] : [["a", left] as const],
    );
    const absent = new Set(isAbsent ? ["a"] : []);
    expect(departuresNow(known, departed, absent).get("a")).toBe(now);
  });
});
