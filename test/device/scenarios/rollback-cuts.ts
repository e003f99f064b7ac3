// The power goes inside a rollback: at the flushes of the disk around the decision that an update has failed.

import { ok, strictEqual } from "node:assert/strict";

import type { Device } from "../device.ts";
import { readDisk, type DiskState } from "../disk-state.ts";
import { deviceWithBroker, publish, runsOnce } from "../mqtt.ts";
import { sleeper } from "../pods.ts";
import type { Scenario } from "../scenario.ts";

const INSIDE = Number(process.env["AGENT_DEVICE_ROLLBACKS"] ?? 5);
/** The pod of an update is never ready, and has failed after so long. */
const DEADLINE_SECONDS = 40;
/** Of the deadline; what runs was seen some seconds after its start. */
const BEFORE_DECISION_MS = (DEADLINE_SECONDS - 20) * 1_000;
const MOST_CUTS = 30;
const DECIDED_WITHIN = 180_000;
const GOOD = "1";

/** What the disk has of the rollback after a cut. */
type Stored = "on trial" | "taken back";

export const rollbackCuts: Scenario = {
  name: "rollback-cuts",
  about: `${INSIDE} cuts between the decision to take an update back and the old pod's start: the old pod runs after the boot, and the update is not tried again`,
  run: async (stage) => {
    const device = await deviceWithBroker(stage, "rollback");
    const { guest } = device;
    await publish(device, { generation: 1, policy: POLICY, resources: [sleeper("app", GOOD)] });
    await runsOnce(device, [GOOD]);
    await device.guest.until(
      "generation 1 is good",
      'sqlite3 /var/lib/agent/agent.db "SELECT state FROM rollout" | grep -q good',
      300_000,
    );
    const seen: Record<Stored, number> = { "on trial": 0, "taken back": 0 };
    let inside = 0;
    let flushes = 1;
    for (let generation = 2; inside < INSIDE; generation += 1) {
      ok(generation < MOST_CUTS, "no cut fell inside a rollback");
      await publishBad(device, generation);
      await runsOnce(device, [String(generation)]);
      await Bun.sleep(BEFORE_DECISION_MS);
      const died = guest.diskDiesAtFlush(flushes);
      const isCut = await Promise.race([died.then(() => true), Bun.sleep(DECIDED_WITHIN)]);
      const { lost } = await guest.powerCut();
      const stored = await readDisk({ device, stage }, (state) => storedOf(state, generation));
      seen[stored] += 1;
      // Without a flush in all this time the rollback was over.
      const isInside = stored === "taken back" && isCut === true;
      if (isInside) inside += 1;
      stage.say(
        `generation ${generation}, flush ${flushes}: ${lost} blocks lost, stored: ${stored}`,
      );
      await guest.start();
      await runsOnce(device, stored === "taken back" ? [GOOD] : [GOOD, String(generation)]);
      strictEqual(await device.databaseCheck(), "ok");
      await isTakenBack(device, generation);
      flushes = stored === "taken back" && flushes > 8 ? 1 : flushes + 1;
    }
    for (const [stored, count] of Object.entries(seen))
      stage.note(`cuts that left: ${stored}`, count);
    await guest.powerCut();
  },
};

const POLICY = { minReadySeconds: 1, progressDeadlineSeconds: DEADLINE_SECONDS };

async function publishBad(device: Device, generation: number): Promise<void> {
  const probe = { exec: { command: ["test", "-e", "/never"] }, periodSeconds: 5 };
  const pod = sleeper("app", String(generation), { container: { readinessProbe: probe } });
  await publish(device, { generation, policy: POLICY, resources: [pod] });
}

async function isTakenBack(device: Device, generation: number): Promise<void> {
  await device.guest.until(
    `generation ${generation} is known bad`,
    `sqlite3 /var/lib/agent/agent.db "SELECT state FROM rollout" | grep -q '"bad":.*"generation":${generation}[,}]'`,
    600_000,
  );
  await runsOnce(device, [GOOD]);
}

function storedOf({ database }: DiskState, generation: number): Stored {
  const rows = database.query<{ state: string }, []>("SELECT state FROM rollout").all();
  const isBad = rows.some(({ state }) => {
    const { bad = [] } = JSON.parse(state) as { bad?: readonly { generation: number }[] };
    return bad.some((one) => one.generation === generation);
  });
  return isBad ? "taken back" : "on trial";
}
