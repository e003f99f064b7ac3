import { describe, expect, test } from "bun:test";

import {
  NOTHING_SETTLING,
  lookAgainAt,
  planScan,
  unsettle,
  type Arrival,
  type Look,
  type ScanFacts,
  type Settling,
} from "../../../../src/source/file/manifest-settle.ts";

/** One scan: `files` by name with their size. */
interface Step {
  readonly at: number;
  readonly files: Readonly<Record<string, number>>;
  readonly whole?: readonly string[];
  readonly maybeWhole?: readonly string[];
  readonly written?: readonly string[];
}

const look = (size: number): Look => ({ size, mtimeMs: size, identity: "1:1" });

/** Plays scans as the executor does: what was read is known from then on. Gives a line for each scan. */
function play(known: readonly string[], steps: readonly Step[]): readonly string[] {
  let settling: Settling = NOTHING_SETTLING;
  const read = new Map(known.map((path): [string, Look] => [path, look(1)]));
  return steps.map(({ at, files, whole = [], maybeWhole = [], written = [] }) => {
    const seen = new Map(Object.entries(files).map(([path, size]) => [path, look(size)]));
    const facts: ScanFacts = {
      now: at,
      seen,
      read,
      expected: new Set(read.keys()),
      arrivals: new Map<string, Arrival>([
        ...written.map((path) => [path, "Written"] as const),
        ...maybeWhole.map((path) => [path, "MaybeWhole"] as const),
        ...whole.map((path) => [path, "Whole"] as const),
      ]),
    };
    const plan = planScan(settling, facts);
    settling = plan.settling;
    for (const path of plan.read) read.set(path, seen.get(path) ?? look(0));
    for (const path of plan.gone) read.delete(path);
    const next = lookAgainAt(settling);
    return `${at}: read [${plan.read.join()}] gone [${plan.gone.join()}] next ${next ?? "-"}`;
  });
}

const cases: Readonly<
  Record<
    string,
    readonly [known: readonly string[], steps: readonly Step[], lines: readonly string[]]
  >
> = {
  "does nothing when nothing has changed": [
    ["a"],
    [{ at: 0, files: { a: 1 } }],
    ["0: read [] gone [] next -"],
  ],
  "reads a file renamed into place at the first look": [
    ["a"],
    [{ at: 0, files: { a: 9 }, whole: ["a"] }],
    ["0: read [a] gone [] next -"],
  ],
  "waits for an empty file, however it came": [
    [],
    [
      { at: 0, files: { a: 0 }, whole: ["a"] },
      { at: 100, files: { a: 9 }, written: ["a"] },
      { at: 350, files: { a: 9 } },
    ],
    [
      "0: read [] gone [] next 250",
      "100: read [] gone [] next 350",
      "350: read [a] gone [] next -",
    ],
  ],
  "a late event of a write does not extend the wait for a file": [
    [],
    [
      { at: 0, files: { a: 9 } },
      { at: 5, files: { a: 9 }, written: ["a"] },
      { at: 255, files: { a: 9 } },
    ],
    ["0: read [] gone [] next 250", "5: read [] gone [] next 255", "255: read [a] gone [] next -"],
  ],
  "reads a file that may have been renamed into place at the second look": [
    [],
    [
      { at: 0, files: { a: 9 }, maybeWhole: ["a"] },
      { at: 5, files: { a: 9 } },
    ],
    ["0: read [] gone [] next 5", "5: read [a] gone [] next -"],
  ],
  "waits for a file that was created and is being written": [
    [],
    [
      { at: 0, files: { a: 9 }, maybeWhole: ["a"] },
      { at: 1, files: { a: 12 }, written: ["a"] },
      { at: 251, files: { a: 12 } },
    ],
    ["0: read [] gone [] next 5", "1: read [] gone [] next 251", "251: read [a] gone [] next -"],
  ],
  "waits for a file that was created and written before the first look": [
    [],
    [
      { at: 0, files: { a: 9 }, written: ["a"] },
      { at: 250, files: { a: 9 } },
    ],
    ["0: read [] gone [] next 250", "250: read [a] gone [] next -"],
  ],
  "takes an empty new file for one that was just created": [
    [],
    [
      { at: 0, files: { a: 0 }, maybeWhole: ["a"] },
      { at: 5, files: { a: 0 } },
      { at: 250, files: { a: 0 } },
    ],
    ["0: read [] gone [] next 250", "5: read [] gone [] next 250", "250: read [a] gone [] next -"],
  ],
  "reads a file written in place after two equal looks": [
    ["a"],
    [
      { at: 0, files: { a: 2 } },
      { at: 100, files: { a: 2 } },
      { at: 250, files: { a: 2 } },
    ],
    [
      "0: read [] gone [] next 250",
      "100: read [] gone [] next 250",
      "250: read [a] gone [] next -",
    ],
  ],
  "waits longer for a file each time it was seen changing": [
    ["a"],
    [
      { at: 0, files: { a: 2 } },
      { at: 200, files: { a: 3 } },
      { at: 400, files: { a: 4 } },
      { at: 600, files: { a: 5 } },
      { at: 800, files: { a: 6 } },
      { at: 2800, files: { a: 6 } },
    ],
    [
      "0: read [] gone [] next 250",
      "200: read [] gone [] next 700",
      "400: read [] gone [] next 1400",
      "600: read [] gone [] next 2600",
      "800: read [] gone [] next 2800",
      "2800: read [a] gone [] next -",
    ],
  ],
  "deletes a file that is away for long enough": [
    ["a", "b"],
    [
      { at: 0, files: { b: 1 }, maybeWhole: ["a"] },
      { at: 50, files: { b: 1 } },
      { at: 100, files: { b: 1 } },
      { at: 200, files: { b: 1 } },
    ],
    [
      "0: read [] gone [] next 100",
      "50: read [] gone [] next 100",
      "100: read [] gone [a] next -",
      "200: read [] gone [] next -",
    ],
  ],
  "deletes nothing while more and more files go": [
    ["a", "b", "c"],
    [
      { at: 0, files: { b: 1, c: 1 } },
      { at: 90, files: { c: 1 } },
      { at: 180, files: {} },
      { at: 280, files: {} },
    ],
    [
      "0: read [] gone [] next 100",
      "90: read [] gone [] next 190",
      "180: read [] gone [] next 280",
      "280: read [] gone [a,b,c] next -",
    ],
  ],
  "forgets about a file that came back in time": [
    ["a"],
    [
      { at: 0, files: {} },
      { at: 60, files: { a: 1 } },
      { at: 1000, files: {} },
    ],
    [
      "0: read [] gone [] next 100",
      "60: read [] gone [] next -",
      "1000: read [] gone [] next 1100",
    ],
  ],
};

describe("a manifest file", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [known, steps, lines]) => {
    expect(play(known, steps)).toEqual(lines);
  });

  test("starts to settle anew when it changed while it was read", () => {
    expect(lookAgainAt(unsettle(NOTHING_SETTLING, new Map([["a", look(1)]]), 40))).toBe(290);
  });
});
