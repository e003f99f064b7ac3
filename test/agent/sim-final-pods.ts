// How the pods of a simulated world, and what is left of others, must stand when every trouble has ended.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LABEL } from "../../src/api/pod/labels.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { planGarbage } from "../../src/runtime/decide/dead-containers.ts";
import { RuntimeReader } from "../../src/runtime/observe/runtime-reader.ts";
import type { FakeContainer, FakeSandbox } from "../fakes/fake-cri-world.ts";
import { NO_TERMINATION_FILES } from "../fakes/plain-world.ts";
import type { SimAgent } from "./sim-agent.ts";
import { podEnd, wrongContainer } from "./sim-final-container.ts";
import { wrongKills } from "./sim-final-kills.ts";
import { fitTogether } from "./sim-room.ts";
import type { SimVolume } from "./sim-reads.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

function uidOf(config: FakeContainer["config"] | FakeSandbox["config"]): string {
  return config.labels[LABEL.podUID] ?? "";
}

export function wrongPods(world: SimWorld): string | undefined {
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  const { sandboxes, containers } = world.machine.runtime;
  const open = undecided(world);
  for (const { id, config } of [...sandboxes.values(), ...containers.values()]) {
    if (world.judge.foreign.has(id) || wanted.has(uidOf(config))) continue;
    const { name, key } = world.setup.specs.get(uidOf(config)) ?? {};
    const mayBeThere = name !== undefined && (open.has(name) || world.rollouts.mayLinger(name));
    if (!mayBeThere) return `${id} of ${key} is left over`;
  }
  return first(world.desired().map((spec) => wrongPod(world, spec)));
}

function wrongPod(world: SimWorld, spec: SimSpec): string | undefined {
  const { runtime } = world.machine;
  const own = <T extends FakeSandbox | FakeContainer>(all: Iterable<T>): readonly T[] =>
    [...all]
      .filter(({ id, config }) => uidOf(config) === spec.uid && !world.judge.foreign.has(id))
      .toSorted((a, b) => (b.config.metadata?.attempt ?? 0) - (a.config.metadata?.attempt ?? 0));
  const sandboxes = own(runtime.sandboxes.values());
  const containers = own(runtime.containers.values());
  const newest = spec.containers.map(({ name }) =>
    containers.find(({ config }) => config.metadata?.name === name),
  );
  const running = containers.filter(({ id }) => runtime.isAlive(id));
  const [sandbox] = sandboxes;
  const isDown = running.length === 0 && sandboxes.every(({ ready }) => !ready);
  if (waits(world, spec) && isDown) return undefined;
  // One that a file began may have its sandbox, and what runs there goes on.
  if (lacksClaim(world, spec) && running.length === 0) return undefined;
  if (world.agent?.failureOf(spec.uid) !== undefined)
    return isDown ? undefined : `${spec.key} has failed and is still there`;
  if (isDown && goesOnInItsWay(world, spec)) return undefined;
  if (sandbox === undefined) return `${spec.key} has no sandbox`;
  if (sandboxes.some((one) => one !== sandbox && one.ready))
    return `${spec.key} has two sandboxes that are ready`;
  const stray = running.find((one) => !newest.includes(one) || one.sandboxId !== sandbox.id);
  if (stray !== undefined) return `${stray.id} of ${spec.key} runs, but is not the newest`;
  if (running.length > 0 !== sandbox.ready)
    return `${spec.key}: ${running.length} run, but its sandbox is ready: ${sandbox.ready}`;
  const pod = { spec, end: podEnd(spec, newest), lacksClaim: lacksClaim(world, spec) };
  for (const [index, own] of spec.containers.entries()) {
    const wrong = wrongContainer({ ...pod, own }, newest[index]);
    if (wrong !== undefined) return `${spec.key}/${own.name} ${wrong}`;
  }
  return undefined;
}

/** For a pod that is not there, or for each other. */
export function waits(world: SimWorld, spec: SimSpec): boolean {
  const { name, dependsOn } = spec;
  if (lacksClaim(world, spec)) return true;
  if (dependsOn === undefined) return false;
  const other = world.desired().find((one) => one.name === dependsOn.name);
  if (other === undefined || other.dependsOn?.name === name) return true;
  const isUntrusted = world.readerOf(other) === "mqtt" && world.trust === undefined;
  if (world.readerOf(spec) === "file" && isUntrusted) return true;
  const shown = world.agent?.facts.pods().find(({ pod }) => pod.metadata.uid === other.uid);
  const { phase, conditions = [] } = shown?.status ?? {};
  if (dependsOn.state === "Running") return phase !== "Running" && phase !== "Succeeded";
  return !conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** The old pod of a name whose successor waits takes the room of this one. */
export function goesOnInItsWay(world: SimWorld, spec: SimSpec): boolean {
  const { ledger } = world.judge;
  const waiting = [...world.desired().filter((one) => waits(world, one)), ...world.refused()];
  const old = (world.agent?.pods() ?? []).flatMap(({ desired }) => ledger.spec(desired.uid) ?? []);
  return waiting.some(({ name, uid }) =>
    old.some((one) => one.name === name && one.uid !== uid && !fitTogether(one, spec)),
  );
}

/** A document's pod does not get the data of files. */
export function lacksClaim(world: SimWorld, spec: SimSpec): boolean {
  const isKept = (of: SimVolume): boolean =>
    of.type === "claim" && world.truth.word(of.claim, "mqtt") === "Absent";
  return world.readerOf(spec) === "mqtt" && spec.volumes.some(isKept);
}

/** Names under which an old pod may run on, because the new one waits, if only for the room of another old pod. */
function undecided(world: SimWorld): ReadonlySet<string> {
  const waiting = world
    .desired()
    .filter((spec) => waits(world, spec) || goesOnInItsWay(world, spec));
  return new Set([...waiting, ...world.refused()].map(({ name }) => name));
}

export function wrongBooks(world: SimWorld, agent: SimAgent): string | undefined {
  const removals = agent.store.removals.all();
  if (removals.length > 0) return `removal rows are left: ${JSON.stringify(removals)}`;
  const open = undecided(world);
  const wanted = world
    .desired()
    .filter(({ name }) => !open.has(name))
    .map(({ uid }) => uid);
  const shown = agent.facts.pods().filter(({ pod }) => !isIn(open, pod.metadata.name));
  const workers = agent.pods().filter(({ desired }) => !isIn(open, desired.pod.metadata.name));
  const uids = shown.map(({ pod }) => pod.metadata.uid).toSorted();
  if (uids.join() !== wanted.toSorted().join()) return `the agent shows ${uids.join()}`;
  if (workers.length !== shown.length) return "a worker is left over";
  for (const { pod, deletedAt, pendingUpdate, status } of shown) {
    const { uid } = pod.metadata;
    const { key } = world.setup.specs.get(uid) ?? {};
    if (deletedAt !== undefined) return `${key} shows a deletion`;
    if (pendingUpdate !== undefined) return `${key} shows a pending update`;
    const running = world.machine.runtime
      .running()
      .some((one) => uidOf(one.config) === uid && !world.judge.foreign.has(one.id));
    if (running !== (status.phase === "Running")) return `${key} shows phase ${status.phase}`;
    const failure = agent.failureOf(uid);
    if (failure !== undefined && (status.phase !== "Failed" || status.reason !== failure.reason))
      return `${key} shows ${status.phase} (${status.reason}), not its failure`;
  }
  const killed = wrongKills(world, agent, open);
  if (killed !== undefined) return killed;
  return open.size > 0 ? undefined : wrongLogs(world, new Set(wanted));
}

function isIn(names: ReadonlySet<string>, name: string): boolean {
  return names.has(name);
}

function wrongLogs(world: SimWorld, wanted: ReadonlySet<string>): string | undefined {
  const { logs: root } = world.machine;
  if (!existsSync(root)) return undefined;
  const names = new Set<string>(world.desired().map(({ name }) => name));
  for (const directory of readdirSync(root)) {
    const [, name = "", uid = ""] = directory.split("_");
    if (wanted.has(uid)) continue;
    const isEmpty = world.judge.livesOf(uid).starts === 0;
    // Of one of which nothing has started only the process that began it knew.
    if (isEmpty && world.judge.processes > 1) continue;
    const isMarked = existsSync(join(root, directory, ".replaced.json"));
    // Nobody remembers what was being removed when the database went.
    if (!isMarked && !world.process.lostDatabase) return `logs ${directory} are left over`;
    // What one process has kept for the successor of a name, another one does not connect with a name that is gone.
    if (!names.has(name) && world.judge.processes === 1) return `logs ${directory} are left over`;
  }
  return undefined;
}

/** `uids` have none any more. */
export function wrongVolumes(world: SimWorld, uids: ReadonlySet<string>): string | undefined {
  const root = join(world.machine.state, "pods");
  const left = existsSync(root) ? readdirSync(root).filter((uid) => uids.has(uid)) : [];
  return left.length === 0 ? undefined : `volumes of ${left.join()} are left`;
}

/** Those of pods that only an agent before this one knew are swept when every source has spoken. */
export function strayVolumes(world: SimWorld): string | undefined {
  const isWaiting = world.setup.protocolVersion !== undefined && world.authority.generation === 0;
  if (isWaiting || undecided(world).size > 0) return undefined;
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  return wrongVolumes(
    world,
    new Set([...world.setup.specs.keys()].filter((uid) => !wanted.has(uid))),
  );
}

/** As the agent would see it if it looked now. */
export async function wrongGarbage(world: SimWorld): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const reader = new RuntimeReader({
    cri: runtime,
    instance: "default",
    files: NO_TERMINATION_FILES,
  });
  const looks = world.desired().map(({ uid }) => reader.inspectPod(uid, undefined));
  await clock.advance(1_000);
  const waiting = new Set(world.desired().flatMap((one) => (waits(world, one) ? [one.uid] : [])));
  for (const pod of await Promise.all(looks)) {
    // Where nothing may start, nothing is in the way of it.
    if (pod === undefined || waiting.has(pod.uid)) continue;
    const { containers, sandboxes } = planGarbage({ ...pod, observedAt: 0 });
    const garbage = [...containers.map(({ id }) => id), ...sandboxes];
    if (garbage.length > 0) return `garbage of ${pod.name} stays: ${garbage.join()}`;
    const unstarted = pod.containers.find(({ state }) => state === "Created");
    if (unstarted !== undefined) return `${unstarted.id} of ${pod.name} stays, never started`;
  }
  return undefined;
}

export function wrongForeigners(world: SimWorld): string | undefined {
  const { sandboxes, containers } = world.machine.runtime;
  for (const id of world.judge.foreign) {
    const container = containers.get(id);
    const isWell = container?.state === ContainerState.CONTAINER_RUNNING || sandboxes.has(id);
    if (!isWell && world.machine.boots === 1)
      return `${id}, which belongs to another owner, is gone`;
    if (container === undefined && !sandboxes.has(id))
      return `${id}, which belongs to another owner, is gone`;
  }
  return undefined;
}

function first(all: readonly (string | undefined)[]): string | undefined {
  return all.find((one) => one !== undefined);
}
