// A whole agent beside a pod that writes more than its card can hold.

import { expect, test } from "bun:test";
import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

const GB = 1e9;
const MINUTE = 60_000;
const HOURS = 6;
/** Not the whole of it is for logs. */
const CARD_BYTES = 4 * GB;
const MINUTE_BYTES = Math.round(GB / 60);

function bytesBelow(directory: string): number {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce(
    (sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size,
    0,
  );
}

test("6 GB of logs on a card of 4 GB: the node is ready, and nothing of it was restarted", async () => {
  using bench = new UpstreamBench({
    edges: {
      // Holes take no space here, and their apparent size is what counts.
      compressFile: async (from, to) => {
        await Promise.resolve();
        writeFileSync(to, "");
        truncateSync(to, Math.round(statSync(from).size / 8));
      },
    },
  });
  Object.assign(bench.edges.machine, { storageBytes: CARD_BYTES });
  bench.broker.publish(
    "agent/v1/node/pi-1/desired",
    aDocument(1, { resources: [aPodNamed("chatty")] }),
  );
  bench.start();
  await bench.clock.advance(MINUTE);
  const { logs } = bench;
  const [id = ""] = logs.ids;
  const directory = join(bench.root, "logs");
  let most = 0;
  for (let minute = 0; minute < HOURS * 60; minute += 1) {
    logs.grow(id, MINUTE_BYTES);
    most = Math.max(most, bytesBelow(directory));
    await bench.clock.advance(MINUTE);
  }
  expect(most).toBeLessThan(0.05 * CARD_BYTES);
  expect(logs.isAtItsPath(id)).toBe(true);
  expect(logs.ids).toEqual([id]);
  const ready = bench.facts.node().status.conditions.find(({ type }) => type === "Ready");
  expect(ready?.status).toBe("True");
  expect(bench.lines.filter((line) => line.includes("cannot rotate"))).toEqual([]);
  await bench.stop();
}, 60_000);
