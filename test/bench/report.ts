// The table: what was measured, the budget, and what the kubelet needs for the same.

import type { Pairs } from "./pairs.ts";
import { spread } from "./statistics.ts";

export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly bare: string;
  readonly ratio: string;
  readonly spread: string;
  readonly pairs: string;
  readonly budget: string;
  readonly verdict: string;
  readonly kubelet: string;
}

export interface Line {
  readonly row: Row;
  readonly notes: readonly string[];
  /** For --json. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Where a line differs from the budget's own unit, `limit` is in the same unit as `value`. */
export interface Labels {
  readonly what: string;
  readonly budget: string;
  /** Absent = nobody has set one: the line is there to be compared with itself. */
  readonly limit?: number;
  readonly kubelet: string;
}

export function ratioLine(labels: Labels, pairs: Pairs): Line {
  const { agent, bare, notes } = pairs;
  const { what, budget, kubelet } = labels;
  const bareTimes = spread(bare);
  const row = { what, bare: ms(bareTimes.median), pairs: String(bare.length), budget, kubelet };
  if (agent.length === 0) {
    const range = `${ms(bareTimes.min)}–${ms(bareTimes.max)} bare`;
    return {
      row: { ...row, measured: "–", ratio: "–", spread: range, verdict: "no agent" },
      notes,
      data: { what, bare },
    };
  }
  const times = spread(agent);
  const ratios = spread(agent.map((time, index) => time / (bare[index] ?? Number.NaN)));
  return {
    row: {
      ...row,
      measured: ms(times.median),
      ratio: `${ratios.median.toFixed(2)} ×`,
      spread: `${ratios.q1.toFixed(2)}–${ratios.q3.toFixed(2)} (${ratios.min.toFixed(2)}–${ratios.max.toFixed(2)})`,
      verdict: verdict(ratios.median, labels.limit),
    },
    notes,
    data: { what, ratio: ratios, limit: labels.limit, agent, bare, notes },
  };
}

export interface Value {
  readonly value: number;
  /** As it is printed, with its unit. */
  readonly text: string;
  readonly spread?: string;
  readonly n?: number;
  readonly notes?: readonly string[];
}

export function valueLine(labels: Labels, measured: Value): Line {
  const { value, text, notes = [] } = measured;
  return {
    row: {
      what: labels.what,
      measured: text,
      bare: "",
      ratio: "",
      spread: measured.spread ?? "",
      pairs: String(measured.n ?? 1),
      budget: labels.budget,
      verdict: verdict(value, labels.limit),
      kubelet: labels.kubelet,
    },
    notes,
    data: { what: labels.what, value, limit: labels.limit, notes },
  };
}

const HEADER: Row = {
  what: "what",
  measured: "agent",
  bare: "bare calls",
  ratio: "ratio",
  spread: "quartiles (min–max)",
  pairs: "n",
  budget: "budget",
  verdict: "",
  kubelet: "kubelet 1.36",
};
const COLUMNS = Object.keys(HEADER) as readonly (keyof Row)[];

/** The table, and below it the notes of each line. */
export function printed(lines: readonly Line[]): string {
  const rows = [HEADER, ...lines.map(({ row }) => row)];
  const widths = COLUMNS.map((column) => Math.max(...rows.map((row) => row[column].length)));
  const text = rows.map((row) =>
    COLUMNS.map((column, index) => row[column].padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const notes = lines
    .filter((line) => line.notes.length > 0)
    .flatMap(({ row, notes: own }) => [`${row.what}:`, ...own.map((note) => `  ${note}`)]);
  return [...text, "", ...notes].join("\n");
}

/** The same table for a document, with the notes as a list. */
export function markdown(lines: readonly Line[]): string {
  const cells = (row: Row): string => `| ${COLUMNS.map((column) => row[column]).join(" | ")} |`;
  const notes = lines.flatMap(({ row, notes: own }) =>
    own.map((note) => `- **${row.what}**: ${note}`),
  );
  const rule = `|${COLUMNS.map(() => " --- ").join("|")}|`;
  const table = [cells(HEADER), rule, ...lines.map(({ row }) => cells(row))];
  return `${[...table, "", ...notes].join("\n")}\n`;
}

export function ms(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(0)} ms`;
}

function verdict(value: number, limit: number | undefined): string {
  if (limit === undefined) return "";
  if (value <= limit) return "within";
  return limit === 0 ? "over" : `over by ${Math.round((100 * (value - limit)) / limit)} %`;
}
