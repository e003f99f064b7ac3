import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  COLOURS,
  isColoured,
  PLAIN,
  statusStyle,
  tintLabel,
  wantedColour,
} from "../../../src/cli/terminal/palette.ts";
import { GrowingTable, tableText } from "../../../src/cli/terminal-text.ts";

const TERMINAL = { TERM: "xterm-256color" };

test.each([
  ["on a terminal", undefined, true, TERMINAL, true],
  ["not in a pipe", undefined, false, TERMINAL, false],
  ["not with NO_COLOR, whatever its value", undefined, true, { ...TERMINAL, NO_COLOR: "0" }, false],
  ["with an empty NO_COLOR", undefined, true, { ...TERMINAL, NO_COLOR: "" }, true],
  ["not on a dumb terminal", "auto", true, { TERM: "dumb" }, false],
  ["in a pipe with --color always, whatever NO_COLOR", "always", false, { NO_COLOR: "1" }, true],
  ["not with --color never", "never", true, TERMINAL, false],
  ["as auto with another word", "sometimes", true, TERMINAL, true],
])("there is colour: %s", (_case, wanted, isTerminal, environment, expected) => {
  expect(isColoured({ wanted, isTerminal, environment })).toBe(expected);
});

test.each([
  ["get pods", undefined],
  ["get pods --color always", "always"],
  ["--color=never get pods", "never"],
  ["get --color=never --color always", "always"],
  ["get pods --color", undefined],
  ["exec web -- ls --color always", undefined],
])("%s wants %p", (line, wanted) => {
  expect(wantedColour(line.split(" "))).toBe(wanted);
});

test.each([
  ["Running", "good"],
  ["Completed", "good"],
  ["Pending", "pending"],
  ["Init:0/1", "pending"],
  ["Terminating", "pending"],
  ["CrashLoopBackOff", "bad"],
  ["Init:CrashLoopBackOff", "bad"],
  ["ErrImagePull", "bad"],
  ["CreateContainerConfigError", "bad"],
  ["Evicted", "bad"],
  ["OOMKilled", "bad"],
  ["ExitCode:3", "bad"],
  ["Opaque", undefined],
  ["anything else", undefined],
] as const)("%s is %p", (word, style) => {
  expect(statusStyle(word)).toBe(style);
});

test.each([
  ["Error: no agent\n", "\u001b[31mError\u001b[0m: no agent\n"],
  ["error: timed out\n", "\u001b[31merror\u001b[0m: timed out\n"],
  ["Error from server (NotFound): x\n", "\u001b[31mError\u001b[0m from server (NotFound): x\n"],
  ["Warning: old\n", "\u001b[33mWarning\u001b[0m: old\n"],
  ["Errors are no label\n", "Errors are no label\n"],
  ["web: Error: no label\n", "web: Error: no label\n"],
])("%j has its label in colour", (text, shown) => {
  expect(tintLabel(COLOURS, text)).toBe(shown);
  expect(tintLabel(PLAIN, text)).toBe(text);
});

describe("a table in colour", () => {
  const cell = fc.oneof(
    fc.constantFrom("Running", "Pending", "Error", ""),
    fc.string({ unit: "binary", maxLength: 12 }),
  );
  const rows = fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { maxLength: 6 });

  test("is the same table when its colours are removed, and cells bring none of their own", () => {
    fc.assert(
      fc.property(rows, fc.boolean(), (lines, isHeadless) => {
        const titles = ["NAME", "STATUS", "AGE"];
        const shown = (palette: typeof PLAIN): string =>
          tableText(titles, lines, { palette, isHeadless });
        expect(Bun.stripANSI(shown(COLOURS))).toBe(shown(PLAIN));
        expect(shown(PLAIN)).not.toContain("\u001b");
      }),
    );
  });

  test("has bold titles and the word of status in its colour, within the width", () => {
    const table = new GrowingTable(["NAME", "STATUS", "AGE"], { palette: COLOURS });
    expect(table.add([["Running", "Running", "1d"]])).toBe(
      "\u001b[1mNAME\u001b[0m      \u001b[1mSTATUS\u001b[0m    \u001b[1mAGE\u001b[0m\n" +
        "Running   \u001b[32mRunning\u001b[0m   1d\n",
    );
    expect(table.add([["web", "Error", "1d"]])).toBe("web       \u001b[31mError\u001b[0m     1d\n");
  });
});
