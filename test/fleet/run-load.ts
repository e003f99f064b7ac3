// A fleet of nodes without containers on one mosquitto: what it takes to switch it on, to leave it alone, to give it a document,
// to restart its broker, and to look at it.
//
// ./build.sh fleet-load [--nodes 1000,3000,10000] [--idle-seconds 300] [--json FILE]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";

import { startBroker } from "../harness/broker.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";
import { LoadNodes } from "./load-nodes.ts";
import { exporter, page, status } from "./operators.ts";
import type { FleetFigures, FleetResults } from "./results.ts";
import { brokerUsage, groupDocument, idle, restartBroker, switchOn } from "./scenes.ts";

/** Of a node: its connection, and the three files of its store. */
const FILES_PER_NODE = 4;
const SPARE_FILES = 200;
const PROCESSES = 4;
const SETTLE_MS = 75_000;
/** After the reports of a document. */
const CALM_MS = 20_000;

const { values: flags } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000,3000,10000" },
    "idle-seconds": { type: "string", default: "300" },
    json: { type: "string" },
  },
});

async function measure(nodes: number): Promise<FleetFigures> {
  const temp = makeTempDirectory();
  // In memory: the disk of one machine does not stand for those of thousands.
  const directory = mkdtempSync("/dev/shm/agent-fleet-");
  try {
    const broker = await startBroker(temp, { log: "error" });
    await using all = await LoadNodes.build({
      nodes,
      processes: PROCESSES,
      url: broker.url,
      directory,
      uptime: 0,
    });
    const stage = { broker, nodes: all, count: nodes, directory };
    const told = <T>(what: string, value: T): T => {
      console.log(`${nodes} nodes: ${what}: ${JSON.stringify(value)}`);
      return value;
    };
    const on = told("switched on", await switchOn(stage));
    // Birth is published again, and the reports of the start have gone out.
    await Bun.sleep(SETTLE_MS);
    const quiet = told("idle", await idle(stage, Number(flags["idle-seconds"])));
    const document = told("document for the group", await groupDocument(stage));
    await Bun.sleep(CALM_MS);
    const seen = told("fleet status", await status(broker, nodes));
    const scraped = told("exporter", await exporter(broker, nodes));
    const shown = told("page", await page(broker, nodes));
    const restart = told("broker restarted", await restartBroker(stage));
    const { megabytes } = brokerUsage(broker);
    return {
      nodes,
      on,
      idle: quiet,
      document,
      status: seen,
      exporter: scraped,
      page: shown,
      restart,
      brokerMegabytes: megabytes,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    temp.remove();
  }
}

/** Throws when the broker, or a process with nodes, may not open as many files as it needs. */
function demandFiles(nodes: number): void {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const allowed = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
  const needed = SPARE_FILES + Math.max(nodes, Math.ceil(nodes / PROCESSES) * FILES_PER_NODE);
  if (allowed < needed)
    throw new Error(
      `${nodes} nodes need ${needed} open files and ${allowed} are allowed: ulimit -n ${needed}`,
    );
}

const sizes = flags.nodes.split(",").map(Number);
demandFiles(Math.max(...sizes));
const machine = `${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? "an unknown processor"}`;
const figures: FleetFigures[] = [];
for (const nodes of sizes) {
  figures.push(await measure(nodes));
  const results: FleetResults = {
    machine,
    figures: figures.toSorted((a, b) => a.nodes - b.nodes),
  };
  if (flags.json !== undefined)
    writeFileSync(flags.json, `${JSON.stringify(results, undefined, 2)}\n`);
}
