// The load program with few nodes: they connect, take a document of their group and report it; the operator's program sees all.

import { afterAll, expect, test } from "bun:test";

import { LoadNodes } from "../fleet/load-nodes.ts";
import { exporter, status } from "../fleet/operators.ts";
import { groupDocument, restartBroker, switchOn } from "../fleet/scenes.ts";
import { startBroker } from "../harness/broker.ts";
import { makeTempDirectory } from "../harness/temp-directory.ts";

const NODES = 30;
const HOUR_MS = 3_600_000;
const temp = makeTempDirectory();
afterAll(() => temp.remove());

test("simulated nodes connect, take and report a document, and come back to a broker that restarts", async () => {
  const broker = await startBroker(temp);
  const directory = temp.directory("nodes");
  await using nodes = await LoadNodes.build({
    nodes: NODES,
    processes: 2,
    url: broker.url,
    directory,
    uptime: HOUR_MS,
  });
  const stage = { broker, nodes, count: NODES, directory };
  expect(await switchOn(stage)).toMatchObject({ kicked: 0 });
  // Throws unless every node has accepted it, and reports it as Healthy.
  await groupDocument(stage);
  // Each throws unless it shows every node.
  await status(broker, NODES);
  await exporter(broker, NODES);
  expect(await restartBroker(stage, 0)).toMatchObject({ kicked: 0 });
  expect(nodes.deeds.filter(({ what }) => what === "ended")).toHaveLength(NODES);
}, 240_000);
