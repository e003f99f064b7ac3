// What runs in a simulated world at a moment in calm, to be compared with what runs later.

import { mustFollow } from "./sim-final-config.ts";
import { waits } from "./sim-final-pods.ts";
import { READABLE, type ObjectName } from "./sim-objects.ts";
import { refsOf } from "./sim-rendering.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";
import type { Reader } from "./sim-truth.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Instance {
  readonly id: string;
  /** How often its container has started so far: attempts jump where a name stays reserved. */
  readonly starts: number;
  readonly spec: SimSpec;
  readonly own: SimContainer;
  readonly read: string | undefined;
  /** What it would read if it started now. */
  readonly wouldRead: string | undefined;
}

/** `web-2/a` → what runs, of pods that are wanted and wait for nobody. */
export function instances(
  world: SimWorld,
  isMeant: (spec: SimSpec) => boolean = () => true,
): ReadonlyMap<string, Instance> {
  const { ledger, config } = world.judge;
  const found = new Map<string, Instance>();
  for (const spec of world.desired().filter((one) => !waits(world, one) && isMeant(one)))
    for (const own of spec.containers) {
      const newest = ledger.newest(spec.uid, own.name);
      if (newest === undefined || !ledger.isAlive(newest)) continue;
      const read = config.hasRead(newest);
      const wouldRead = config.wouldRead(spec, own, world.readerOf(spec));
      const starts = world.judge.startsOf(spec.uid, own.name);
      const { id } = newest;
      found.set(`${spec.key}/${own.name}`, { id, starts, spec, own, read, wouldRead });
    }
  return found;
}

/** `web-2/a` → what it would read now, of containers that run and follow what they read. */
export function readings(
  world: SimWorld,
  isMeant: (key: string, text: string | undefined) => boolean = () => true,
): ReadonlyMap<string, string | undefined> {
  const all = [...instances(world)]
    .filter(([, { spec, own }]) => mustFollow(world, spec, own))
    .map(([key, { wouldRead }]) => [key, wouldRead] as const);
  return new Map(all.filter(([key, text]) => isMeant(key, text)));
}

/** The first of `before` that is not what runs now. */
function difference(
  before: ReadonlyMap<string, Instance>,
  now: ReadonlyMap<string, Instance>,
): string | undefined {
  return [...before].find(([key, { id }]) => now.get(key)?.id !== id)?.[0];
}

/** The first of `before` that is not what it was; the time of a pod on the node may end meanwhile. */
export function moved(world: SimWorld, before: ReadonlyMap<string, Instance>): string | undefined {
  const stay = [...before].filter(
    ([, { spec }]) => world.agent?.failureOf(spec.uid)?.reason !== "DeadlineExceeded",
  );
  return difference(new Map(stay), instances(world));
}

/** What pods that run show or read. */
export function objectsInUse(world: SimWorld): readonly (readonly [ObjectName, Reader])[] {
  const running = new Set([...instances(world).values()].map(({ spec }) => spec));
  return [...running].flatMap((spec) => {
    const reader = world.readerOf(spec);
    return READABLE.filter((object) => uses(spec, object))
      .filter((object) => world.truth.originOf(object, reader) !== undefined)
      .map((object) => [object, reader] as const);
  });
}

/** In a volume or as a variable. */
export function uses({ volumes, containers }: SimSpec, object: ObjectName): boolean {
  const shown = volumes.some(
    (volume) => volume.type === "content" && volume.shows.some((one) => one.object === object),
  );
  return shown || containers.some(({ reads }) => refsOf(reads, volumes).has(object));
}
