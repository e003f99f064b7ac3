// A machine without a battery for its clock: it starts in 1970, and the clock jumps later.

import { deepStrictEqual, strictEqual } from "node:assert/strict";

import { Device } from "../device.ts";
import { sleeper } from "../pods.ts";
import type { Scenario } from "../scenario.ts";

export const wrongClock: Scenario = {
  name: "wrong-clock",
  about:
    "booted in 1970: the pods run, manifests are taken, and a jump of 56 years restarts nothing",
  run: async (stage) => {
    const manifests = { "keeper.yaml": [sleeper("keeper")] };
    const clock = "1970-01-01T00:00:10";
    const device = await Device.flash(stage, { name: "clock", clock, manifests });
    const { guest } = device;
    await guest.start();
    // systemd begins with the time of its own build; the agent gets the real 1970.
    // Linux refuses a time before the time since its start.
    await guest.sh("systemctl stop agent && date -s @100000 && systemctl start agent");
    await device.waitReady(["keeper"]);
    await device.writeManifest("second.yaml", sleeper("second"));
    await device.waitReady(["keeper", "second"]);
    const year = (await guest.sh("date +%Y")).trim();
    strictEqual(year, "1970");
    stage.note("year in which the pods started", year);
    const before = await device.running();
    await guest.sh("date -s 2026-11-26");
    await device.writeManifest("third.yaml", sleeper("third"));
    await device.waitReady(["keeper", "second", "third"]);
    const ids = new Set((await device.running()).map(({ id }) => id));
    deepStrictEqual(
      before.filter(({ id }) => !ids.has(id)),
      [],
      "containers that the jump has restarted",
    );
    strictEqual(await device.databaseCheck(), "ok");
    await guest.powerCut();
  },
};
