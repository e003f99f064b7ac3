// What a terminal shows: text without control characters, columns, ages, and the place of an error.

import { humanDuration } from "../api/resource/duration.ts";
import { tableTint, type Palette, type Tint } from "./terminal/palette.ts";

// Text from pods and brokers must not command the terminal that shows it. These are Unicode's control and format
// characters (escape sequences, changes of the writing direction, characters without width) and its line and
// paragraph separators.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const UNPRINTABLE_IN_TEXT = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** One line: every control character, line feeds too, becomes its escape `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escape);
}

/** A whole text that keeps its lines and tabs. In JSON the escapes mean the same characters as before. */
export function printableText(text: string): string {
  return text.replace(UNPRINTABLE_IN_TEXT, escape);
}

function escape(character: string): string {
  // A character beyond U+FFFF is two units, as in JSON.
  return Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
    .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)
    .join("");
}

/** One row of a table; kubectl's form: left-aligned, three spaces apart, nothing after the last column. */
export type Row = readonly string[];

const GAP = 3;
/** With the gap, kubectl's narrowest column has six characters. */
const NARROWEST = 3;

/** The widths that hold all rows; columns of an earlier table never become narrower. */
export function columnWidths(rows: readonly Row[], earlier: readonly number[] = []): number[] {
  const widths = [...earlier];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? NARROWEST, printable(cell).length);
    });
  }
  return widths;
}

/** The rows as lines, each ending in a line feed. */
export function formatRows(
  rows: readonly Row[],
  widths: readonly number[],
  tint: Tint = (cell) => cell,
): string {
  const cellOf = (cell: string, row: number, column: number): string => {
    const shown = printable(cell);
    const isLast = column === (rows[row]?.length ?? 0) - 1;
    // Colours have no width.
    const gap = isLast ? 0 : (widths[column] ?? 0) + GAP - shown.length;
    return tint(shown, { row, column }) + " ".repeat(gap);
  };
  return rows
    .map((cells, row) => `${cells.map((cell, column) => cellOf(cell, row, column)).join("")}\n`)
    .join("");
}

/** A table with its titles first, in the colours of the terminal. */
export function tableText(titles: Row, rows: readonly Row[], options: TableOptions): string {
  const { palette, isHeadless = false } = options;
  const lines = isHeadless ? rows : [titles, ...rows];
  return formatRows(lines, columnWidths(lines), tableTint(palette, titles, { isHeadless }));
}

interface TableOptions {
  readonly palette: Palette;
  /** Without its titles. */
  readonly isHeadless?: boolean;
}

/** A table that grows: its header precedes the first rows, and columns never become narrower. */
export class GrowingTable {
  readonly #header: Row;
  readonly #isHeadless: boolean;
  readonly #palette: Palette;
  #widths: number[] = [];
  #isBegun = false;

  constructor(header: Row, { palette, isHeadless = false }: TableOptions) {
    this.#header = header;
    this.#isHeadless = isHeadless;
    this.#palette = palette;
  }

  /** The columns are to hold these rows too, which come later. */
  fit(rows: readonly Row[]): void {
    this.#widths = columnWidths(rows, this.#widths);
  }

  /** The lines to print for these rows; "" for none. */
  add(rows: readonly Row[]): string {
    if (rows.length === 0) return "";
    const hasHeader = !this.#isBegun && !this.#isHeadless;
    this.#isBegun = true;
    const lines = hasHeader ? [this.#header, ...rows] : rows;
    this.#widths = columnWidths(lines, this.#widths);
    const tint = tableTint(this.#palette, this.#header, { isHeadless: !hasHeader });
    return formatRows(lines, this.#widths, tint);
  }
}

/** `cell` is a method, so that resources of different objects fit in one list. */
export interface Column<T> {
  readonly title: string;
  /** With `-o wide` only. */
  readonly isWide?: true;
  cell(item: T, view: TableView): string;
}

export interface TableView {
  readonly isWide: boolean;
  /** Wall-clock ms, for the ages only. */
  readonly now: number;
}

export function titlesOf<T>(columns: readonly Column<T>[], isWide: boolean): Row {
  return shown(columns, isWide).map(({ title }) => title);
}

export function cellsOf<T>(columns: readonly Column<T>[], item: T, view: TableView): Row {
  // An empty cell would shift the columns for `awk`.
  return shown(columns, view.isWide).map((column) => column.cell(item, view) || "<none>");
}

function shown<T>(columns: readonly Column<T>[], isWide: boolean): readonly Column<T>[] {
  return columns.filter((column) => isWide || column.isWide !== true);
}

/** How long ago an RFC 3339 time was; `now` is wall-clock ms. */
export function age(time: string | undefined, now: number): string {
  const then = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

export interface PlacedError {
  /** A path, or a topic. */
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Of the field; "" = the whole file. */
  readonly path: string;
  readonly message: string;
}

/** One line `file:line:column: field: message`, as far as each is known; `label` precedes the field. */
export function errorLine({ file, line, column, path, message }: PlacedError, label = ""): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return printable(`${place}: ${label}${path === "" ? "" : `${path}: `}${message}`);
}
