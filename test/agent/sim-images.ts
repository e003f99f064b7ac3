// The disk of images of a simulated machine: how full it is, what lies on it from earlier, and the dice that fill it.

import type { BroughtImage } from "../../src/store/brought-images.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { IMAGE } from "./pod-world.ts";
import { throwPause } from "./sim-dice.ts";
import { IMAGE_STREAM, LATER } from "./sim-specs.ts";
import type { SimAct, SimStep } from "./sim-steps.ts";

const CAPACITY = 20_000;
/** Brought long ago by the agent, and needed by no pod; the last is the least recently used. */
export const OLD: readonly string[] = [0, 1, 2, 3, 4].map((index) => `r.test/old-${index}:1`);
/** Brought by others. */
const OTHERS: readonly string[] = [0, 1].map((index) => `r.test/others-${index}:1`);
const HOUR = 3_600_000;

export class ImageDisk {
  readonly #runtime: () => FakeRuntime;
  /** What is not an image. */
  #ballast = 0;

  constructor(runtime: () => FakeRuntime) {
    this.#runtime = runtime;
  }

  readonly space = (): { readonly capacityBytes: number; readonly availableBytes: number } => {
    const used = this.#ballast + Number(this.#runtime().imageBytes);
    return { capacityBytes: CAPACITY, availableBytes: Math.max(0, CAPACITY - used) };
  };

  fill(percent: number): void {
    const images = Number(this.#runtime().imageBytes);
    this.#ballast = Math.max(0, (CAPACITY * percent) / 100 - images);
  }

  /** Before the first process. */
  bring(): void {
    for (const name of [...OLD, ...OTHERS]) this.#runtime().addImage(name);
  }

  /** As an earlier process wrote it down: also the images of the pods are the agent's. */
  rows(): readonly BroughtImage[] {
    return [...OLD, IMAGE, LATER].flatMap((name, index) => {
      const id = this.#runtime().images.get(name)?.id;
      const facts = { names: [name], digests: [], origin: "Pulled", bootId: "earlier" } as const;
      return id === undefined ? [] : [{ id, ...facts, idleMs: (index + 1) * HOUR, at: 0 }];
    });
  }
}

/** A process that finds no files for longer than the disk is left alone. */
const BLIND_START: readonly SimStep[] = [
  { type: "ImageDisk", percent: 95, pause: 0 },
  { type: "Kill", acts: 0, pause: 100 },
  { type: "Directory", there: false, how: "rename", pause: 100 },
  { type: "Start", pause: 400_000 },
  { type: "Directory", there: true, how: "rename", pause: 1_000 },
];

/** Weaves what fills the disk between the steps; long pauses let the collection see it. */
export function withImageDisk(steps: readonly SimStep[], seed: number): readonly SimStep[] {
  const dice = new Mulberry32(seed ^ IMAGE_STREAM ^ 0xd15c);
  const woven = [...steps];
  const weave = (act: SimAct, pause: number): void => {
    woven.splice(1 + dice.below(woven.length), 0, { ...act, pause });
  };
  for (let left = 1 + dice.below(3); left > 0; left -= 1) {
    const percent = dice.pick([60, 84, 88, 95, 100]);
    weave({ type: "ImageDisk", percent }, dice.chance(0.6) ? 380_000 : throwPause(dice));
  }
  if (dice.chance(0.3)) {
    const kind = dice.pick(["fail", "failHappened", "hang", "unavailable"] as const);
    weave({ type: "Fault", call: "removeImage", kind, times: 1, ms: 0 }, throwPause(dice));
  }
  if (dice.chance(0.3)) weave({ type: "Wait" }, 700_000);
  if (dice.chance(0.25)) woven.splice(1 + dice.below(woven.length), 0, ...BLIND_START);
  return woven;
}
