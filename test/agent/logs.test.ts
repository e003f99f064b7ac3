// A whole agent beside a pod that writes more than its card can hold: two days of it, or AGENT_LOG_DAYS. A month without
// the rest of the agent is in component/runtime/logs/month.test.ts.

import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FileSystemRoom } from "../../src/host/resource-readings.ts";
import { FakeReadings } from "../fakes/fake-readings.ts";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

const GB = 1e9;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const DAYS = Number(process.env["AGENT_LOG_DAYS"] ?? 2);
const DAY_TIMEOUT = 300_000;
const CARD_BYTES = 4 * GB;
/** The system, images and data. When less than 15 % is left, the node has DiskPressure and evicts pods. */
const OTHERS_BYTES = 3.1 * GB;
const STEP = 5 * MINUTE;
const STEP_BYTES = Math.round(GB / 12);

function bytesBelow(directory: string): number {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce(
    (sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size,
    0,
  );
}

/** A card on which lies what the logs take, and everything else. */
class CardReadings extends FakeReadings {
  directory = "";
  most = 0;
  #logs = 0;

  look(): void {
    this.#logs = bytesBelow(this.directory);
    this.most = Math.max(this.most, this.#logs);
  }

  override fileSystem(): FileSystemRoom {
    const available = CARD_BYTES - OTHERS_BYTES - this.#logs;
    return { ...this.disk, bytes: { capacity: CARD_BYTES, available } };
  }
}

test(
  "1 GB of logs an hour for days on a card of 4 GB: the node is ready, nothing of it is evicted or restarted",
  async () => {
    const readings = new CardReadings();
    using bench = new UpstreamBench({
      edges: {
        readings,
        // Holes take no space here, and their apparent size is what counts.
        compressFile: async (from, to) => {
          await Promise.resolve();
          writeFileSync(to, "");
          truncateSync(to, Math.round(statSync(from).size / 8));
        },
      },
      // Thirty times more rarely than by default: the month passes sooner, and more is written between two looks.
      config: { containerLogMonitorInterval: STEP },
    });
    const directory = join(bench.root, "logs");
    mkdirSync(directory);
    readings.directory = directory;
    Object.assign(bench.edges.machine, { storageBytes: CARD_BYTES });
    bench.broker.publish(
      "agent/v1/node/pi-1/desired",
      aDocument(1, { resources: [aPodNamed("chatty")] }),
    );
    bench.start();
    await bench.clock.advance(MINUTE);
    const { logs } = bench;
    const [id = ""] = logs.ids;
    const conditions = (): string => {
      const all = bench.facts.node().status.conditions;
      return ["Ready", "DiskPressure"]
        .map((name) => `${name} ${all.find(({ type }) => type === name)?.status}`)
        .join(", ");
    };
    for (let day = 0; day < DAYS; day += 1) {
      for (let spent = 0; spent < DAY; spent += STEP) {
        logs.grow(id, STEP_BYTES);
        readings.look();
        await bench.clock.advance(STEP);
      }
      expect([day, conditions()]).toEqual([day, "Ready True, DiskPressure False"]);
    }
    expect(readings.most).toBeLessThan(2 * STEP_BYTES + 70e6);
    expect(logs.isAtItsPath(id)).toBe(true);
    expect(logs.ids).toEqual([id]);
    const reasons = new Set(bench.facts.events().map(({ reason }) => reason));
    expect([...reasons].filter((reason) => /Evict|Pressure|Killing|BackOff/.test(reason))).toEqual(
      [],
    );
    expect(bench.lines.filter((line) => line.includes("cannot rotate"))).toEqual([]);
    await bench.stop();
  },
  DAYS * DAY_TIMEOUT,
);
