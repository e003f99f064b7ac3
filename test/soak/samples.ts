// What the agent of a soak holds, sample by sample, and whether it stays flat.

import { Database } from "bun:sqlite";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { memoryOf } from "../bench/process-facts.ts";
import { quantileOf } from "../bench/statistics.ts";

/** Measures by name: megabytes of 10^6 bytes, or numbers of things. */
export type Sample = Readonly<Record<string, number>>;

/** Of rows: a table that grows raises also the value to which it comes back; a queue that fills for a while does not. */
const [MEDIAN, COMES_BACK] = [0.5, 0.25];
const ROWS = "rows of ";
/** A measure is flat when its quantile of the last third is at most this much above the one of the third before. */
const GROWTH = 1.1;
/** What counts are allowed to differ by, whatever their size. */
const SLACK = 8;

export function takeSample(pid: number, state: string): Sample {
  const { rss, anonymous } = memoryOf(pid);
  return {
    "RSS, MB": rss,
    "anonymous, MB": anonymous,
    "file descriptors": entriesOf(`/proc/${pid}/fd`),
    threads: entriesOf(`/proc/${pid}/task`),
    "database, MB": sizeOf(join(state, "agent.db")) + sizeOf(join(state, "agent.db-wal")),
    "files of the state": readdirSync(state, { recursive: true }).length,
    ...rowsOf(join(state, "agent.db")),
  };
}

export interface Trend {
  readonly measure: string;
  /** Quantiles of the second and the last third. */
  readonly middle: number;
  readonly end: number;
  readonly peak: number;
  readonly isFlat: boolean;
}

/** The first third warms up. */
export function trends(samples: readonly Sample[]): readonly Trend[] {
  const third = Math.floor(samples.length / 3);
  return Object.keys(samples[0] ?? {}).map((measure) => {
    const values = samples.map((sample) => sample[measure] ?? 0);
    const share = measure.startsWith(ROWS) ? COMES_BACK : MEDIAN;
    const middle = quantileOf(values.slice(third, 2 * third), share);
    const end = quantileOf(values.slice(2 * third), share);
    const isFlat = end <= Math.max(middle * GROWTH, middle + SLACK);
    return { measure, middle, end, peak: Math.max(...values), isFlat };
  });
}

function entriesOf(directory: string): number {
  return readdirSync(directory).length;
}

function sizeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 1e6;
}

function rowsOf(path: string): Sample {
  using database = new Database(path, { readonly: true });
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => {
      const row = database
        .query<{ rows: number }, []>(`SELECT count(*) AS rows FROM "${name}"`)
        .get();
      return [`${ROWS}${name}`, row?.rows ?? 0] as const;
    }),
  );
}
