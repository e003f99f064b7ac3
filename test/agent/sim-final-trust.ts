// Orders and forgeries in calm, when nothing excuses anybody: what may be obeyed is, at once and once, and nothing else.

import type { CommandResponse } from "../../src/protocol/command.ts";
import type { Ack, ReportedState } from "../../src/protocol/reported-state.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { TOPIC } from "./sim-authority.ts";
import { answersTo } from "./sim-commands.ts";
import { restartsMs } from "./sim-final-scenes.ts";
import { wrongBooks, wrongPods } from "./sim-final-pods.ts";
import { wrongUpstream } from "./sim-final-upstream.ts";
import { moved, instances, type Instance } from "./sim-instances.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { Forgery } from "./sim-steps.ts";
import { ANSWERS } from "./sim-trust-hand.ts";
import type { SimWorld } from "./sim-world.ts";

const ANSWER_MS = 5_000;
const LOOK_MS = 5_000;
/** Reports come at least so often when something changes; once more for whoever has just spoken. */
const REPORT_MS = 25_000;
const BACK_MS = 30_000;
/** Until whoever is well has been so for long enough, and that has been told. */
const READY_MS = 60_000;
/** Whatever was amiss with trust.d is looked at again within a minute. */
const MENDED_MS = 75_000;
const FORGERIES = Object.keys(ANSWERS).filter((how) => how !== "replay") as readonly Forgery[];

/** A question, an order, and the same order again, for this process and for the next. */
export async function playOrders(world: SimWorld): Promise<string | undefined> {
  const { commands } = world;
  // There each restart may wait for a relist, longer than a command does.
  if (commands === undefined || world.setup.statusLagMs > 2_000) return undefined;
  const { clock } = world.machine;
  // An unsigned order reaches pods of documents only.
  const isReached = ({ spec }: Instance): boolean =>
    commands.signs || world.readerOf(spec) === "mqtt";
  world.judge.say("orders in calm");
  const ping = commands.ask("ping");
  await clock.advance(ANSWER_MS);
  if (finalOf(world, ping)?.phase !== "done") return `ping is answered ${said(world, ping)}`;
  const found = anyOf(world, isReached);
  if (found === undefined) return undefined;
  const { spec, own } = found;
  const before = instances(world);
  const isForAll = new Mulberry32(world.seed ^ 0x04de4).chance(0.5);
  const container = isForAll ? {} : { container: own.name };
  const order = commands.restart({ pod: spec.name, ...container });
  for (let ms = 0; ms < restartsMs(world) && finalOf(world, order) === undefined; ms += LOOK_MS)
    await clock.advance(LOOK_MS);
  const wrong = wrongRestart(world, { spec, before, order, ...container });
  if (wrong !== undefined) return wrong;
  // Whoever has been restarted becomes Ready, and others that wait for him begin.
  await clock.advance(READY_MS);
  const after = instances(world);
  commands.perform({ type: "Command", how: "again", pod: spec.name });
  await clock.advance(ANSWER_MS);
  const twice = answersTo(world.machine.broker, order).at(-1)?.phase;
  if (twice !== "duplicate") return `an order that comes twice is answered ${said(world, order)}`;
  await world.process.restart();
  await clock.advance(BACK_MS);
  commands.perform({ type: "Command", how: "again", pod: spec.name });
  await clock.advance(ANSWER_MS);
  const late = answersTo(world.machine.broker, order).at(-1)?.phase;
  if (late !== "expired") return `an order of another session is answered ${said(world, order)}`;
  const other = moved(world, after);
  if (other !== undefined) return `${other} is restarted for an order that is over`;
  return world.judge.violation;
}

interface Restarted {
  readonly spec: SimSpec;
  readonly before: ReadonlyMap<string, Instance>;
  readonly order: string;
  /** Absent = all of the pod. */
  readonly container?: string;
}

function wrongRestart(
  world: SimWorld,
  { spec, before, order, container }: Restarted,
): string | undefined {
  if (finalOf(world, order)?.phase !== "done")
    return `restart of ${spec.key} is answered ${said(world, order)}`;
  const now = instances(world);
  for (const [key, { starts, spec: of, own }] of before) {
    const restarts = (now.get(key)?.starts ?? starts) - starts;
    const wanted = of === spec && (container ?? own.name) === own.name ? 1 : 0;
    if (restarts !== wanted) return `${key} restarts ${restarts} times, and ${wanted} was ordered`;
  }
  return undefined;
}

/** A pod of which something runs, and nothing has an end to come to. */
function anyOf(world: SimWorld, isReached: (one: Instance) => boolean): Instance | undefined {
  const running = [...instances(world).values()];
  return running.filter(isReached).find(({ spec }) => {
    const { activeDeadlineSeconds, dependsOn } = spec;
    return activeDeadlineSeconds === undefined && dependsOn === undefined;
  });
}

function finalOf(world: SimWorld, id: string): CommandResponse | undefined {
  const all = answersTo(world.machine.broker, id);
  return all.find(({ phase }) => phase !== "accepted" && phase !== "running");
}

function said(world: SimWorld, id: string): string {
  const all = answersTo(world.machine.broker, id);
  return JSON.stringify(all.map(({ phase, code, error }) => [phase, code, error?.message]));
}

/** What is forged is refused with its code, with the keys and without; nothing moves, and what is good counts again. */
export async function playTrust(world: SimWorld): Promise<string | undefined> {
  const { trust, authority, machine } = world;
  if (trust === undefined) return undefined;
  const { clock } = machine;
  const dice = new Mulberry32(world.seed ^ 0xf0e6e);
  const before = instances(world);
  // It has come to rest: whoever has just spoken does not do so again at once.
  await clock.advance(REPORT_MS);
  const wrong = await forges(world, dice.pick(FORGERIES));
  if (wrong !== undefined) return wrong;
  authority.resend();
  const blind = await (dice.chance(0.5) ? hearsLate(world) : losesKeys(world, dice));
  if (blind !== undefined) return blind;
  await clock.advance(REPORT_MS);
  const other = moved(world, before);
  if (other !== undefined) return `${other} is not what it was before somebody forged a document`;
  authority.publish(authority.wants);
  await clock.advance(READY_MS);
  const { agent } = world;
  if (agent === undefined) return "no agent runs";
  return wrongPods(world) ?? wrongBooks(world, agent) ?? wrongUpstream(world, agent);
}

async function forges(world: SimWorld, how: Forgery): Promise<string | undefined> {
  world.judge.say(`forged in calm: ${how}`);
  const forged = world.trust?.forge(how);
  if (forged === undefined) return undefined;
  await world.machine.clock.advance(REPORT_MS);
  const { lastRejected } = ackOf(world) ?? {};
  if (lastRejected?.digest === forged.digest && lastRejected.code === forged.code) return undefined;
  return `a forged document (${how}) is answered ${JSON.stringify(lastRejected)}, not ${forged.code}`;
}

/** Others sign from now on, which a node that is away hears together with, or after, what they have signed. */
async function hearsLate(world: SimWorld): Promise<string | undefined> {
  const { trust, process, authority, machine } = world;
  world.judge.say("other keys in calm");
  process.kill();
  await machine.clock.settle();
  trust?.perform({ type: "Trust", how: "handOver" });
  authority.publish(authority.wants);
  process.start();
  await machine.clock.advance(BACK_MS);
  return wrongGeneration(world);
}

function wrongGeneration({ agent, authority }: SimWorld): string | undefined {
  const generation = agent?.store.documents.get("mqtt:node")?.generation;
  if (generation === authority.generation) return undefined;
  return `generation ${generation} is accepted with the keys of now, not ${authority.generation}`;
}

/** Nobody is obeyed and everything runs on, until the keys are there again; with a TrustBundle nobody misses them. */
async function losesKeys(world: SimWorld, dice: Mulberry32): Promise<string | undefined> {
  const { trust, process, machine } = world;
  const how = dice.pick(["emptied", "unreadable", "mistyped"] as const);
  world.judge.say(`trust.d in calm: ${how}`);
  // Told also of a node that knows nothing else: it has been asked for signatures since it began.
  machine.trust.trouble(how);
  await process.restart();
  await machine.clock.advance(BACK_MS);
  const isStuck = trust?.version === 0;
  if (isUnavailable(world) !== isStuck)
    return `TrustUnavailable is ${!isStuck} though trust.d is ${how}, with bundle ${trust?.version}`;
  const wrong = await forges(world, "unsigned");
  if (wrong !== undefined) return wrong;
  // The broker does not send it twice.
  world.authority.publish(world.authority.wants);
  await machine.clock.advance(ANSWER_MS);
  trust?.calm();
  await machine.clock.advance(MENDED_MS);
  if (isUnavailable(world)) return "TrustUnavailable stays though trust.d is whole again";
  return wrongGeneration(world);
}

function isUnavailable(world: SimWorld): boolean {
  const conditions = reportedBy(world)?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "TrustUnavailable" && status === "True");
}

function ackOf(world: SimWorld): Ack | undefined {
  return reportedBy(world)?.desired.find(({ source }) => source === "node");
}

function reportedBy({ machine }: SimWorld): ReportedState | undefined {
  const text = machine.broker.retained(TOPIC.reported);
  return text === undefined ? undefined : (JSON.parse(text) as ReportedState);
}
