// What a simulated world must look like when every trouble has ended and there was time to recover.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { LABEL } from "../../src/api/labels.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import { planGarbage } from "../../src/runtime/garbage.ts";
import { changedPods } from "../../src/pleg/relist.ts";
import { RuntimeReader } from "../../src/runtime/runtime-reader.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer, FakeSandbox } from "../fakes/fake-cri-world.ts";
import type { SimAgent } from "./sim-agent.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimWorld } from "./sim-world.ts";

const RECOVERY_MS = 15 * 60_000;
const IDLE_MS = 10 * 60_000;
/** What the watch over the runtime asks, every ten seconds. */
const SIGNS_OF_LIFE: ReadonlySet<CallName> = new Set<CallName>(["version", "status"]);
const QUICK_MS = 8_000;
/** With its jitter. */
const RELIST_MS = 66_000;
/** The longest of sim-specs. */
const GRACE_MS = 30_000;

/** Lets the world recover, then idle; the first thing that is wrong. */
export async function verdict(world: SimWorld): Promise<string | undefined> {
  await world.calm();
  await world.clock.advance(RECOVERY_MS);
  const agent = world.agent;
  if (agent === undefined) return "no agent runs";
  if (world.judge.violation !== undefined) return world.judge.violation;
  const wrong = wrongPods(world) ?? wrongBooks(world, agent) ?? (await wrongCache(world, agent));
  if (wrong !== undefined) return wrong;
  const restless = await idles(world, agent);
  return (
    restless ??
    world.judge.violation ??
    wrongPods(world) ??
    (await isSlow(world)) ??
    (await lingers(world, agent)) ??
    wrongForeigners(world)
  );
}

/** With nothing in the way an exit is answered long before the next relist, also one behind the end of a stream. */
async function isSlow(world: SimWorld): Promise<string | undefined> {
  const always = world.desired().filter(({ restartPolicy }) => restartPolicy === "Always");
  const uids = new Set(always.map(({ uid }) => uid));
  const container = world.runtime
    .running()
    .find(({ id, config }) => !world.judge.foreign.has(id) && uids.has(labelled(config)));
  if (container === undefined) return undefined;
  world.judge.say("exit in calm");
  // Nobody hears of an exit behind the end; the list at the begin of the next stream shows it, unless CRI itself lags.
  if (world.setup.statusLagMs < 500) world.runtime.events.end();
  await world.clock.settle();
  world.runtime.exit(container.id, 1);
  const { pullMs, eventLagMs, statusLagMs, tellsExits } = world.setup;
  // What CRI shows too late for whoever looks again a few times is left to the next relist.
  const shownMs = statusLagMs + (statusLagMs > 2_000 ? RELIST_MS : 0);
  const lagMs = eventLagMs + (tellsExits ? 0 : shownMs);
  await world.clock.advance(QUICK_MS + pullMs + lagMs);
  return wrongPods(world);
}

/** Everything goes when nothing is wanted, within the grace periods. */
async function lingers(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  world.judge.say("nothing is wanted");
  world.dropAll();
  await world.clock.advance(GRACE_MS + QUICK_MS + 2 * world.setup.statusLagMs);
  return wrongPods(world) ?? wrongBooks(world, agent);
}

function labelled(config: FakeContainer["config"]): string {
  return config.labels[LABEL.podUID] ?? "";
}

function wrongPods(world: SimWorld): string | undefined {
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  const { sandboxes, containers } = world.runtime;
  for (const { id, config } of [...sandboxes.values(), ...containers.values()]) {
    const uid = config.labels[LABEL.podUID] ?? "";
    if (!world.judge.foreign.has(id) && !wanted.has(uid)) return `${id} of ${uid} is left over`;
  }
  return first(world.desired().map((spec) => wrongPod(world, spec)));
}

function wrongPod(world: SimWorld, spec: SimSpec): string | undefined {
  const own = <T extends FakeSandbox | FakeContainer>(all: Iterable<T>): readonly T[] =>
    [...all]
      .filter(({ id, config }) => {
        return config.labels[LABEL.podUID] === spec.uid && !world.judge.foreign.has(id);
      })
      .toSorted((a, b) => (b.config.metadata?.attempt ?? 0) - (a.config.metadata?.attempt ?? 0));
  const sandboxes = own(world.runtime.sandboxes.values());
  const containers = own(world.runtime.containers.values());
  const names = spec.programs.map((_, index) => "ab".charAt(index));
  const newest = names.map((name) =>
    containers.find(({ config }) => config.metadata?.name === name),
  );
  const running = containers.filter(({ id }) => world.runtime.isAlive(id));
  const [sandbox] = sandboxes;
  if (sandbox === undefined) return `${spec.uid} has no sandbox`;
  if (sandboxes.some((one) => one !== sandbox && one.ready))
    return `${spec.uid} has two sandboxes that are ready`;
  const stray = running.find((one) => !newest.includes(one) || one.sandboxId !== sandbox.id);
  if (stray !== undefined) return `${stray.id} of ${spec.uid} runs, but is not the newest`;
  if (running.length > 0 !== sandbox.ready)
    return `${spec.uid}: ${running.length} run, but its sandbox is ready: ${sandbox.ready}`;
  for (const [index, container] of newest.entries()) {
    const wrong = wrongContainer(spec, container, containers);
    if (wrong !== undefined) return `${spec.uid}/${names[index]} ${wrong}`;
  }
  return undefined;
}

function wrongContainer(
  spec: SimSpec,
  container: FakeContainer | undefined,
  all: readonly FakeContainer[],
): string | undefined {
  if (container === undefined) {
    // The sandbox of a Never pod died before all of it had started: it gets no second one.
    const isLost = spec.restartPolicy === "Never" && all.length > 0;
    return isLost ? undefined : "was never made";
  }
  switch (container.state) {
    case ContainerState.CONTAINER_RUNNING:
      return undefined;
    case ContainerState.CONTAINER_EXITED:
      if (spec.restartPolicy === "Always") return "does not run";
      return spec.restartPolicy === "OnFailure" && container.exitCode !== 0
        ? `stays failed with ${container.exitCode}`
        : undefined;
    case ContainerState.CONTAINER_CREATED:
      return "was made and never started";
    case ContainerState.CONTAINER_UNKNOWN:
      return "stays unknown";
  }
  return "is in no known state";
}

function wrongBooks(world: SimWorld, agent: SimAgent): string | undefined {
  if (agent.removals.length > 0) return `removal rows are left: ${JSON.stringify(agent.removals)}`;
  const wanted = world.desired().map(({ uid }) => uid);
  const { workers, statuses } = agent.pods;
  const shown = workers.entries();
  const uids = shown.map(({ desired }) => desired.uid).toSorted();
  if (uids.join() !== wanted.toSorted().join()) return `the agent shows ${uids.join()}`;
  if (workers.all().length !== shown.length) return "a worker is left over";
  for (const { desired, deletedAt, pendingUpdate } of shown) {
    if (deletedAt !== undefined) return `${desired.uid} shows a deletion`;
    if (pendingUpdate !== undefined) return `${desired.uid} shows a pending update`;
    const status = statuses.get(desired.uid)?.status;
    const running = world.runtime
      .running()
      .some(
        (one) =>
          one.config.labels[LABEL.podUID] === desired.uid && !world.judge.foreign.has(one.id),
      );
    if (running !== (status?.phase === "Running"))
      return `${desired.uid} shows phase ${status?.phase}`;
  }
  return wrongLogs(world, new Set(wanted));
}

function wrongLogs(world: SimWorld, wanted: ReadonlySet<string>): string | undefined {
  const root = join(world.directory, "logs");
  if (!existsSync(root)) return undefined;
  const names = new Set<string>(world.desired().map(({ name }) => name));
  const retained = new Map<string, number>();
  for (const entry of readdirSync(root)) {
    const [, name = "", uid = ""] = entry.split("_");
    const isRetained = existsSync(join(root, entry, ".replaced.json"));
    if (wanted.has(uid) && !isRetained) continue;
    if (wanted.has(uid)) return `the logs of ${uid}, which runs, count as replaced`;
    retained.set(name, (retained.get(name) ?? 0) + 1);
    if (!isRetained) return `the logs of ${uid} are left over`;
    // A name that goes while no process runs takes nothing along: nobody saw it go.
    if (world.judge.processes === 1 && !names.has(name))
      return `the replaced logs of ${uid} are left over`;
    if ((retained.get(name) ?? 0) > 1) return `more than one replaced pod's logs of ${name} stay`;
  }
  return undefined;
}

async function wrongCache(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  const reader = new RuntimeReader({ cri: world.runtime, instance: "default" });
  const listing = reader.listPods();
  await world.clock.advance(1_000);
  const known = agent.pods.cache.all();
  const changed = changedPods(known, await listing);
  if (changed.length > 0) return `the cache is wrong about ${changed.join()}`;
  for (const pod of known.values()) {
    const { containers, sandboxes } = planGarbage(pod);
    const garbage = [...containers.map(({ id }) => id), ...sandboxes];
    if (garbage.length > 0) return `garbage of ${pod.uid} stays: ${garbage.join()}`;
    const unstarted = pod.containers.find(({ state }) => state === "Created");
    if (unstarted !== undefined) return `${unstarted.id} of ${pod.uid} stays, never started`;
  }
  return undefined;
}

async function idles(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  const { runtime } = world;
  const before = { calls: runtime.calls.length, changes: agent.databaseChanges };
  await world.clock.advance(IDLE_MS);
  if (agent.databaseChanges !== before.changes) return "writes while nothing happens";
  const calls = runtime.calls.slice(before.calls);
  for (const { call, args } of calls) {
    if (SIGNS_OF_LIFE.has(call)) continue;
    const filter = args[0] as { readonly labelSelector?: Record<string, string> } | undefined;
    const isRelist =
      (call === "listPodSandbox" || call === "listContainers") &&
      filter?.labelSelector?.[LABEL.podUID] === undefined;
    if (!isRelist) return `${call} ${JSON.stringify(args[0])} while nothing happens`;
  }
  const lists = calls.filter(({ call }) => !SIGNS_OF_LIFE.has(call)).length;
  return lists > 24 ? `${lists} lists while nothing happens` : undefined;
}

function wrongForeigners(world: SimWorld): string | undefined {
  const { sandboxes, containers } = world.runtime;
  for (const id of world.judge.foreign) {
    const isThere = sandboxes.has(id) || containers.has(id);
    if (!isThere) return `${id}, which is somebody else's, is gone`;
  }
  return undefined;
}

function first(all: readonly (string | undefined)[]): string | undefined {
  return all.find((one) => one !== undefined);
}
