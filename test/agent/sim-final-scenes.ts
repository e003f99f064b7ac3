// What happens to objects in calm, when nothing excuses anybody: one short scene for each world.

import { ANNOTATION } from "../../src/api/pod/labels.ts";
import type { CreateContainerArgs } from "../../src/cri/cri-client.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { RecordedCall } from "../fakes/fake-runtime.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { asksForPatience, mustFollow, wrongConfig, wrongVolumes } from "./sim-final-config.ts";
import { waits, wrongBooks, wrongPods } from "./sim-final-pods.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { uidOf } from "./sim-ledger.ts";
import { moved, instances, objectsInUse, readings, uses, type Instance } from "./sim-instances.ts";
import type { ObjectName } from "./sim-objects.ts";
import { refsOf, requiredBy } from "./sim-rendering.ts";
import { NAMES, type SimContainer, type SimSpec } from "./sim-specs.ts";
import type { Reader } from "./sim-truth.ts";
import type { SimWorld } from "./sim-world.ts";

/** A volume shows an edit within this. */
const SHOWN_MS = 2_000;
const QUIET_MS = 40_000;
/** Nobody who is restarted for what he has read waits as if he had crashed. */
const AT_ONCE_MS = 5_000;
/** Restarts one after the other, each with its grace period, hooks and probes. */
const RESTARTS_MS = 5 * 60_000;
/** Where the runtime shows exits so late that each waits for a relist. */
const LATE_RESTARTS_MS = 30 * 60_000;
/** With a back-off, if it has crashed before. */
const COMES_BACK_MS = 90_000;
const GONE_MS = 45_000;
const STARTS_MS = 8_000;
/** Whoever has waited long, and is refused then, is tried again after the longest back-off, with its jitter. */
const REFUSED_MS = 36_000;

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
    [losesKey, 2],
  ]);
  world.judge.say(`${object} in calm: ${scene.name}`);
  return (await scene(world, object, reader)) ?? world.judge.violation ?? wrong(world);
}

/** Each reader restarts once, in order; nobody else does. */
export async function edits(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  await asksForPatience(world);
  const before = instances(world);
  const origin = world.truth.originOf(object, reader) ?? "file";
  const isTried = isTriedAgain(world, object);
  const texts = shownBefore(world, isTried);
  const endsOf = ({ uid }: SimSpec): number => world.judge.livesOf(uid).ends;
  const specs = [...before.values()].map(({ spec }) => spec);
  const tried = new Map(specs.filter(isTried).map((spec) => [spec, endsOf(spec)]));
  const ended = world.judge.config.ended.length;
  const calls = world.machine.runtime.calls.length;
  world.objects.edit(object, origin);
  const follows = readings(world, (key, text) => texts.get(key) !== text);
  // Where exits show late, the worker may still be in a stop of what ended before.
  const { statusLagMs } = world.setup;
  const lagMs = statusLagMs > 2_000 ? 2 * statusLagMs : 0;
  await clock.advance(SHOWN_MS + latencyOf(world) + lagMs);
  const behind = world
    .desired()
    .map((spec) =>
      waits(world, spec) || isTakenBack(world, spec) ? undefined : wrongVolumes(world, spec),
    );
  const late = behind.find((one) => one !== undefined);
  if (late !== undefined) return late;
  await clock.advance(restartsMs(world));
  for (const [key, { id, starts, spec, own }] of before) {
    // Its time on the node may end meanwhile.
    if (world.agent?.failureOf(spec.uid) !== undefined) continue;
    // What was taken back may have been so once more, or its update is still tried.
    const isOnTrial = world.rollouts.state(spec.name)?.trial !== undefined;
    if (tried.has(spec) && (isOnTrial || tried.get(spec) !== endsOf(spec))) continue;
    const now = instances(world).get(key);
    if (now === undefined) return `${key} does not run after an edit of ${object}`;
    // Where another pod of an atomic document has failed, this one reads what was good.
    const isBack =
      (isTakenBack(world, spec) && !tried.has(spec)) ||
      (world.readerOf(spec) === "mqtt" && world.rollouts.staysForOthers(spec.name));
    const restarts = follows.has(key) && !isBack ? 1 : 0;
    if (now.starts - starts !== restarts || (restarts === 0 && now.id !== id))
      return `${key} restarts ${now.starts - starts} times for an edit of ${object}, not ${restarts}`;
    const made = world.machine.runtime.calls.slice(calls).filter(isCreationOf(spec, own)).length;
    if (made !== restarts) return `${key} is made ${made} times for ${restarts} restarts`;
  }
  return outOfTurn(world, world.judge.config.ended.slice(ended));
}

/**
 * `web-2/a` → what it shows before an edit. A pod that was taken back shows what was good before; the new revision brings
 * every other object too.
 */
function shownBefore(
  world: SimWorld,
  isTried: (spec: SimSpec) => boolean,
): ReadonlyMap<string, string | undefined> {
  const now = instances(world);
  const shown = [...readings(world)].map(([key, text]) => {
    const instance = now.get(key);
    const isRead = instance !== undefined && isTried(instance.spec);
    return [key, isRead ? instance.read : text] as const;
  });
  return new Map(shown);
}

/** Whether an update of the pod was taken back and uses the object: with the edit it is a new revision, which is tried. */
function isTriedAgain(world: SimWorld, object: ObjectName): (spec: SimSpec) => boolean {
  return (spec) => {
    const update = world.authority.wants.get(spec.name)?.spec ?? spec;
    return isTakenBack(world, spec) && uses(update, object);
  };
}

/** A pod of a document whose update, or that of another pod of its atomic document, was taken back. */
function isTakenBack(world: SimWorld, spec: SimSpec): boolean {
  return world.readerOf(spec) === "mqtt" && world.rollouts.goesBack(spec.name);
}

function isCreationOf({ uid }: SimSpec, { name }: SimContainer): (call: RecordedCall) => boolean {
  return ({ call, args }) => {
    if (call !== "createContainer") return false;
    const { config, sandboxConfig } = args[0] as CreateContainerArgs;
    return config.metadata?.name === name && sandboxConfig.metadata?.uid === uid;
  };
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
export async function spoils(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  if (world.truth.originOf(object, reader) !== "file") return edits(world, object, reader);
  const { clock } = world.machine;
  const before = instances(world);
  world.objects.perform({ type: "SpoilObject", object, how: "field" });
  await clock.advance(QUIET_MS);
  const other = moved(world, before);
  if (other !== undefined) return `${other} restarts though an edit of ${object} was refused`;
  const bad = await comesBack(world, object, before);
  if (bad !== undefined) return bad;
  await world.process.restart();
  await clock.advance(QUIET_MS);
  return comesBack(world, object, before);
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
  const other = moved(world, before);
  if (other !== undefined) return `${other} restarts though ${object} is immutable`;
  const bad = await comesBack(world, object, before);
  if (bad !== undefined) return bad;
  await world.mend();
  await clock.advance(restartsMs(world));
  return undefined;
}

/** Nothing stops for it. */
export async function withdraws(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  const again = world.objects.withdraw(object, world.truth.originOf(object, reader) ?? "file");
  // What is gone from a file may be there in the document.
  const isGone = (spec: SimSpec): boolean =>
    world.truth.content(object, world.readerOf(spec)) === undefined;
  // An update that has not proved itself may be taken back for it, to what was good.
  const stays = (spec: SimSpec): boolean => isGone(spec) && !world.rollouts.isOpen(spec.name);
  const before = instances(world, (spec) => requiredBy(spec, false).has(object) && stays(spec));
  await clock.advance(restartsMs(world));
  const stopped = moved(world, before);
  if (stopped !== undefined) return `${stopped} was stopped because ${object} is gone`;
  again();
  await clock.advance(restartsMs(world));
  const restarted = moved(world, before);
  if (restarted === undefined) return undefined;
  return `${restarted} restarts because ${object} came back as it was`;
}

/** A pod that needs it waits, and starts when it comes. */
export async function misses(
  world: SimWorld,
  object: ObjectName,
  reader: Reader,
): Promise<string | undefined> {
  const { clock } = world.machine;
  const spec = world
    .desired()
    .find((one) => world.isOfFile(one) && requiredBy(one).has(object) && isPlain(one));
  if (spec === undefined) return withdraws(world, object, reader);
  const origin = world.truth.originOf(object, "file");
  if (origin === undefined) return withdraws(world, object, reader);
  const bring = world.objects.withdraw(object, origin);
  await clock.advance(SHOWN_MS);
  const again = world.takeOut(spec);
  await clock.advance(GONE_MS + 2 * world.setup.statusLagMs);
  again();
  await clock.advance(COMES_BACK_MS + lateMs(world));
  const early = startedWithout(world, spec, object);
  if (early !== undefined) return early;
  const { starts } = world.judge.livesOf(spec.uid);
  // A name that a lost call keeps refuses one start in each life of the pod.
  const kept = [...world.machine.runtime.heldNames].filter((name) => name.includes(spec.uid));
  bring();
  await clock.advance(STARTS_MS + latencyOf(world) + kept.length * REFUSED_MS);
  if (world.judge.livesOf(spec.uid).starts === starts)
    return `${spec.key} does not start though ${object} is there`;
  await clock.advance(restartsMs(world));
  return undefined;
}

/** It restarts nothing and orphans nobody, also while the files do not tell what a lost copy said. */
export async function losesKey(world: SimWorld): Promise<string | undefined> {
  // With the key the copies are lost to which updates were taken back: what runs goes on, but is no longer shown.
  if (NAMES.some((name) => world.rollouts.isOpen(name))) return undefined;
  const { clock } = world.machine;
  const before = instances(world, (spec) => isOfItsSource(world, spec));
  world.objects.perform({ type: "SpoilObject", object: "cred", how: "value" });
  await clock.advance(SHOWN_MS);
  await world.process.restart("key");
  await clock.advance(restartsMs(world));
  const other = moved(world, before);
  if (other !== undefined) return `${other} is not what it was before the key was lost`;
  await world.mend();
  await clock.advance(restartsMs(world));
  const late = moved(world, before);
  return late === undefined ? undefined : `${late} restarts when its Secret is found again`;
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
async function comesBack(
  world: SimWorld,
  object: ObjectName,
  before: ReadonlyMap<string, Instance>,
): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const [reader] = [...before].filter(([, { spec, own }]) => {
    if (isTakenBack(world, spec) && !mustFollow(world, spec, own)) return false;
    return refsOf(own.reads, spec.volumes).has(object) && runsAgain(spec, own, 1);
  });
  if (reader === undefined) return undefined;
  const [key, { spec, read, wouldRead }] = reader;
  // What was taken back has read what was good before by now, whatever the object says.
  const wanted = isTakenBack(world, spec) ? read : wouldRead;
  runtime.exit(instances(world).get(key)?.id ?? "", 1);
  await clock.advance(COMES_BACK_MS + lateMs(world));
  const now = instances(world).get(key);
  if (now === undefined) return `${key} does not come back while ${object} is written wrongly`;
  return now.read === wanted
    ? undefined
    : `${key} reads ${now.read} while ${object} is written wrongly, not ${wanted}`;
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
    : `${spec.key} does not report that ${object} is missing: ${JSON.stringify(waiting)}`;
}

/** Without the database the source that is written on a pod has the say, also if another one asks for it by now. */
export function isOfItsSource(world: SimWorld, spec: SimSpec): boolean {
  const source = world.readerOf(spec) === "file" ? "file" : "mqtt:node";
  const all = world.judge.ledger.sandboxesOf(spec.uid);
  return all.every(({ config }) => config.annotations[ANNOTATION.source] === source);
}

/** It begins at once, and nothing ends it. */
function isPlain({ activeDeadlineSeconds, dependsOn }: SimSpec): boolean {
  return activeDeadlineSeconds === undefined && dependsOn === undefined;
}

export function restartsMs(world: SimWorld): number {
  return RESTARTS_MS + lateMs(world);
}

function lateMs({ setup }: SimWorld): number {
  return setup.statusLagMs > 2_000 ? LATE_RESTARTS_MS : 2 * setup.statusLagMs;
}

/** What the runtime takes to make a pod, at most. */
function latencyOf({ setup }: SimWorld): number {
  return Object.values(setup.latencyMs).reduce((sum, ms) => sum + ms, 0);
}
