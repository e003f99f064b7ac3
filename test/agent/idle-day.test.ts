// A day in which nothing happens, with fifty pods: nothing grows and nothing is written.

import { heapStats } from "bun:jsc";
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY_HOURS = 24;
const FILES = 25;
const HEAP_NOISE_BYTES = 64 * 1024;

/** Every file below the node's directory with its size and time; not SQLite's index in memory, which a reader touches. */
function filesOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => ({ name, found: statSync(join(root, name)) }))
    .filter(({ name, found }) => found.isFile() && !name.endsWith("-shm"))
    .map(({ name, found }) => `${name} ${found.size} ${found.mtimeMs}`);
}

function rowsOf(root: string): Readonly<Record<string, number>> {
  using database = new Database(join(root, "state", "agent.db"), { readonly: true });
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => {
      const count = database.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${name}"`).get();
      return [name, count?.n ?? 0];
    }),
  );
}

interface Heap {
  readonly objects: number;
  readonly bytes: number;
}

/** What lives on the heap, without what the fakes record, and without compiled code, which comes and goes. */
async function heapOf(bench: UpstreamBench): Promise<Heap> {
  bench.runtime.calls.length = 0;
  bench.lines.length = 0;
  bench.broker.publications.length = 0;
  // It drops the code of functions as soon as none runs.
  Bun.shrink();
  await new Promise<void>((resolve) => void setImmediate(resolve));
  Bun.gc(true);
  const { objectCount: objects, heapSize: bytes } = heapStats();
  return { objects, bytes };
}

const CHANGING_CALLS = /^(?:run|create|start|stop|remove|pull|update|exec|reopen)/i;

test("a day of fifty idle pods grows no row, no file and no memory, and writes nothing", async () => {
  using bench = new UpstreamBench();
  const manifests = join(bench.root, "manifests");
  for (let at = 0; at < FILES; at += 1)
    writeFileSync(join(manifests, `file-${at}.yaml`), JSON.stringify(aPodNamed(`file-${at}`)));
  const resources = Array.from({ length: FILES }, (_, at) => aPodNamed(`sent-${at}`));
  bench.broker.publish("agent/v1/node/pi-1/desired", aDocument(1, { resources }));
  bench.start();
  // Two hours in, everything has been looked at by each of the slow loops.
  await bench.clock.advance(2 * HOUR);
  expect(bench.report()?.pods).toHaveLength(2 * FILES);
  // The first look leaves code that the second one drops.
  await heapOf(bench);
  await bench.clock.advance(HOUR);
  const heap = await heapOf(bench);
  const before = { files: filesOf(bench.root), rows: rowsOf(bench.root) };
  const written = bench.rowsChanged;
  bench.changes.length = 0;

  const changing: string[] = [];
  for (let hour = 0; hour < DAY_HOURS; hour += 1) {
    await bench.clock.advance(HOUR);
    changing.push(...bench.runtime.callNames().filter((call) => CHANGING_CALLS.test(call)));
    bench.runtime.calls.length = 0;
  }

  expect(changing).toEqual([]);
  // Also what comes and goes again, and a row that is overwritten by the same one.
  expect(bench.changes).toEqual([]);
  expect(bench.rowsChanged - written).toBe(0);
  expect(rowsOf(bench.root)).toEqual(before.rows);
  expect(filesOf(bench.root)).toEqual(before.files);
  const after = await heapOf(bench);
  console.log(
    `a day: ${heap.objects} objects became ${after.objects}, ${heap.bytes} bytes ${after.bytes}; ` +
      `${bench.changes.length} of ${before.files.length} files written, ` +
      `${bench.rowsChanged - written} rows`,
  );
  // Less than one object an hour: what is kept of each look, relist or report is far more.
  expect(after.objects - heap.objects).toBeLessThan(DAY_HOURS);
  expect(after.bytes - heap.bytes).toBeLessThan(HEAP_NOISE_BYTES);
  await bench.stop();
}, 600_000);
