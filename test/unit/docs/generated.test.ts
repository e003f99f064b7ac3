import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

import { plot, readResults } from "../../bench/plot.ts";
import { generatedFiles } from "../../docs/draw.ts";
import { THEMES } from "../../docs/svg.ts";

const HOW = "write it anew with `bun test/docs/draw.ts`";

describe("the generated parts of docs/", () => {
  test.each([...generatedFiles()])("%s is what its generator writes", (file, expected) => {
    expect([HOW, readFileSync(file, "utf8")]).toEqual([HOW, expected]);
  });

  test("are the two themes of each picture, the table of the benchmarks, the reference and the manual page", () => {
    expect([...generatedFiles().keys()].map((file) => basename(file))).toEqual([
      "flow-light.svg",
      "flow-dark.svg",
      "benchmarks-light.svg",
      "benchmarks-dark.svg",
      "benchmarks.md",
      "fleet-scale-light.svg",
      "fleet-scale-dark.svg",
      "README.md",
      "pod-fields.md",
      "command-line.md",
      "configuration.md",
      "documents.md",
      "commands.md",
      "codes.md",
      "agent.1",
    ]);
  });
});

describe("the plot of the benchmarks", () => {
  const results = readResults();
  const [light] = THEMES;
  const drawn = (of = results): string => (light === undefined ? "" : plot(of, light));

  test("shows every line that has a ratio or a budget, with its number", () => {
    for (const { what, measured, limit } of results.lines) {
      if (measured.type === "Bare" || (measured.type === "Value" && (limit ?? 0) === 0)) continue;
      const number =
        measured.type === "Ratio" ? `${measured.ratio.median.toFixed(2)} ×` : measured.text;
      expect(drawn()).toContain(`>${what}</text>`);
      expect(drawn()).toContain(`>${number}</text>`);
    }
  });

  test("moves when a number moves", () => {
    const lines = results.lines.map((line) =>
      line.measured.type === "Ratio"
        ? { ...line, measured: { ...line.measured, ratio: { ...line.measured.ratio, q3: 1.9 } } }
        : line,
    );
    expect(drawn({ ...results, lines })).not.toBe(drawn());
  });

  test("draws a kubelet beyond the scale as an arrow with its range", () => {
    expect(drawn()).toContain(">44–56 ×</text>");
  });

  test("has a scale for all of the agent's own numbers", () => {
    const lines = results.lines.map((line) =>
      line.measured.type === "Ratio"
        ? { ...line, measured: { ...line.measured, ratio: { ...line.measured.ratio, max: 3.1 } } }
        : line,
    );
    expect(drawn()).not.toContain(">3.25 ×</text>");
    expect(drawn({ ...results, lines })).toContain(">3.25 ×</text>");
  });

  test("has quartiles in their order", () => {
    for (const { what, measured } of results.lines) {
      if (measured.type !== "Ratio") continue;
      const { min, q1, median, q3, max } = measured.ratio;
      const row = [min, q1, median, q3, max];
      expect([what, row]).toEqual([what, row.toSorted((a, b) => a - b)]);
    }
  });
});

test("every field of the configuration's reference has its default, or is required, or is made of fields", () => {
  const page = readFileSync("docs/reference/configuration.md", "utf8");
  const [supported = ""] = page.split("## Not supported yet");
  const rows = supported.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(80);
  const isSaid = (row: string): boolean => /\bDefault: |Required\./.test(row);
  const names = rows.filter((row) => !isSaid(row)).map((row) => row.split("`")[1]);
  expect(names).toEqual(["crashLoopBackOff", "containerGC"]);
});
