// What the agent takes of a small device: memory, processor, bytes read and written, seconds from the boot to ready pods.

import { Device } from "../device.ts";
import { hostPod } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

const COUNTS = (process.env["AGENT_DEVICE_PODS"] ?? "0,10,50").split(",").map(Number);
/** The smallest device; each pod takes several megabytes for containerd's shim, so many pods want more. */
const SMALL_MEGABYTES = 512;
const LARGE_MEGABYTES = 1_024;
const FEW_PODS = 20;
const SETTLE_MS = 60_000;
const IDLE_SECONDS = 300;
const DAY_SECONDS = 86_400;

export const figures: Scenario = {
  name: "figures",
  about: `a device with ${COUNTS.join(", ")} pods, on ${SMALL_MEGABYTES} MB while they are few: what the agent takes of it`,
  run: async (stage) => {
    for (const count of COUNTS) await measure(stage, count);
  },
};

async function measure(stage: Stage, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `pod-${at}`);
  const manifests = Object.fromEntries(names.map((name) => [`${name}.yaml`, [hostPod(name)]]));
  const device = await Device.flash(stage, {
    name: `figures-${count}`,
    memoryMegabytes: count > FEW_PODS ? LARGE_MEGABYTES : SMALL_MEGABYTES,
    manifests,
  });
  const { guest } = device;
  await guest.start();
  // The second boot has the images, as every later one.
  await device.waitReady(names, 1_800_000);
  await guest.reboot();
  if (count > 0) await device.waitReady(names, 1_800_000);
  else await guest.until("the agent answers", "agent get pods >/dev/null && echo yes", 900_000);
  const note = (what: string, value: number): void => stage.note(`${count} pods: ${what}`, value);
  note(
    "boot to ready pods, s (looked at every few)",
    Math.round(Number(await guest.sh("cut -d ' ' -f 1 /proc/uptime"))),
  );
  await Bun.sleep(SETTLE_MS);
  const before = await facts(device);
  await Bun.sleep(IDLE_SECONDS * 1_000);
  const after = await facts(device);
  const per = (name: keyof Facts): number => (after[name] - before[name]) / IDLE_SECONDS;
  note("RSS, MB", Math.round(after.VmRSS / 1_000));
  note("anonymous, MB", Math.round(after.RssAnon / 1_000));
  note("peak, MB", Math.round(after.VmHWM / 1_000));
  note("bytes read since the start of the process, MB", Math.round(after.read_bytes / 1e6));
  note("processor while idle, ms a second (emulated)", Math.round(per("ticks") * 10 * 10) / 10);
  note("written while idle, KB a day", Math.round((per("write_bytes") * DAY_SECONDS) / 1_000));
  await guest.powerCut();
}

interface Facts {
  /** KiB. */
  readonly VmRSS: number;
  readonly RssAnon: number;
  readonly VmHWM: number;
  /** Bytes. */
  readonly read_bytes: number;
  readonly write_bytes: number;
  /** Of 10 ms. */
  readonly ticks: number;
}

async function facts({ guest }: Device): Promise<Facts> {
  const said = await guest.sh(
    `pid=$(systemctl show agent -P MainPID); cat /proc/$pid/status /proc/$pid/io; awk '{ sub(/.*\\) /, ""); print "ticks: " $12 + $13 }' /proc/$pid/stat`,
  );
  const of = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(said)?.[1] ?? Number.NaN);
  return {
    VmRSS: of("VmRSS"),
    RssAnon: of("RssAnon"),
    VmHWM: of("VmHWM"),
    read_bytes: of("read_bytes"),
    write_bytes: of("write_bytes"),
    ticks: of("ticks"),
  };
}
