// What a simulated world must look like when every trouble has ended and there was time to recover.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LABEL } from "../../src/api/labels.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { planGarbage } from "../../src/runtime/garbage.ts";
import { RuntimeReader } from "../../src/runtime/runtime-reader.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer, FakeSandbox } from "../fakes/fake-cri-world.ts";
import { settled, wrongContainer } from "./sim-final-container.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import type { SimAgent } from "./sim-agent.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

const RECOVERY_MS = 15 * 60_000;
/** What was set aside is tried again after an hour. */
const SET_ASIDE_MS = 65 * 60_000;
const IDLE_MS = 10 * 60_000;
/** What the watch over the runtime asks, every ten seconds. */
const SIGNS_OF_LIFE: ReadonlySet<CallName> = new Set<CallName>(["version", "status"]);
/** That may fall into the time of idling. */
const REFRESHES = 3;
const QUICK_MS = 8_000;
/** Until a report has told it. */
const REPORT_MS = 15_000;
/** With its jitter. */
const RELIST_MS = 66_000;
/** The longest of sim-specs. */
const GRACE_MS = 30_000;

/** Lets the world recover, then idle; the first thing that is wrong. */
export async function verdict(world: SimWorld): Promise<string | undefined> {
  const { clock } = world.machine;
  await world.calm();
  await clock.advance(RECOVERY_MS);
  if (world.setAside) await clock.advance(SET_ASIDE_MS);
  const agent = world.agent;
  if (agent === undefined) return "no agent runs";
  if (world.judge.violation !== undefined) return world.judge.violation;
  const wrong =
    wrongPods(world) ??
    wrongBooks(world, agent) ??
    wrongUpstream(world, agent) ??
    (await wrongGarbage(world));
  if (wrong !== undefined) return wrong;
  const restless = await idles(world, agent);
  return (
    restless ??
    world.judge.violation ??
    strayVolumes(world) ??
    wrongPods(world) ??
    wrongUpstream(world, agent) ??
    (await isSlow(world)) ??
    (await lingers(world, agent)) ??
    wrongForeigners(world) ??
    world.judge.violation
  );
}

/** With nothing in the way an exit is answered long before the next relist, also one behind the end of a stream. */
async function isSlow(world: SimWorld): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const always = world.desired().filter(({ restartPolicy }) => restartPolicy === "Always");
  const uids = new Set(always.map(({ uid }) => uid));
  const container = runtime
    .running()
    .find(({ id, config }) => !world.judge.foreign.has(id) && uids.has(uidOf(config)));
  if (container === undefined) return undefined;
  world.judge.say("exit in calm");
  // Nobody hears of an exit behind the end; the list at the begin of the next stream shows it, unless CRI itself lags.
  if (world.setup.statusLagMs < 500) runtime.events.end();
  await clock.settle();
  runtime.exit(container.id, 1);
  const { latencyMs, eventLagMs, statusLagMs, tellsExits } = world.setup;
  // What CRI shows too late for whoever looks again a few times is left to the next relist.
  const shownMs = statusLagMs + (statusLagMs > 2_000 ? RELIST_MS : 0);
  const lagMs = eventLagMs + (tellsExits ? 0 : shownMs);
  await clock.advance(QUICK_MS + (latencyMs.pullImage ?? 0) + lagMs);
  return wrongPods(world);
}

/** Everything goes when nothing is wanted, within the grace periods. */
async function lingers(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  world.judge.say("nothing is wanted");
  const before = new Set(world.desired().map(({ uid }) => uid));
  world.dropAll();
  await world.machine.clock.advance(GRACE_MS + QUICK_MS + 2 * world.setup.statusLagMs);
  const wrong = wrongPods(world) ?? wrongBooks(world, agent) ?? wrongVolumes(world, before);
  if (wrong !== undefined) return wrong;
  await world.machine.clock.advance(REPORT_MS);
  return wrongUpstream(world, agent);
}

function uidOf(config: FakeContainer["config"] | FakeSandbox["config"]): string {
  return config.labels[LABEL.podUID] ?? "";
}

function wrongPods(world: SimWorld): string | undefined {
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  const { sandboxes, containers } = world.machine.runtime;
  for (const { id, config } of [...sandboxes.values(), ...containers.values()]) {
    if (world.judge.foreign.has(id) || wanted.has(uidOf(config))) continue;
    return `${id} of ${world.setup.specs.get(uidOf(config))?.key} is left over`;
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
  if (sandbox === undefined) return `${spec.key} has no sandbox`;
  if (sandboxes.some((one) => one !== sandbox && one.ready))
    return `${spec.key} has two sandboxes that are ready`;
  const stray = running.find((one) => !newest.includes(one) || one.sandboxId !== sandbox.id);
  if (stray !== undefined) return `${stray.id} of ${spec.key} runs, but is not the newest`;
  if (running.length > 0 !== sandbox.ready)
    return `${spec.key}: ${running.length} run, but its sandbox is ready: ${sandbox.ready}`;
  const end = settled(spec, newest);
  for (const [index, own] of spec.containers.entries()) {
    const wrong = wrongContainer({ spec, own, end }, newest[index], containers);
    if (wrong !== undefined) return `${spec.key}/${own.name} ${wrong}`;
  }
  return undefined;
}

function wrongBooks(world: SimWorld, agent: SimAgent): string | undefined {
  const removals = agent.store.removals.all();
  if (removals.length > 0) return `removal rows are left: ${JSON.stringify(removals)}`;
  const wanted = world.desired().map(({ uid }) => uid);
  const shown = agent.facts.pods();
  const uids = shown.map(({ pod }) => pod.metadata.uid).toSorted();
  if (uids.join() !== wanted.toSorted().join()) return `the agent shows ${uids.join()}`;
  if (agent.pods().length !== shown.length) return "a worker is left over";
  for (const { pod, deletedAt, pendingUpdate, status } of shown) {
    const { uid } = pod.metadata;
    const { key } = world.setup.specs.get(uid) ?? {};
    if (deletedAt !== undefined) return `${key} shows a deletion`;
    if (pendingUpdate !== undefined) return `${key} shows a pending update`;
    const running = world.machine.runtime
      .running()
      .some((one) => uidOf(one.config) === uid && !world.judge.foreign.has(one.id));
    if (running !== (status.phase === "Running")) return `${key} shows phase ${status.phase}`;
  }
  return wrongLogs(world, new Set(wanted));
}

function wrongLogs(world: SimWorld, wanted: ReadonlySet<string>): string | undefined {
  const { logs: root } = world.machine;
  if (!existsSync(root)) return undefined;
  const names = new Set<string>(world.desired().map(({ name }) => name));
  for (const directory of readdirSync(root)) {
    const [, name = "", uid = ""] = directory.split("_");
    if (wanted.has(uid)) continue;
    const isMarked = existsSync(join(root, directory, ".replaced.json"));
    // Nobody remembers what was being removed when the database went.
    if (!isMarked && !world.lostDatabase) return `logs ${directory} are left over`;
    // What one process has kept for the successor of a name, another one does not connect with a name that is gone.
    if (!names.has(name) && world.judge.processes === 1) return `logs ${directory} are left over`;
  }
  return undefined;
}

/** `uids` have none any more. */
function wrongVolumes(world: SimWorld, uids: ReadonlySet<string>): string | undefined {
  const root = join(world.machine.state, "pods");
  const left = existsSync(root) ? readdirSync(root).filter((uid) => uids.has(uid)) : [];
  return left.length === 0 ? undefined : `volumes of ${left.join()} are left`;
}

/** Those of pods that only an agent before this one knew are swept when every source has spoken. */
function strayVolumes(world: SimWorld): string | undefined {
  const isWaiting = world.setup.protocolVersion !== undefined && world.authority.generation === 0;
  if (isWaiting) return undefined;
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  return wrongVolumes(
    world,
    new Set([...world.setup.specs.keys()].filter((uid) => !wanted.has(uid))),
  );
}

/** As the agent would see it if it looked now. */
async function wrongGarbage(world: SimWorld): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const reader = new RuntimeReader({ cri: runtime, instance: "default" });
  const looks = world.desired().map(({ uid }) => reader.inspectPod(uid, undefined));
  await clock.advance(1_000);
  for (const pod of await Promise.all(looks)) {
    if (pod === undefined) continue;
    const { containers, sandboxes } = planGarbage({ ...pod, observedAt: 0 });
    const garbage = [...containers.map(({ id }) => id), ...sandboxes];
    if (garbage.length > 0) return `garbage of ${pod.name} stays: ${garbage.join()}`;
    const unstarted = pod.containers.find(({ state }) => state === "Created");
    if (unstarted !== undefined) return `${unstarted.id} of ${pod.name} stays, never started`;
  }
  return undefined;
}

async function idles(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  const { runtime, broker, clock } = world.machine;
  const { database } = agent.store;
  const before = {
    calls: runtime.calls.length,
    changes: database.totalChanges,
    files: world.filesWritten,
    said: broker.publications.length,
  };
  await clock.advance(IDLE_MS);
  if (world.agent !== agent) return "the agent was replaced while nothing happens";
  if (database.totalChanges !== before.changes) return "writes rows while nothing happens";
  if (world.filesWritten !== before.files) return "writes files while nothing happens";
  const said = broker.publications.slice(before.said).map(({ topic }) => topic);
  const often = said.find((topic) => said.filter((one) => one === topic).length > REFRESHES);
  if (often !== undefined) return `publishes ${often} again and again while nothing happens`;
  const calls = runtime.calls.slice(before.calls);
  for (const { call, args } of calls) {
    if (SIGNS_OF_LIFE.has(call) || call === "execSync") continue;
    const filter = args[0] as { readonly labelSelector?: Record<string, string> } | undefined;
    const isRelist =
      (call === "listPodSandbox" || call === "listContainers") &&
      filter?.labelSelector?.[LABEL.podUID] === undefined;
    if (!isRelist) return `${call} ${JSON.stringify(args[0])} while nothing happens`;
  }
  const lists = calls.filter(({ call }) => call.startsWith("list")).length;
  return lists > 24 ? `${lists} lists while nothing happens` : undefined;
}

function wrongForeigners(world: SimWorld): string | undefined {
  const { sandboxes, containers } = world.machine.runtime;
  for (const id of world.judge.foreign) {
    const container = containers.get(id);
    const isWell = container?.state === ContainerState.CONTAINER_RUNNING || sandboxes.has(id);
    if (!isWell && world.machine.boots === 1) return `${id}, which is somebody else's, is gone`;
    if (container === undefined && !sandboxes.has(id))
      return `${id}, which is somebody else's, is gone`;
  }
  return undefined;
}

function first(all: readonly (string | undefined)[]): string | undefined {
  return all.find((one) => one !== undefined);
}
