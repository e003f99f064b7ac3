// A process that starts in calm without its database while nobody can read the files: what they may say is late, not
// missing.

import { wrongPods } from "./sim-final-pods.ts";
import { isOfItsSource, restartsMs } from "./sim-final-scenes.ts";
import { instances, type Instance } from "./sim-instances.ts";
import { OBJECTS, type ObjectName } from "./sim-objects.ts";
import { refsOf, requiredBy } from "./sim-rendering.ts";
import { fitTogether } from "./sim-room.ts";
import { NAMES, type SimSpec } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

const GONE_MS = 45_000;
const BLIND_MS = 40_000;
/** Until the directory is looked for again, and what it says has been acted on. */
const SEES_MS = 40_000;
/** What pods of documents find in files too. */
const SHARED: readonly ObjectName[] = ["conf", "tuning"];

/** Where a document may ask for a pod that could do without what a file says: who restarts for it. */
export async function startsBlind(world: SimWorld): Promise<string | undefined> {
  const { clock } = world.machine;
  const found = optionalReader(world);
  if (found === undefined) return undefined;
  if (world.desired().some((other) => !fitTogether(other, found.spec))) return undefined;
  await isAskedFor(world, found);
  const wrong = wrongPods(world);
  if (wrong !== undefined) return wrong;
  // What lingers, or was taken back, is remembered in the database that is about to be lost.
  if (NAMES.some((name) => world.rollouts.isOpen(name))) return undefined;
  const before = instances(world, (spec) => isOfItsSource(world, spec));
  world.process.kill();
  await clock.settle();
  // With it the last good copies go, which would speak for the files.
  await world.perform({ type: "Database", how: "lost", pause: 0 });
  await world.perform({ type: "Directory", there: false, how: "rename", pause: 0 });
  world.process.start();
  await clock.advance(BLIND_MS);
  const early = moved(world, before);
  if (early !== undefined) return `${early} restarts while the files are unreadable`;
  await world.perform({ type: "Directory", there: true, how: "rename", pause: SEES_MS });
  const late = moved(world, before);
  return late === undefined ? world.judge.violation : `${late} restarts when the files are back`;
}

interface Found {
  readonly spec: SimSpec;
  readonly object: ObjectName;
}

function optionalReader({ setup }: SimWorld): Found | undefined {
  const { protocolVersion, homes, specs, statusLagMs } = setup;
  if (protocolVersion === undefined || homes.size === 0 || statusLagMs > 2_000) return undefined;
  const isPlain = ({ hostNetwork, activeDeadlineSeconds, dependsOn }: SimSpec): boolean =>
    !hostNetwork && activeDeadlineSeconds === undefined && dependsOn === undefined;
  const all = [...specs.values()].filter(isPlain);
  return all
    .flatMap((spec) => SHARED.map((object) => ({ spec, object })))
    .find(({ spec, object }) => mayRead(spec, object));
}

/** By a document alone, which says nothing else; the object is a file's. */
async function isAskedFor(world: SimWorld, { spec, object }: Found): Promise<void> {
  world.judge.say(`a process without files in calm: ${spec.key} reads ${object}`);
  const version = Number(spec.key.split("-")[1]);
  const versions = NAMES.map((name) => (name === spec.name ? version : 0));
  const objects = OBJECTS.map(({ name }) => name).filter((name) => name !== object);
  // With the database goes what counts instead of a file with a fault.
  await world.mend();
  await world.perform({ type: "Delete", name: spec.name, how: "delete", pause: GONE_MS });
  await world.perform({ type: "Publish", versions, objects, pause: 0 });
  world.objects.provide();
  world.objects.edit(object, "file");
  // A document's own would count while nobody can read the file.
  if (world.authority.objects.has(object))
    world.objects.perform({ type: "PublishObject", object, keys: "none" });
  await world.machine.clock.advance(restartsMs(world));
}

function mayRead(spec: SimSpec, object: ObjectName): boolean {
  if (!spec.followsConfig || requiredBy(spec).has(object)) return false;
  return spec.containers.some(({ reads }) => refsOf(reads, spec.volumes).has(object));
}

function moved(world: SimWorld, before: ReadonlyMap<string, Instance>): string | undefined {
  const { ledger } = world.judge;
  return [...before].find(([, { id, spec, own }]) => {
    const newest = ledger.newest(spec.uid, own.name);
    return newest?.id !== id || !ledger.isAlive(newest);
  })?.[0];
}
