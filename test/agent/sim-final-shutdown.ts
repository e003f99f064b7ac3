// A node that is ordered to shut down in calm, when nothing excuses what is left or does not come back.

import { wrongPods } from "./sim-final-pods.ts";
import { hasShutdown } from "./sim-shutdown.ts";
import type { SimWorld } from "./sim-world.ts";

/** Two groups one after the other, each with the longest grace period, hooks included. */
const GOES_OFF_MS = 3 * 60_000;
const RETURNS_MS = 8 * 60_000;

/** Everything ends, nothing begins, and all of it runs again when the order is taken back. */
export async function goesOff(world: SimWorld): Promise<string | undefined> {
  if (!hasShutdown(world.seed)) return undefined;
  const { clock, runtime } = world.machine;
  const lagMs = 4 * world.setup.statusLagMs;
  await world.perform({ type: "Shutdown", begin: true, pause: GOES_OFF_MS + lagMs });
  const left = runtime.running().find((one) => !world.judge.ledger.isForeign(one));
  if (left !== undefined) return `${world.judge.ledger.nameOf(left)} runs after the shutdown`;
  const row = world.agent?.store.removals.all()[0];
  if (row !== undefined) return `the removal of ${row.name} is left after the shutdown`;
  await world.perform({ type: "Shutdown", begin: false, pause: RETURNS_MS + lagMs });
  await clock.settle();
  return wrongPods(world) ?? world.judge.violation;
}
