// The search of the page, which runs in the browser.

import { expect, test } from "bun:test";
import { join } from "node:path";

interface Row {
  readonly name: string;
}
interface Search {
  readonly searchable: (row: object) => Row;
  readonly selectedRows: (rows: readonly Row[], written: string, state: string) => readonly Row[];
}

// By its path: elsewhere the file is embedded as text.
const file = join(import.meta.dir, "../../../../src/fleet/ui/page/search.js");
const { searchable, selectedRows } = (await import(file)) as Search;

const ROW = {
  state: "online",
  version: "1.2.3",
  phase: "Healthy",
  ready: "Ready",
  groups: [],
  labels: [],
  troubles: [],
  isTrouble: false,
};
const ROWS = [
  { ...ROW, name: "pi-1", labels: ["site=Berlin", "floor=2"], groups: ["kiosks"] },
  { ...ROW, name: "pi-2", state: "lost", labels: ["site=paris"], phase: "RolledBack" },
  { ...ROW, name: "pi-3", isTrouble: true, troubles: ["MemoryPressure"], labels: ["group=doors"] },
  { ...ROW, name: "pi-4", labels: ["formula=a=b"] },
].map((row) => searchable(row));

const CASES: readonly (readonly [string, string, readonly string[]])[] = [
  ["", "", ["pi-1", "pi-2", "pi-3", "pi-4"]],
  ["", "online", ["pi-1", "pi-3", "pi-4"]],
  ["", "away", ["pi-2"]],
  ["", "trouble", ["pi-3"]],
  ["PI-2", "", ["pi-2"]],
  ["memory", "", ["pi-3"]],
  ["site=berlin", "", ["pi-1"]],
  ["site=ber", "", []],
  ["site=berlin floor=2", "", ["pi-1"]],
  ["site=berlin floor=3", "", []],
  ["group=kiosks", "", ["pi-1"]],
  ["group=doors", "", ["pi-3"]],
  ["phase=rolledback", "", ["pi-2"]],
  ["formula=a=b", "", ["pi-4"]],
  ["text=pi", "", []],
  ["site=paris", "online", []],
];

test.each(CASES)("%p in state %p", (written, state, names) => {
  expect(selectedRows(ROWS, written, state).map(({ name }) => name)).toEqual([...names]);
});
