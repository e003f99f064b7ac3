// The power goes inside the checkpoint of a document: at each flush of the disk between its arrival and its row.

import { ok, strictEqual } from "node:assert/strict";

import type { Device } from "../device.ts";
import { readDisk, type DiskState } from "../disk-state.ts";
import { deviceWithBroker, publish, runsOnce } from "../mqtt.ts";
import { sleeper } from "../pods.ts";
import type { Scenario } from "../scenario.ts";

const INSIDE = Number(process.env["AGENT_DEVICE_CHECKPOINTS"] ?? 5);
/** More flushes than a checkpoint takes. */
const MOST_FLUSHES = 40;
const ACCEPTED_WITHIN = 120_000;

/** What the disk has of the newest document after a cut. */
type Stored = "nothing" | "file only" | "row";

export const checkpointCuts: Scenario = {
  name: "checkpoint-cuts",
  about: `${INSIDE} cuts inside the checkpoint of a document: the old or the new one runs, whole, and the new one when it is sent again`,
  run: async (stage) => {
    const device = await deviceWithBroker(stage, "checkpoint");
    const { guest } = device;
    await publishVersion(device, 1);
    await runsOnce(device, ["1"]);
    const seen: Record<Stored, number> = { nothing: 0, "file only": 0, row: 0 };
    let flushes = 1;
    for (let generation = 2; seen["file only"] < INSIDE; generation += 1) {
      ok(flushes <= MOST_FLUSHES && generation < 40, "no cut fell inside a checkpoint");
      const died = guest.diskDiesAtFlush(flushes);
      await publishVersion(device, generation);
      await Promise.race([died, Bun.sleep(ACCEPTED_WITHIN)]);
      const { lost } = await guest.powerCut();
      const stored = await readDisk({ device, stage }, (state) => storedOf(state, generation));
      seen[stored] += 1;
      stage.say(
        `generation ${generation}, flush ${flushes}: ${lost} blocks lost, stored: ${stored}`,
      );
      await guest.start();
      const old = String(generation - 1);
      const next = String(generation);
      await runsOnce(device, { nothing: [old], "file only": [old, next], row: [next] }[stored]);
      strictEqual(await device.databaseCheck(), "ok");
      await publishVersion(device, generation);
      await runsOnce(device, [next]);
      flushes = stored === "row" ? 1 : flushes + 1;
    }
    for (const [stored, count] of Object.entries(seen))
      stage.note(`cuts that left: ${stored}`, count);
    await guest.powerCut();
  },
};

async function publishVersion(device: Device, generation: number): Promise<void> {
  await publish(device, { generation, resources: [sleeper("app", String(generation))] });
}

function storedOf({ database, documents }: DiskState, generation: number): Stored {
  const row = database
    .query<{ generation: number | null }, []>("SELECT max(generation) AS generation FROM document")
    .get();
  if (row?.generation === generation) return "row";
  return documents.some((text) => text.includes(`"generation":${generation},`))
    ? "file only"
    : "nothing";
}
