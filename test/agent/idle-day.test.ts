// A day in which nothing happens, with fifty pods: nothing grows and nothing is written.

import { heapStats } from "bun:jsc";
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FILES = 25;

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

/** Live objects of the heap, without what the fakes record. */
function liveObjects(bench: UpstreamBench): number {
  bench.runtime.calls.length = 0;
  bench.lines.length = 0;
  bench.broker.publications.length = 0;
  Bun.gc(true);
  return heapStats().objectCount;
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
  const before = { files: filesOf(bench.root), rows: rowsOf(bench.root), at: liveObjects(bench) };

  const changing: string[] = [];
  for (let hour = 0; hour < 24; hour += 1) {
    await bench.clock.advance(HOUR);
    changing.push(...bench.runtime.callNames().filter((call) => CHANGING_CALLS.test(call)));
    bench.runtime.calls.length = 0;
  }

  expect(changing).toEqual([]);
  expect(rowsOf(bench.root)).toEqual(before.rows);
  expect(filesOf(bench.root)).toEqual(before.files);
  const grown = liveObjects(bench) - before.at;
  console.log(`a day: ${grown} objects more than ${before.at}, ${before.files.length} files`);
  expect(grown).toBeLessThan(before.at / 200);
  await bench.stop();
}, 180_000);
