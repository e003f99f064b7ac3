// The results of a run, and the table that is made of them. docs/benchmarks.json holds the published ones.

import type { Pairs } from "./pairs.ts";
import { spread, type Spread } from "./statistics.ts";

/** What a line measures, its budget, and what the kubelet needs for the same. */
export interface Labels {
  readonly what: string;
  readonly budget: string;
  /** In the unit of the measured value; absent = there is no budget, the line is compared with earlier runs only. */
  readonly limit?: number;
  readonly kubelet: string;
  /** Lowest and highest of the kubelet, in the unit of the measured value; absent = not measured. */
  readonly kubeletRange?: readonly [low: number, high: number];
}

export type Measured =
  | {
      readonly type: "Ratio";
      /** Of the ratios within the pairs. */
      readonly ratio: Spread;
      /** Medians in milliseconds. */
      readonly agentMs: number;
      readonly bareMs: number;
      /** All pairs in milliseconds; the published results leave them out. */
      readonly samples?: { readonly agent: readonly number[]; readonly bare: readonly number[] };
    }
  /** The agent is not built. */
  | { readonly type: "Bare"; readonly bareMs: Spread }
  | {
      readonly type: "Value";
      readonly value: number;
      /** The value as it is printed, with its unit. */
      readonly text: string;
      readonly spread?: string;
      readonly n: number;
    };

export interface Line extends Labels {
  readonly measured: Measured;
  /** Facts that explain the numbers. */
  readonly notes: readonly string[];
  /** Further numbers of this line. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What `--json` writes. */
export interface Results {
  readonly machine: string;
  readonly lines: readonly Line[];
  /** Lines that could not be measured, and why. */
  readonly failures: readonly string[];
}

export function ratioLine(labels: Labels, { agent, bare, notes }: Pairs): Line {
  if (agent.length === 0)
    return { ...labels, measured: { type: "Bare", bareMs: spread(bare) }, notes };
  const measured: Measured = {
    type: "Ratio",
    ratio: spread(agent.map((time, index) => time / (bare[index] ?? Number.NaN))),
    agentMs: spread(agent).median,
    bareMs: spread(bare).median,
    samples: { agent, bare },
  };
  return { ...labels, measured, notes };
}

export interface Value {
  readonly value: number;
  readonly text: string;
  readonly spread?: string;
  readonly n?: number;
  readonly notes?: readonly string[];
}

export function valueLine(labels: Labels, { notes = [], n = 1, ...measured }: Value): Line {
  return { ...labels, measured: { type: "Value", n, ...measured }, notes };
}

const COLUMNS = {
  what: "what",
  measured: "agent",
  bare: "bare calls",
  ratio: "ratio",
  spread: "quartiles (min–max)",
  n: "n",
  budget: "budget",
  verdict: "",
  kubelet: "kubelet 1.36",
} as const;
type Row = Readonly<Record<keyof typeof COLUMNS, string>>;
const COLUMN_NAMES = Object.keys(COLUMNS) as readonly (keyof Row)[];

function rowOf({ what, budget, limit, kubelet, measured }: Line): Row {
  const labels = { what, budget, kubelet };
  switch (measured.type) {
    case "Ratio": {
      const { ratio, agentMs, bareMs } = measured;
      return {
        ...labels,
        measured: ms(agentMs),
        bare: ms(bareMs),
        ratio: `${ratio.median.toFixed(2)} ×`,
        spread: `${ratio.q1.toFixed(2)}–${ratio.q3.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
        n: String(ratio.n),
        verdict: verdict(ratio.median, limit),
      };
    }
    case "Bare": {
      const { median, min, max, n } = measured.bareMs;
      return {
        ...labels,
        measured: "–",
        bare: ms(median),
        ratio: "–",
        spread: `${ms(min)}–${ms(max)} bare`,
        n: String(n),
        verdict: "no agent",
      };
    }
    case "Value":
      return {
        ...labels,
        measured: measured.text,
        bare: "",
        ratio: "",
        spread: measured.spread ?? "",
        n: String(measured.n),
        verdict: verdict(measured.value, limit),
      };
  }
}

/** The table, and below it the notes of each line. */
export function printed(lines: readonly Line[]): string {
  const rows: readonly Row[] = [COLUMNS, ...lines.map(rowOf)];
  const widths = COLUMN_NAMES.map((column) => Math.max(...rows.map((row) => row[column].length)));
  const text = rows.map((row) =>
    COLUMN_NAMES.map((column, index) => row[column].padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const notes = lines
    .filter((line) => line.notes.length > 0)
    .flatMap(({ what, notes: own }) => [`${what}:`, ...own.map((note) => `  ${note}`)]);
  return [...text, "", ...notes].join("\n");
}

/** The same table for a document, with the notes as a list. */
export function markdown(lines: readonly Line[]): string {
  const cells = (row: Row): string =>
    `| ${COLUMN_NAMES.map((column) => row[column]).join(" | ")} |`;
  const notes = lines.flatMap(({ what, notes: own }) =>
    own.map((note) => `- **${what}**: ${note}`),
  );
  const rule = `|${COLUMN_NAMES.map(() => " --- ").join("|")}|`;
  const table = [cells(COLUMNS), rule, ...lines.map((line) => cells(rowOf(line)))];
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
