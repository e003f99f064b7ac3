// Columns of text as kubectl sets them: left-aligned, three spaces apart, nothing after the last one.

import { printable } from "./printable.ts";

export type Row = readonly string[];

const GAP = 3;

/** The widths that hold all rows; columns of an earlier table never become narrower. */
export function columnWidths(rows: readonly Row[], earlier: readonly number[] = []): number[] {
  const widths = [...earlier];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cellText(cell).length);
    });
  }
  return widths;
}

/** The rows as lines, each ending in a line feed. */
export function formatRows(rows: readonly Row[], widths: readonly number[]): string {
  return rows.map((row) => `${formatRow(row, widths)}\n`).join("");
}

function formatRow(row: Row, widths: readonly number[]): string {
  return row
    .map((cell, column) => {
      const shown = cellText(cell);
      return column === row.length - 1 ? shown : shown.padEnd((widths[column] ?? 0) + GAP);
    })
    .join("");
}

/** An empty cell would shift the columns for `awk`. */
function cellText(cell: string): string {
  return cell === "" ? "<none>" : printable(cell);
}
