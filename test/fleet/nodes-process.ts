// A process with many nodes; orders come from the load program.

import { systemClock } from "../../src/lib/system-clock.ts";
import { LoadNode, type Deed } from "./load-node.ts";
import type { NodesFacts, NodesOrder } from "./messages.ts";
import { makeNodeModel } from "./node-model.ts";

const BEAT_MS = 50;
/** Between them the channel is looked at. */
const BUILT_AT_ONCE = 100;

const stop = new AbortController();
const nodes: LoadNode[] = [];
let deeds: Deed[] = [];
let running: readonly Promise<void>[] = [];
let stalled = 0;
let lastBeat = performance.now();

setInterval(() => {
  const now = performance.now();
  stalled = Math.max(stalled, now - lastBeat - BEAT_MS);
  lastBeat = now;
}, BEAT_MS);

async function build({ url, directory, from, count, uptime }: NodesOrder): Promise<void> {
  const clock = systemClock(() => performance.now() + uptime);
  const model = await makeNodeModel();
  for (let index = 0; index < count; index += 1) {
    const number = from + index;
    const note = (deed: Deed): void => void deeds.push(deed);
    nodes.push(new LoadNode({ model, clock, number, url, directory, note }));
    if (index % BUILT_AT_ONCE === 0) await Bun.sleep(0);
  }
}

function look(): NodesFacts {
  let bytesIn = 0;
  let bytesOut = 0;
  for (const node of nodes)
    for (const { in: received, out } of Object.values(node.bytes())) {
      bytesIn += received;
      bytesOut += out;
    }
  const facts = { deeds, bytesIn, bytesOut, stalled };
  deeds = [];
  stalled = 0;
  return facts;
}

async function obey(order: NodesOrder): Promise<NodesFacts | undefined> {
  switch (order.order) {
    case "build":
      await build(order);
      return undefined;
    case "start":
      running = nodes.map((node) => node.run(stop.signal));
      return undefined;
    case "look":
      return look();
    case "stop":
      stop.abort();
      await Promise.all(running);
      for (const node of nodes) node.close();
      return undefined;
  }
}

process.on("message", (order: NodesOrder) => {
  void obey(order).then((facts) => {
    process.send?.(facts ?? "done");
    if (order.order === "stop") process.exit(0);
  });
});
// The load program has ended.
process.on("disconnect", () => process.exit(1));
