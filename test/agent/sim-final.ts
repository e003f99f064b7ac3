// What a simulated world must look like when every trouble has ended and there was time to recover.

import { totalChanges } from "../fakes/in-the-store.ts";
import { LABEL } from "../../src/api/pod/labels.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import { TOPIC } from "./sim-authority.ts";
import { startsBlind } from "./sim-final-blind.ts";
import { beginsToReplace } from "./sim-final-kills.ts";
import { doorOfCommand } from "./sim-doors.ts";
import { leftMount, lostClaim, wrongConfig } from "./sim-final-config.ts";
import {
  lacksClaim,
  strayVolumes,
  waits,
  wrongBooks,
  wrongForeigners,
  wrongGarbage,
  wrongPods,
  wrongVolumes,
  goesOnInItsWay,
} from "./sim-final-pods.ts";
import { wrongImages } from "./sim-judge-images.ts";
import { playOrders, playTrust } from "./sim-final-trust.ts";
import { playScene } from "./sim-final-scenes.ts";
import { goesOff } from "./sim-final-shutdown.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import type { SimAgent } from "./sim-agent.ts";
import { runsAgain } from "./sim-kubernetes.ts";
import { uidOf } from "./sim-ledger.ts";
import type { SimWorld } from "./sim-world.ts";

const RECOVERY_MS = 15 * 60_000;
/** What was set aside is tried again after an hour; a pull whose bytes are all here may take as long. */
const SET_ASIDE_MS = 65 * 60_000;
const IDLE_MS = 10 * 60_000;
/** What the watch over the runtime asks, every ten seconds. */
const SIGNS_OF_LIFE: ReadonlySet<CallName> = new Set<CallName>(["version", "status"]);
/** That may fall into the time of idling. */
const REFRESHES = 3;
const QUICK_MS = 8_000;
/** Until a report has told it. */
const REPORT_MS = 15_000;
/** Until whoever is deleted has gone. */
const AWAY_MS = 3_000;
/** With its jitter. */
const RELIST_MS = 66_000;
/** The longest of sim-specs. */
const GRACE_MS = 40_000;
const DEADLINE_MS = 450_000;
/** Every ten minutes, give or take. */
const SWEEP_MS = 13 * 60_000;

/** Lets the world recover, then idle; the first thing that is wrong. */
export async function verdict(world: SimWorld): Promise<string | undefined> {
  const { clock } = world.machine;
  await world.calm();
  await clock.advance(RECOVERY_MS);
  if (world.process.setAside || world.line.isBusy) await clock.advance(SET_ASIDE_MS);
  const agent = world.agent;
  if (agent === undefined) return "no agent runs";
  if (world.judge.violation !== undefined) return world.judge.violation;
  const wrong =
    wrongPods(world) ??
    world.line.leftOver() ??
    wrongBooks(world, agent) ??
    wrongUpstream(world, agent) ??
    wrongConfig(world) ??
    world.machine.logFiles?.verdict() ??
    wrongImages(world) ??
    (await wrongGarbage(world));
  if (wrong !== undefined) return wrong;
  const restless = await idles(world, agent, true);
  // The scenes below take pods away for a moment, and those that had no room would begin.
  if (world.isCrowded())
    return restless ?? wrongPods(world) ?? (await lingers(world)) ?? world.judge.violation;
  return (
    restless ??
    world.judge.violation ??
    strayVolumes(world) ??
    wrongPods(world) ??
    wrongUpstream(world, agent) ??
    (await isSlow(world)) ??
    (await isNotReborn(world, agent)) ??
    (await playScene(world)) ??
    (await playOrders(world)) ??
    (await playTrust(world)) ??
    (await startsBlind(world)) ??
    (await goesOff(world)) ??
    (await lingers(world)) ??
    wrongForeigners(world) ??
    world.judge.violation
  );
}

/** With nothing in the way an exit is answered long before the next relist, also one behind the end of a stream. */
async function isSlow(world: SimWorld): Promise<string | undefined> {
  const { runtime, clock } = world.machine;
  const { ledger } = world.judge;
  const container = runtime.running().find((one) => {
    const own = ledger.own(one);
    const spec = ledger.spec(uidOf(one));
    if (ledger.isForeign(one) || own?.role !== "app" || spec === undefined) return false;
    return runsAgain(spec, own, 1);
  });
  if (container === undefined) return undefined;
  world.judge.say("exit in calm");
  // Nobody hears of an exit behind the end; the list at the begin of the next stream shows it, unless CRI itself lags.
  if (world.setup.statusLagMs < 500) runtime.events.end();
  await clock.settle();
  runtime.exit(container.id, 1);
  const { latencyMs, eventLagMs, statusLagMs, tellsExits } = world.setup;
  // What CRI shows too late for whoever looks again a few times is left to the next relist.
  const shownMs = statusLagMs + (statusLagMs > 2_000 ? RELIST_MS : 0);
  // A liveness probe may fail before the event comes: then the container is stopped, and CRI shows its end.
  const isProbed = ledger.own(container)?.probes.some(({ type }) => type === "liveness") === true;
  const lagMs = eventLagMs + (tellsExits && !isProbed ? 0 : shownMs);
  await clock.advance(QUICK_MS + (latencyMs.pullImage ?? 0) + lagMs);
  return wrongPods(world);
}

/** A pod that has ended begins from nothing when its file was deleted and is there again. */
async function isNotReborn(world: SimWorld, agent: SimAgent): Promise<string | undefined> {
  const { clock } = world.machine;
  const { latencyMs, statusLagMs } = world.setup;
  // There each of its containers may wait for a relist.
  if (statusLagMs > 2_000) return undefined;
  const ended = world.desired().filter((spec) => {
    const shown = agent.facts.pods().find(({ pod }) => pod.metadata.uid === spec.uid);
    return world.isOfFile(spec) && ["Succeeded", "Failed"].includes(shown?.status.phase ?? "");
  });
  const [spec] = ended.filter((one) => !waits(world, one) && !goesOnInItsWay(world, one));
  if (spec === undefined) return undefined;
  world.judge.say(`${spec.key} is added again in calm`);
  const before = world.judge.livesOf(spec.uid);
  const again = world.takeOut(spec);
  await clock.advance(AWAY_MS);
  again();
  await clock.advance(GRACE_MS + QUICK_MS + (latencyMs.pullImage ?? 0) + 2 * statusLagMs);
  const after = world.judge.livesOf(spec.uid);
  if (after.ends === before.ends) return `${spec.key} was deleted and has never ended`;
  if (after.starts === before.starts) return `${spec.key} was added again and does not start`;
  // Its time, and what is granted to stop, may be running.
  if (spec.activeDeadlineSeconds !== undefined) await clock.advance(DEADLINE_MS);
  return wrongPods(world) ?? wrongBooks(world, agent);
}

/** Everything goes when nothing is wanted, within the grace periods. */
async function lingers(world: SimWorld): Promise<string | undefined> {
  const { agent } = world;
  if (agent === undefined) return "no agent runs";
  await beginsToReplace(world, agent);
  world.judge.say("nothing is wanted");
  const before = new Set(world.desired().map(({ uid }) => uid));
  const refused = world.refused();
  world.dropAll();
  // One container may have its time to stop before the pod's removal is heard of.
  await world.machine.clock.advance(2 * GRACE_MS + QUICK_MS + 2 * world.setup.statusLagMs);
  // Logs of a pod that had to go stay as long as it is wanted; then only the sweep finds them.
  if (refused.length > 0) await world.machine.clock.advance(SWEEP_MS);
  const wrong =
    wrongPods(world) ??
    wrongBooks(world, agent) ??
    wrongVolumes(world, before) ??
    leftMount(world, before) ??
    lostClaim(world);
  if (wrong !== undefined) return wrong;
  await world.machine.clock.advance(REPORT_MS);
  return wrongUpstream(world, agent);
}

/**
 * A late event excuses once, and so does the look that finds an image out of use, which comes minutes after the end of the
 * pod, and a deadline that passes: a pod that waited long for its image began late.
 */
async function idles(
  world: SimWorld,
  agent: SimAgent,
  mayBeLate: boolean,
): Promise<string | undefined> {
  const { runtime, broker, clock } = world.machine;
  const { database } = agent.store;
  const before = {
    calls: runtime.calls.length,
    changes: totalChanges(database),
    files: world.process.filesWritten,
    said: broker.publications.length,
    images: JSON.stringify(agent.store.images.all()),
    overdue: overdue(world),
  };
  await clock.advance(IDLE_MS);
  if (world.agent !== agent) return "the agent was replaced while nothing happens";
  // What waits for a claim in vain is tried again and again, and says so; so is the old pod that goes on for one that waits.
  if (world.desired().some((spec) => lacksClaim(world, spec))) return undefined;
  const wanted = new Set(world.desired().map(({ uid }) => uid));
  if (agent.pods().some(({ desired }) => !wanted.has(desired.uid))) return undefined;
  const said = broker.publications.slice(before.said).map(({ topic }) => topic);
  const isLate =
    said.includes(TOPIC.event) ||
    JSON.stringify(agent.store.images.all()) !== before.images ||
    overdue(world) > before.overdue;
  if (totalChanges(database) !== before.changes && mayBeLate && isLate)
    return idles(world, agent, false);
  if (totalChanges(database) !== before.changes)
    return `writes rows while nothing happens, and publishes ${said.join()}`;
  if (world.process.filesWritten !== before.files) return "writes files while nothing happens";
  const often = said.find((topic) => said.filter((one) => one === topic).length > REFRESHES);
  if (often !== undefined) return `publishes ${often} again and again while nothing happens`;
  const calls = runtime.calls.slice(before.calls);
  for (const { call, args } of calls) {
    if (SIGNS_OF_LIFE.has(call) || isProbe(call, args)) continue;
    const filter = args[0] as { readonly labelSelector?: Record<string, string> } | undefined;
    const isRelist =
      (call === "listPodSandbox" || call === "listContainers") &&
      filter?.labelSelector?.[LABEL.podUID] === undefined;
    if (!isRelist) return `${call} ${JSON.stringify(args[0])} while nothing happens`;
  }
  const lists = calls.filter(({ call }) => call.startsWith("list")).length;
  return lists > 24 ? `${lists} lists while nothing happens` : undefined;
}

/** How many of the pods that shall run are over their deadline. */
function overdue(world: SimWorld): number {
  const failures = world.desired().map(({ uid }) => world.agent?.failureOf(uid)?.reason);
  return failures.filter((reason) => reason === "DeadlineExceeded").length;
}

function isProbe(call: CallName, args: readonly unknown[]): boolean {
  if (call !== "execSync") return false;
  const { cmd } = args[1] as { readonly cmd: readonly string[] };
  return doorOfCommand(cmd)?.type === "Probe";
}
