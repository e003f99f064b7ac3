// The way of a new device: installed, booted without any network, rebooted.

import { deepStrictEqual, strictEqual } from "node:assert/strict";

import { Device } from "../device.ts";
import { APT, APT_SECONDS, packageOf } from "../packages.ts";
import { hostPod, sleeper, webPod } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

const PODS = ["host", "sleeper", "web"];

export const firstBoot: Scenario = {
  name: "first-boot",
  about:
    "the Debian package installed, booted without a network: the pods of /etc/agent/manifests run from archives; the same after a reboot",
  run: async (stage) => {
    const device = await Device.make(stage, { name: "first" });
    await device.guest.start();
    stage.say("booted, nothing installed");
    const file = await packageOf(stage, "0.1.0");
    await device.guest.sh(`${APT} install ${file} 2>&1`, APT_SECONDS);
    await device.guest.sh("cp /run/payload/images/*.tar /etc/agent/images/; sync");
    await device.writeManifest("web.yaml", webPod("web", 8080));
    await device.writeManifest("more.yaml", sleeper("sleeper"), hostPod("host"));
    stage.say("installed");
    await device.guest.reboot();
    await podsRun(device, stage, "first boot");
    await device.guest.reboot();
    await podsRun(device, stage, "second boot");
    const answer = await device.guest.sh("busybox wget -q -T 30 -O - http://127.0.0.1:8080/");
    strictEqual(answer, "version 1\n");
    await device.guest.powerOff();
  },
};

/** Each pod is ready and runs once, also in containerd's own words. */
async function podsRun(device: Device, stage: Stage, boot: string): Promise<void> {
  await device.waitReady(PODS);
  const uptime = await device.guest.sh("cut -d ' ' -f 1 /proc/uptime");
  stage.note(`${boot}: seconds from the kernel's start to ready pods`, Math.round(Number(uptime)));
  deepStrictEqual(await device.runningPods(), PODS);
}
