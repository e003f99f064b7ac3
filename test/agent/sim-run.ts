// Runs one seed from beginning to end, and thins out the steps of one that fails.

import { Mulberry32 } from "../fakes/mulberry32.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { throwSteps } from "./sim-dice.ts";
import { withObjects } from "./sim-object-dice.ts";
import { withImageDisk } from "./sim-images.ts";
import { verdict } from "./sim-final.ts";
import { isDeath } from "./sim-mortal.ts";
import { withOwnImageFs, withPressure } from "./sim-pressure.ts";
import { hasShutdown, withShutdown } from "./sim-shutdown.ts";
import { hasImageDisk, hasObjects, hasOwnImageFs, hasPressure, throwSetup } from "./sim-specs.ts";
import type { SimStep } from "./sim-steps.ts";
import { throwTrust, withTrust } from "./sim-trust-dice.ts";
import { SimWorld } from "./sim-world.ts";

export interface SimOutcome {
  readonly seed: number;
  readonly steps: readonly SimStep[];
  /** undefined = nothing was wrong. */
  readonly violation: string | undefined;
  readonly history: readonly string[];
  readonly starts: number;
  readonly removals: number;
  readonly processes: number;
}

export function stepsOf(seed: number): readonly SimStep[] {
  const steps = podSteps(seed);
  const all = hasImageDisk(seed) ? withImageDisk(steps, seed) : steps;
  return hasShutdown(seed) ? withShutdown(all, seed) : all;
}

function podSteps(seed: number): readonly SimStep[] {
  const steps = throwSteps(new Mulberry32(seed ^ 0x57e95));
  const all = hasObjects(seed) ? withObjects(steps, new Mulberry32(seed ^ 0x0b5e1)) : steps;
  const trust = throwTrust(seed);
  const hasMore = trust.signed || trust.commands;
  const trusts = hasMore && throwSetup(seed).protocolVersion !== undefined;
  const woven = trusts ? withTrust(all, trust, new Mulberry32(seed ^ 0x7a0d1)) : all;
  if (!hasPressure(seed)) return woven;
  const short = withPressure(woven, new Mulberry32(seed ^ 0x9e55));
  return hasOwnImageFs(seed) ? withOwnImageFs(short, seed) : short;
}

export async function simulate(
  seed: number,
  steps: readonly SimStep[] = stepsOf(seed),
): Promise<SimOutcome> {
  using world = new SimWorld(seed);
  const { judge } = world;
  const lost = (error: unknown): void => {
    if (!isDeath(error)) judge.accuse(`nobody caught: ${messageOf(error)}`);
  };
  process.on("unhandledRejection", lost);
  process.on("uncaughtException", lost);
  try {
    await world.settleForeigners();
    for (const step of steps) {
      await world.perform(step);
      if (judge.violation !== undefined) break;
    }
    const violation = judge.violation ?? (await verdict(world));
    if (violation !== judge.violation && violation !== undefined) judge.accuse(violation);
    const { history, starts, removals, processes } = judge;
    // What dead processes say to it is of no interest, but may not come when nobody listens.
    world.process.release();
    await world.machine.clock.settle();
    return { seed, steps, violation, history, starts, removals, processes };
  } finally {
    process.off("unhandledRejection", lost);
    process.off("uncaughtException", lost);
  }
}

/** A violation without the names and numbers that differ from run to run. */
export function kindOf(violation: string | undefined): string | undefined {
  return violation
    ?.replaceAll(/(?:container|sandbox)\d+/g, "ID")
    .replaceAll(/(?:web|db)-\d|\b(?:web|db)\b/g, "POD")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID")
    .replaceAll(/\/[a-z]\d?\/\d+/g, "/C")
    .replaceAll(/\d+/g, "N")
    .slice(0, 60);
}

export interface ShrinkLimits {
  /** Runs at most. */
  readonly tries: number;
  /** Says when there has been enough of it. */
  readonly isEnough: () => boolean;
}

/** Drops steps as long as the same thing goes wrong. */
export async function shrink(failed: SimOutcome, limits: ShrinkLimits): Promise<SimOutcome> {
  let best = failed;
  let left = limits.tries;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = best.steps.length - size; at >= 0; at -= size) {
      if (left-- <= 0 || limits.isEnough()) return best;
      const fewer = best.steps.toSpliced(at, size);
      const outcome = await simulate(failed.seed, fewer);
      if (kindOf(outcome.violation) === kindOf(failed.violation)) best = outcome;
    }
  }
  return best;
}
