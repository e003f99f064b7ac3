// What happens to objects in calm, when nothing excuses anybody: one short scene for each world.

import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { mustFollow, wrongConfig, wrongVolumes } from "./sim-final-config.ts";
import { waits, wrongBooks, wrongPods } from "./sim-final-pods.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { uidOf } from "./sim-ledger.ts";
import { READABLE, type ObjectName } from "./sim-objects.ts";
import { refsOf, requiredBy } from "./sim-rendering.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";
import type { Reader } from "./sim-truth.ts";
import type { SimWorld } from "./sim-world.ts";

/** A volume shows an edit within this. */
const SHOWN_MS = 2_000;
const QUIET_MS = 40_000;
/** Nobody who is restarted for what he has read waits as if he had crashed. */
const AT_ONCE_MS = 5_000;
/** Restarts one after the other, each with its grace period, hooks and probes. */
const RESTARTS_MS = 10 * 60_000;
/** Where the runtime shows exits so late that each waits for a relist. */
const LATE_RESTARTS_MS = 30 * 60_000;
/** With a back-off, if it has crashed before. */
const COMES_BACK_MS = 90_000;
const GONE_MS = 45_000;
const STARTS_MS = 8_000;

type Scene = (world: SimWorld, object: ObjectName, reader: Reader) => Promise<string | undefined>;

/** The first thing that is wrong. */
export async function playScene(world: SimWorld): Promise<string | undefined> {
  const dice = new Mulberry32(world.seed ^ 0x5ce7e);
  const found = objectsInUse(world);
  if (found.length === 0) return undefined;
  const [object, reader] = dice.pick(found);
  const scene = dice.weighted<Scene>([
    [edits, 4],
    [spoils, 2],
    [freezes, 1],
    [withdraws, 2],
    [misses, 3],
    [losesKey, 1],
  ]);
  world.judge.say(`${object} in calm: ${scene.name}`);
  return (await scene(world, object, reader)) ?? world.judge.violation ?? wrong(world);
}

/** Each reader restarts once, in order; nobody else does. */
async function edits(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  const before = instances(world);
  const texts = readings(world);
  const ended = world.judge.config.ended.length;
  world.objects.edit(object, world.truth.originOf(object, reader) ?? "file");
  const follows = readings(world, (key, text) => texts.get(key) !== text);
  await clock.advance(SHOWN_MS + latencyOf(world));
  const behind = world
    .desired()
    .map((spec) => (waits(world, spec) ? undefined : wrongVolumes(world, spec)));
  const late = behind.find((one) => one !== undefined);
  if (late !== undefined) return late;
  await clock.advance(restartsMs(world));
  for (const [key, { id, attempt }] of before) {
    const now = instances(world).get(key);
    if (now === undefined) return `${key} does not run after an edit of ${object}`;
    const restarts = follows.has(key) ? 1 : 0;
    if (now.attempt - attempt !== restarts || (restarts === 0 && now.id !== id))
      return `${key} restarts ${now.attempt - attempt} times for an edit of ${object}, not ${restarts}`;
  }
  return outOfTurn(world, world.judge.config.ended.slice(ended));
}

/** In the order of the spec, and each comes back at once. */
function outOfTurn(world: SimWorld, ended: readonly FakeContainer[]): string | undefined {
  const { ledger } = world.judge;
  const { statusLagMs, eventLagMs } = world.setup;
  const places = new Map<string, number>();
  for (const container of ended) {
    const spec = ledger.spec(uidOf(container));
    const own = ledger.own(container);
    if (spec === undefined || own === undefined) continue;
    const place = spec.containers.indexOf(own);
    const name = ledger.nameOf(container);
    if (place < (places.get(spec.uid) ?? 0)) return `${name} restarts out of turn`;
    places.set(spec.uid, place);
    const newest = ledger.newest(spec.uid, own.name);
    const [from, to] = [ledger.ends.get(container.id)?.at, ledger.startedAt.get(newest?.id ?? "")];
    const allowed = AT_ONCE_MS + latencyOf(world) + statusLagMs + eventLagMs;
    if (statusLagMs > 2_000 || from === undefined || to === undefined) continue;
    if (to - from > allowed) return `${name} comes back ${to - from} ms after its end`;
  }
  return undefined;
}

/** Whatever is wrong with an edit, what was good stays good: for whoever starts anew, and for the next process. */
async function spoils(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  if (world.truth.originOf(object, reader) !== "file") return edits(world, object, reader);
  const { clock } = world.machine;
  const before = instances(world);
  world.objects.perform({ type: "SpoilObject", object, how: "field" });
  await clock.advance(QUIET_MS);
  const moved = difference(before, instances(world));
  if (moved !== undefined) return `${moved} restarts though an edit of ${object} was refused`;
  const bad = await comesBack(world, object);
  if (bad !== undefined) return bad;
  await world.restartAgent();
  await clock.advance(QUIET_MS);
  return comesBack(world, object);
}

/** What is immutable stays what it is, until it goes and comes again. */
async function freezes(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  if (world.truth.originOf(object, reader) !== "file") return edits(world, object, reader);
  const { clock } = world.machine;
  const before = instances(world);
  world.objects.freeze(object);
  await clock.advance(QUIET_MS);
  world.objects.edit(object, "file");
  await clock.advance(QUIET_MS);
  const moved = difference(before, instances(world));
  if (moved !== undefined) return `${moved} restarts though ${object} is immutable`;
  const bad = await comesBack(world, object);
  if (bad !== undefined) return bad;
  await world.mend();
  await clock.advance(restartsMs(world));
  return undefined;
}

/** Nothing stops for it. */
async function withdraws(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  const again = world.objects.withdraw(object, world.truth.originOf(object, reader) ?? "file");
  // What is gone from a file may be there in the document.
  const isGone = (spec: SimSpec): boolean =>
    world.truth.content(object, world.readerOf(spec)) === undefined;
  const before = instances(world, (spec) => required(spec).has(object) && isGone(spec));
  await clock.advance(restartsMs(world));
  const stopped = difference(before, instances(world));
  if (stopped !== undefined) return `${stopped} was stopped because ${object} is gone`;
  again();
  await clock.advance(restartsMs(world));
  const restarted = difference(before, instances(world));
  if (restarted === undefined) return undefined;
  return `${restarted} restarts because ${object} came back as it was`;
}

/** A pod that needs it waits, and starts when it comes. */
async function misses(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  const spec = world
    .desired()
    .find((one) => world.isOfFile(one) && required(one).has(object) && isPlain(one));
  if (spec === undefined) return withdraws(world, object, reader);
  const origin = world.truth.originOf(object, "file");
  if (origin === undefined) return withdraws(world, object, reader);
  const bring = world.objects.withdraw(object, origin);
  await clock.advance(SHOWN_MS);
  const again = world.takeOut(spec);
  await clock.advance(GONE_MS + 2 * world.setup.statusLagMs);
  again();
  await clock.advance(COMES_BACK_MS + 2 * world.setup.statusLagMs);
  const early = startedWithout(world, spec, object);
  if (early !== undefined) return early;
  const { starts } = world.judge.livesOf(spec.uid);
  bring();
  await clock.advance(STARTS_MS + latencyOf(world));
  if (world.judge.livesOf(spec.uid).starts === starts)
    return `${spec.key} does not start though ${object} is there`;
  await clock.advance(restartsMs(world));
  return undefined;
}

/** It restarts nothing and orphans nobody. */
async function losesKey(world: SimWorld): Promise<string | undefined> {
  const { clock } = world.machine;
  const before = instances(world);
  await world.restartAgent("key");
  await clock.advance(restartsMs(world));
  const moved = difference(before, instances(world));
  if (moved === undefined) return undefined;
  return `${moved} is not what it was before the key was lost`;
}

function wrong(world: SimWorld): string | undefined {
  const { agent } = world;
  if (agent === undefined) return "no agent runs";
  return (
    wrongPods(world) ??
    wrongBooks(world, agent) ??
    wrongUpstream(world, agent) ??
    wrongConfig(world)
  );
}

/** One that reads it ends, and another takes its place that reads the same. */
async function comesBack(world: SimWorld, object: ObjectName): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const readers = [...instances(world)].filter(([, { spec, own }]) => {
    return refsOf(own.reads, spec.volumes).has(object) && runsAgain(spec, own, 1);
  });
  const [reader] = readers;
  if (reader === undefined) return undefined;
  const [key, { id, read }] = reader;
  runtime.exit(id, 1);
  await clock.advance(COMES_BACK_MS + restartsMs(world));
  const now = instances(world).get(key);
  if (now === undefined) return `${key} does not come back while ${object} is written wrongly`;
  return now.read === read
    ? undefined
    : `${key} reads ${now.read} while ${object} is written wrongly, not ${read}`;
}

function startedWithout(world: SimWorld, spec: SimSpec, object: ObjectName): string | undefined {
  const status = world.agent?.facts.pods().find(({ pod }) => pod.metadata.uid === spec.uid)?.status;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waiting = all.flatMap(({ state }) => state.waiting ?? []);
  // Of an optional volume only the part is missing.
  const words = [object, ...spec.volumes.map(({ name }) => `volumeMount "${name}"`)];
  const says = waiting.some(
    ({ reason, message = "" }) =>
      reason === "CreateContainerConfigError" && words.some((word) => message.includes(word)),
  );
  return says
    ? undefined
    : `${spec.key} does not say that ${object} is missing: ${JSON.stringify(waiting)}`;
}

interface Instance {
  readonly id: string;
  readonly attempt: number;
  readonly spec: SimSpec;
  readonly own: SimContainer;
  readonly read: string | undefined;
}

/** `web-2/a` → what runs, of pods that are wanted and wait for nobody. */
function instances(
  world: SimWorld,
  isMeant: (spec: SimSpec) => boolean = () => true,
): ReadonlyMap<string, Instance> {
  const { ledger, config } = world.judge;
  const found = new Map<string, Instance>();
  for (const spec of world.desired().filter((one) => !waits(world, one) && isMeant(one)))
    for (const own of spec.containers) {
      const newest = ledger.newest(spec.uid, own.name);
      if (newest === undefined || !ledger.isAlive(newest)) continue;
      const attempt = newest.config.metadata?.attempt ?? 0;
      const read = config.hasRead(newest);
      found.set(`${spec.key}/${own.name}`, { id: newest.id, attempt, spec, own, read });
    }
  return found;
}

/** `web-2/a` → what it would read now, of containers that run and follow what they read. */
function readings(
  world: SimWorld,
  isMeant: (key: string, text: string | undefined) => boolean = () => true,
): ReadonlyMap<string, string | undefined> {
  const { config } = world.judge;
  const all = [...instances(world)]
    .filter(([, { spec, own }]) => mustFollow(world, spec, own))
    .map(
      ([key, { spec, own }]) => [key, config.wouldRead(spec, own, world.readerOf(spec))] as const,
    );
  return new Map(all.filter(([key, text]) => isMeant(key, text)));
}

/** The first of `before` that is not what runs now. */
function difference(
  before: ReadonlyMap<string, Instance>,
  now: ReadonlyMap<string, Instance>,
): string | undefined {
  return [...before].find(([key, { id }]) => now.get(key)?.id !== id)?.[0];
}

/** What pods that run show or read. */
function objectsInUse(world: SimWorld): readonly (readonly [ObjectName, Reader])[] {
  const running = new Set([...instances(world).values()].map(({ spec }) => spec));
  return [...running].flatMap((spec) => {
    const reader = world.readerOf(spec);
    return READABLE.filter((object) => uses(spec, object))
      .filter((object) => world.truth.originOf(object, reader) !== undefined)
      .map((object) => [object, reader] as const);
  });
}

function uses({ volumes, containers }: SimSpec, object: ObjectName): boolean {
  const shown = volumes.some(
    (volume) => volume.type === "content" && volume.shows.some((one) => one.object === object),
  );
  return shown || containers.some(({ reads }) => refsOf(reads, volumes).has(object));
}

/** It begins at once, and nothing ends it. */
function isPlain({ activeDeadlineSeconds, dependsOn }: SimSpec): boolean {
  return activeDeadlineSeconds === undefined && dependsOn === undefined;
}

function required({ volumes, containers }: SimSpec): ReadonlySet<ObjectName> {
  return requiredBy(
    volumes,
    containers.map(({ reads }) => reads),
  );
}

function restartsMs({ setup }: SimWorld): number {
  return setup.statusLagMs > 2_000 ? LATE_RESTARTS_MS : RESTARTS_MS;
}

/** What the runtime takes to make a pod, at most. */
function latencyOf({ setup }: SimWorld): number {
  return Object.values(setup.latencyMs).reduce((sum, ms) => sum + ms, 0);
}
