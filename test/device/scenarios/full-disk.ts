// The disk is full to its last block: the agent stays, what must run runs, a reboot works, and room brings everything back.

import { deepStrictEqual, strictEqual } from "node:assert/strict";

import { Device } from "../device.ts";
import { sleeper } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

export const fullDisk: Scenario = {
  name: "full-disk",
  about:
    "a full disk ends neither the agent nor a critical pod, also after a reboot; with room again all pods run",
  run: async (stage) => {
    const critical = sleeper("critical", "1", { priorityClassName: "system-node-critical" });
    const manifests = { "critical.yaml": [critical], "other.yaml": [sleeper("other")] };
    const device = await Device.flash(stage, { name: "full", manifests });
    const { guest } = device;
    await guest.start();
    await device.waitReady(["critical", "other"]);
    const before = await criticalContainers(device);
    // What the file system calls available first, then root's reserve: nothing at all is left.
    await guest.sh(
      `fallocate -l $(($(df --output=avail -B1 / | tail -n 1) - 1048576)) /filler
dd if=/dev/zero of=/filler2 bs=64k 2>/dev/null
sync`,
      1_200,
    );
    await Bun.sleep(60_000);
    await remains(device, stage, "full");
    deepStrictEqual(await criticalContainers(device), before);
    await guest.reboot();
    await guest.until(
      "the critical pod runs after a reboot with a full disk",
      "agent get pods | grep -q '^critical .*Running'",
      900_000,
    );
    await remains(device, stage, "full, after a reboot");
    await guest.sh("rm -f /filler /filler2; sync");
    await device.waitReady(["critical", "other"], 1_200_000);
    strictEqual(await device.databaseCheck(), "ok");
    strictEqual(await guest.sh("ls /var/lib/agent | grep corrupt || true"), "");
    await guest.powerCut();
  },
};

async function criticalContainers(device: Device): Promise<readonly string[]> {
  return (await device.running()).filter(({ pod }) => pod === "critical").map(({ id }) => id);
}

/** The agent answers, and has not ended since its start. */
async function remains(device: Device, stage: Stage, when: string): Promise<void> {
  const pods = await device.guest.until(`the agent answers (${when})`, "agent get pods");
  stage.say(`${when}:\n${pods.trimEnd()}`);
  const restarts = (await device.guest.sh("systemctl show agent -P NRestarts")).trim();
  stage.note(`restarts of the agent (${when})`, restarts);
  strictEqual(restarts, "0");
}
