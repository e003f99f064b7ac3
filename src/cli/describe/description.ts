// The text of a description in kubectl's form: levels of two spaces, and cells that tabs separate, aligned where lines with as
// many of them follow each other. kubectl: PrefixWriter over tabwriter

import { PLAIN, statusStyle, type Palette, type Style, type Tint } from "../terminal/palette.ts";
import { printable } from "../terminal-text.ts";

const INDENT = "  ";
const PADDING = 2;

export class Description {
  readonly #palette: Palette;
  #lines: string[] = [];
  /** Of the cells of each line. */
  #styles: (readonly (Style | undefined)[])[] = [];
  #text = "";

  constructor(palette: Palette = PLAIN) {
    this.#palette = palette;
  }

  /** A line of cells, `level` steps to the right. */
  line(level: number, ...cells: readonly string[]): void {
    const shown = cells.map(printable);
    this.#styles.push(stylesOf(level, cells));
    this.#lines.push([INDENT.repeat(level) + (shown[0] ?? ""), ...shown.slice(1)].join("\t"));
  }

  /** Text as it is, over several lines, each a step of its own. */
  plain(text: string): void {
    this.align();
    this.#text += text
      .split("\n")
      .map((line) => `${printable(line)}\n`)
      .join("");
  }

  /** What follows is not aligned with what precedes. */
  align(): void {
    const [palette, styles] = [this.#palette, this.#styles];
    this.#text += aligned(this.#lines, (cell, { row, column }) =>
      palette(cell, styles[row]?.[column]),
    );
    [this.#lines, this.#styles] = [[], []];
  }

  toString(): string {
    this.align();
    return this.#text;
  }
}

const STATES = ["Status:", "State:", "Last State:", "Reason:"];

/** Titles are headings, and words of status have their colours. */
function stylesOf(level: number, cells: readonly string[]): readonly (Style | undefined)[] {
  const [title = ""] = cells;
  const isTitle = level === 0 && title.endsWith(":");
  return cells.map((cell, column) => {
    if (column === 0) return isTitle ? "heading" : title === "Warning" ? "pending" : undefined;
    return STATES.includes(title) ? statusStyle(cell) : undefined;
  });
}

/** Go's tabwriter: a column is a run of lines that have a cell there with another one behind it. */
export function aligned(lines: readonly string[], tint: Tint = (cell) => cell): string {
  const rows = lines.map((line) => line.split("\t"));
  const widths: number[][] = rows.map(() => []);
  layOut(rows, widths, { from: 0, to: rows.length, column: 0 });
  return rows
    .map((cells, row) => {
      const shown = cells.map((cell, column) => {
        const width = column === cells.length - 1 ? 0 : (widths[row]?.[column] ?? 0);
        return tint(cell, { row, column }) + " ".repeat(Math.max(0, width - cell.length));
      });
      return `${shown.join("")}\n`;
    })
    .join("");
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly column: number;
}

function layOut(
  rows: readonly (readonly string[])[],
  widths: readonly number[][],
  { from, to, column }: Block,
): void {
  const hasCell = (row: number): boolean => (rows[row]?.length ?? 0) - 1 > column;
  for (let start = from; start < to; start += 1) {
    if (!hasCell(start)) continue;
    let end = start;
    while (end < to && hasCell(end)) end += 1;
    const cells = rows.slice(start, end).map((row) => row[column]?.length ?? 0);
    const width = Math.max(...cells) + PADDING;
    for (let row = start; row < end; row += 1) widths[row]?.push(width);
    layOut(rows, widths, { from: start, to: end, column: column + 1 });
    start = end;
  }
}
