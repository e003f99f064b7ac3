// The life of the Debian package on a device: a newcomer's way to a pod, an upgrade, a removal, a purge.

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { Device } from "../device.ts";
import { APT, APT_SECONDS, packageOf } from "../packages.ts";
import { webPod } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

/** As apt compares them. */
const OLDER = "0.0.8";
const NEWER = "0.0.9";

export const packageLife: Scenario = {
  name: "package",
  about:
    "the Debian package on a fresh device: four commands to a pod that runs; upgraded, rebooted, removed and purged",
  run: async (stage) => {
    const older = await packageOf(stage, OLDER);
    const newer = await packageOf(stage, NEWER);
    writeFileSync(join(stage.payload, "web.yaml"), stringify(webPod("web", 8080)));
    const device = await Device.make(stage, { name: "package" });
    await device.guest.start();
    await newcomer(device, stage, older);
    const before = await containers(device);
    await timed(device, stage, `upgrade to ${NEWER}`, `${APT} install ${newer}`);
    strictEqual(await installed(device), NEWER);
    await device.waitReady(["web"]);
    deepStrictEqual(await containers(device), before, "the upgrade restarted a pod");
    const score = await device.guest.sh("systemd-analyze security agent --no-pager | tail -n 1");
    stage.note("systemd-analyze security", score.replace(/^\W+/, "").trim());
    await device.guest.reboot();
    await device.waitReady(["web"]);
    const booted = await containers(device);
    await timed(device, stage, "remove", `${APT} remove agent`);
    deepStrictEqual(await containers(device), booted, "the removal stopped a pod");
    await device.guest.sh("test -e /etc/agent/agent.yaml && test ! -e /usr/bin/agent");
    const kept = await timed(device, stage, "purge beside a pod that runs", `${APT} purge agent`);
    await device.guest.sh("test ! -e /etc/agent");
    deepStrictEqual(await containers(device), booted, "the purge stopped a pod");
    ok(kept.includes("/var/lib/agent"), `the purge does not say what stays: ${kept}`);
    await timed(device, stage, "install again", `${APT} install ${newer}`);
    await device.guest.sh("agent shutdown", APT_SECONDS);
    await timed(device, stage, "purge", `${APT} purge agent`);
    await device.guest.sh("test ! -e /etc/agent && test ! -e /var/lib/agent");
    deepStrictEqual(await containers(device), []);
    await device.guest.powerOff();
  },
};

/** What a person types who has the package, an image and a manifest on a stick. */
async function newcomer(device: Device, stage: Stage, file: string): Promise<void> {
  const begun = performance.now();
  await timed(device, stage, "1. install", `${APT} install ${file}`);
  await timed(device, stage, "2. import", "agent images import /run/payload/images/busybox-1.tar");
  await timed(device, stage, "3. apply", "agent apply -f /run/payload/web.yaml");
  await timed(device, stage, "4. wait", "agent wait pod/web --for=condition=Ready --timeout=800s");
  const seconds = Math.round((performance.now() - begun) / 1_000);
  stage.note("from the package to a pod that is ready, four commands, s", seconds);
  await device.waitReady(["web"]);
}

async function timed(device: Device, stage: Stage, what: string, command: string): Promise<string> {
  const begun = performance.now();
  const said = await device.guest.sh(`${command} 2>&1`, APT_SECONDS);
  stage.note(`${what}, s`, Math.round((performance.now() - begun) / 1_000));
  stage.say(said.trimEnd());
  return said;
}

async function installed({ guest }: Device): Promise<string> {
  return (await guest.sh("dpkg-query -W -f '${Version}' agent")).trim();
}

async function containers(device: Device): Promise<readonly string[]> {
  return (await device.running()).map(({ id, pod }) => `${pod} ${id}`).toSorted();
}
