import { describe, expect, test } from "bun:test";
import {
  exitCodeOf,
  fsckText,
  type FsckFinding,
  type Outcome,
} from "../../../../src/cli/fsck/fsck-report.ts";

const finding = (outcome: Outcome): FsckFinding => ({
  part: "image",
  file: "/blob",
  what: "it is cut\u001b[2J",
  remedy: "agent fsck --repair",
  outcome,
  images: ["a:1"],
  pods: ["default/web"],
});
const report = (...outcomes: readonly Outcome[]) => ({
  checked: [{ part: "image" as const, what: "2 images" }],
  findings: outcomes.map(finding),
});

describe("the exit code is that of fsck(8)", () => {
  const cases: readonly (readonly [string, readonly Outcome[], number])[] = [
    ["nothing", [], 0],
    ["all repaired", ["Repaired", "Repaired"], 1],
    ["damage left", ["Found"], 4],
    ["some repaired and some left", ["Repaired", "Found"], 4],
    ["not looked at", ["Unchecked"], 8],
    ["repaired, and something not looked at", ["Repaired", "Unchecked"], 9],
    ["left, and something not looked at", ["Found", "Unchecked"], 12],
  ];
  test.each(cases)("%s", (_, outcomes, code) => {
    expect(exitCodeOf(report(...outcomes))).toBe(code);
  });
});

test("the text names file, images, pods and remedy, and nothing moves the cursor", () => {
  expect(fsckText(report("Found"))).toBe(
    [
      "image  2 images",
      "",
      "damaged    image /blob: it is cut\\u001b[2J",
      "           images: a:1",
      "           pods: default/web",
      "           → agent fsck --repair",
      "",
      "1 damaged, 0 repaired, 0 unchecked",
      "",
    ].join("\n"),
  );
  expect(fsckText(report())).toEndWith("nothing is damaged\n");
});
