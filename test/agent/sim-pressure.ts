// What a simulated machine may run short of, and the dice that throw when it does.

import { GIB, type FakeReadings } from "../fakes/fake-readings.ts";
import type { Mulberry32 } from "../fakes/mulberry32.ts";
import { throwPause } from "./sim-dice.ts";
import { imageFsDiceOf } from "./sim-specs.ts";
import type { SimAct, SimStep } from "./sim-steps.ts";

/** `images`: the file system of images, where they have one of their own. */
export type Shortage = "memory" | "disk" | "pids" | "images";
const SHORTAGES = ["memory", "disk", "pids"] as const;
/** As the runtime names it. */
const IMAGES = "/var/lib/containerd";

const MIB = 1024 ** 2;
/** Shares of what there is, or MiB. */
const SHORT = { memory: 50 * MIB, disk: 0.01, pids: 10, images: 0.02 };
const PLENTY = { memory: 3_000 * MIB, disk: 0.75, pids: 32_000, images: 0.75 };
/** What the agent's configuration has to say of process ids, for which there is no default. */
export const PIDS_THRESHOLD = "100";

export function setShortage(readings: FakeReadings, of: Shortage, short: boolean): void {
  const left = (short ? SHORT : PLENTY)[of];
  if (of === "memory") readings.memoryRoom = { ...readings.memoryRoom, available: left };
  else if (of === "pids") readings.pidRoom = { ...readings.pidRoom, available: left };
  else if (of === "images") setImageRoom(readings, left);
  else {
    const { capacity } = readings.disk.bytes;
    readings.disk = { ...readings.disk, bytes: { capacity, available: capacity * left } };
  }
}

/** `share` of it is left. */
function setImageRoom(readings: FakeReadings, share: number): void {
  const capacity = 64 * GIB;
  readings.others.set(IMAGES, {
    device: "images",
    bytes: { capacity, available: capacity * share },
    inodes: { capacity: 4_000_000, available: 3_900_000 },
  });
}

export function endShortages(readings: FakeReadings, ownImageFs: boolean): void {
  for (const of of SHORTAGES) setShortage(readings, of, false);
  if (ownImageFs) setShortage(readings, "images", false);
}

/** Images that have a file system of their own: then it is often that one which is short. */
export function withOwnImageFs(steps: readonly SimStep[], seed: number): readonly SimStep[] {
  const dice = imageFsDiceOf(seed);
  dice.next();
  const moved = new Set<Shortage>(dice.chance(0.8) ? ["disk"] : []);
  if (dice.chance(0.5)) moved.add("pids");
  return steps.map((step) =>
    step.type === "Pressure" && moved.has(step.of) ? { ...step, of: "images" } : step,
  );
}

/** Weaves shortages into the steps of a seed; most end before the world calms down. */
export function withPressure(steps: readonly SimStep[], dice: Mulberry32): readonly SimStep[] {
  const woven = [...steps];
  for (let left = 1 + dice.below(3); left > 0; left -= 1) {
    const of = dice.pick(SHORTAGES);
    const act = (short: boolean): SimAct => ({ type: "Pressure", of, short });
    const at = 1 + dice.below(woven.length);
    // Long enough, now and then, for the agent to look and to act.
    const pause = dice.chance(0.8) ? 30_000 + dice.below(120_000) : throwPause(dice);
    const restart: readonly SimStep[] = dice.chance(0.3)
      ? [
          { type: "Kill", acts: dice.below(20), pause: throwPause(dice) },
          { type: "Start", pause: 30_000 },
        ]
      : [];
    woven.splice(at, 0, { ...act(true), pause }, ...restart);
    if (!dice.chance(0.8)) continue;
    const end = at + 1 + restart.length + dice.below(woven.length - at - restart.length);
    woven.splice(end, 0, { ...act(false), pause: throwPause(dice) });
  }
  return woven;
}
