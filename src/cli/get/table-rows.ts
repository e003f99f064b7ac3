// The rows of a table of the server, as the flags of `agent get` ask for them.

import type { TableRowView, TableView } from "../../node/api-views.ts";
import { compareText } from "../../lib/compare.ts";
import type { Row } from "../terminal-text.ts";

export interface TableFlags {
  readonly isWide: boolean;
  /** NAMESPACE is the first column. */
  readonly withNamespace: boolean;
  /** Names are shown as KIND/NAME: this kind in small letters; undefined = as they are. */
  readonly kind: string | undefined;
  readonly withLabels: boolean;
  /** A column for each of these labels. */
  readonly labels: readonly string[];
}

type Columns = TableView["columnDefinitions"];

export function titlesOf(columns: Columns, flags: TableFlags): Row {
  return [
    ...(flags.withNamespace ? ["NAMESPACE"] : []),
    ...shown(columns, flags).map(({ name }) => name.toUpperCase()),
    ...flags.labels.map((label) => (label.split("/").at(-1) ?? "").toUpperCase()),
    ...(flags.withLabels ? ["LABELS"] : []),
  ];
}

/** `isGone`: the object is no longer there; its STATUS says so. */
export function rowOf(columns: Columns, row: TableRowView, flags: TableFlags, isGone = false): Row {
  const { name, namespace = "", labels = {} } = row.object.metadata;
  const cells = columns.flatMap((column, index) => {
    if (!isShown(column, flags)) return [];
    if (column.name === "Name" && flags.kind !== undefined) return [`${flags.kind}/${name}`];
    if (column.name === "Status" && isGone) return ["Gone"];
    return [cellText(row.cells[index])];
  });
  const all = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const sorted = all.toSorted(compareText).join(",");
  return [
    ...(flags.withNamespace ? [namespace] : []),
    ...cells,
    ...flags.labels.map((label) => labels[label] ?? ""),
    ...(flags.withLabels ? [sorted || "<none>"] : []),
  ];
}

/** What a watch compares: a row is printed again when this has changed. That time went by is no change. */
export function identityOf(columns: Columns, row: TableRowView, flags: TableFlags): string {
  const still = columns.filter(({ name }) => !AGES.includes(name));
  return JSON.stringify([
    row.object.metadata.uid,
    rowOf(still, { ...row, cells: cellsOf(columns, row) }, flags),
  ]);
}

const AGES = ["Age", "Last Seen", "First Seen"];

function cellsOf(columns: Columns, { cells }: TableRowView): readonly unknown[] {
  return cells.filter((_, index) => !AGES.includes(columns[index]?.name ?? ""));
}

function shown(columns: Columns, flags: TableFlags): Columns {
  return columns.filter((column) => isShown(column, flags));
}

function isShown({ priority }: Columns[number], { isWide }: TableFlags): boolean {
  return isWide || priority === 0;
}

function cellText(cell: unknown): string {
  return typeof cell === "string" ? cell : JSON.stringify(cell ?? "");
}
