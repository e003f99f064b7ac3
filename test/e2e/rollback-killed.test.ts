// The agent dies at random moments of updates and of rollbacks: it always ends at the new or the last good revision.

import { expect } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { Dice } from "./support-b-dice.ts";
import type { RollbackNode } from "./support-h-node.ts";
import { RollbackStage } from "./support-h-rollback.ts";
import { configMap, volumeClaim } from "./support-h-ticks.ts";

const NODES = 10;
const KILLS_EACH = 3;

const stage = await RollbackStage.open(NODES);
const { e2e } = stage.stage;
const dice = new Dice();
console.log(`AGENT_TEST_SEED=${dice.seed}`);

const KINDS = ["Good", "GoodConfig", "Crash", "NeverReady", "BadConfig", "NoImage"] as const;
type Kind = (typeof KINDS)[number];

/** Ms in which the update, and the rollback, are over; roughly. */
const TAKES: Readonly<Record<Kind, number>> = {
  Good: 4_000,
  GoodConfig: 3_000,
  Crash: 6_500,
  NeverReady: 7_500,
  BadConfig: 6_500,
  NoImage: 1_000,
};

/** A revision: its spec has a number, the ConfigMap it reads has the same one, and a word that counts for itself. */
interface Revision {
  readonly generation: number;
  readonly edition: number;
  readonly note: string;
}

interface Round {
  readonly kind: Kind;
  /** Ms from the publication to the kill. */
  readonly killAfter: number;
  /** Ms until it is started again. */
  readonly deadFor: number;
}

const POLICY = { minReadySeconds: 3, progressDeadlineSeconds: 90 };
const SHORT = { minReadySeconds: 1, progressDeadlineSeconds: 4 };

/** Each kind equally often, in random order. */
const kinds = Array.from({ length: NODES * KILLS_EACH }, (_, index) => ({
  kind: KINDS[index % KINDS.length] ?? "Good",
  rank: dice.next(),
}))
  .toSorted((a, b) => a.rank - b.rank)
  .map(({ kind }) => kind);

/** Drawn before anything runs: one seed is one course of events. */
const courses = Array.from({ length: NODES }, (_, node) =>
  Array.from({ length: KILLS_EACH }, (_none, round): Round => {
    const kind = kinds[node * KILLS_EACH + round] ?? "Good";
    return { kind, killAfter: dice.between(0, TAKES[kind]), deadFor: dice.between(200, 1_500) };
  }),
);

function resourcesOf(
  node: RollbackNode,
  { edition, note }: Omit<Revision, "generation">,
  kind: Kind,
) {
  const isBad = kind !== "Good" && kind !== "GoodConfig";
  const isNewSpec = kind !== "GoodConfig" && kind !== "BadConfig";
  const variant = `${isBad && isNewSpec ? "bad" : "good"}-${edition}`;
  const fromConfig = (name: string, key: string): object => ({
    name,
    valueFrom: { configMapKeyRef: { name: "config", key } },
  });
  const env = [
    fromConfig("MODE", "mode"),
    fromConfig("EDITION", "edition"),
    fromConfig("NOTE", "note"),
  ];
  const readinessProbe = { exec: { command: ["false"] }, periodSeconds: 1 };
  const app = node.app({
    variant,
    behaviour: kind === "Crash" ? "crash" : "work",
    ...(kind === "NoImage" ? { image: stage.hub.reference(`${node.name}/nowhere:1`) } : {}),
    container: { env, ...(kind === "NeverReady" ? { readinessProbe } : {}) },
  });
  const mode = kind === "BadConfig" ? "bad" : "good";
  return [configMap(mode, "config", { edition: String(edition), note }), volumeClaim("store"), app];
}

/** Starts of what is bad, and questions for the image that is not there. */
function triesOf(node: RollbackNode): number {
  const starts = node.ticks
    .lines("web")
    .filter(
      ({ kind, variant }) => kind === "refused" || (kind === "start" && variant.startsWith("bad")),
    );
  return starts.length + stage.hub.timesAsked(`${node.name}/nowhere:1`);
}

/** One document, one death in the middle of it, and what came of it. */
async function play(node: RollbackNode, round: Round, good: Revision): Promise<Revision> {
  const { kind, killAfter, deadFor } = round;
  const isGood = kind === "Good" || kind === "GoodConfig";
  const isNewSpec = kind !== "GoodConfig" && kind !== "BadConfig";
  const edition = isNewSpec ? good.edition + 1 : good.edition;
  const next = { edition, note: crypto.randomUUID() };
  const policy = kind === "NeverReady" ? SHORT : POLICY;
  const linesBefore = node.agent.logLines().length;
  const generation = await node.publish({ resources: resourcesOf(node, next, kind), policy });
  await Bun.sleep(killAfter);
  await node.agent.kill("SIGKILL");
  const log = node.agent.logLines();
  const at = log.at(-1);
  await Bun.sleep(deadFor);
  // Written down before anything of it begins: what was taken back once is not tried again.
  const isDecided = log.slice(linesBefore).some(({ msg }) => msg === "an update");
  const tries = triesOf(node);
  await node.agent.startReady(60_000);

  const final = isGood ? { phase: "Healthy", code: 200 } : { phase: "RolledBack", code: 424 };
  const ack = await node.ack(
    `${kind} ${generation} ends as it should`,
    (one) => one.generation === generation && one.phase === final.phase,
  );
  const now: Revision = isGood ? { ...next, generation } : good;
  expect(ack).toMatchObject({ ...final, observedGeneration: now.generation });
  if (!isGood) expect(ack.lastGood).toEqual({ generation: good.generation });
  await eventually(
    `${node.name}: ${kind} ${generation} has ended at edition ${now.edition}`,
    async () => {
      const { inside } = await node.look();
      expect(inside.split("\n")).toContain(`NOTE=${now.note}`);
      expect(inside.split("\n")).toContain("volume: good");
      expect(await node.running()).toEqual(["web"]);
      const last = node.ticks.lines("web").at(-1);
      expect(last).toMatchObject({ kind: "tick", variant: `good-${now.edition}` });
      return true;
    },
    { timeout: 60_000, interval: 200, explain: () => node.agent.logTail(60) },
  );
  if (isDecided) expect(triesOf(node)).toBe(tries);
  // Neither the wrong end in between, nor two of it, nor one with another's configuration.
  const wrong = node.upstream
    .acks()
    .filter((one) => one.generation === generation && one.code !== 202 && one.code !== final.code);
  expect(wrong).toEqual([]);
  expect(node.ticks.faults("web"), node.agent.logTail(60)).toEqual([]);
  const what = at?.msg === "event" ? `event ${JSON.stringify(at["reason"])}` : at?.msg;
  console.log(
    `${node.name.padEnd(10)} ${kind.padEnd(11)} killed after ${killAfter.toFixed(0).padStart(5)} ms (${what}) → ${ack.phase}, edition ${now.edition}`,
  );
  return now;
}

for (const [index, rounds] of courses.entries())
  e2e.concurrent(
    `killed ${rounds.length} times while it updates: ${rounds.map(({ kind }) => kind).join(", ")}`,
    async () => {
      await using node = await stage.node(`killed-${index}`);
      const first = { edition: 1, note: "first" };
      const generation = await node.good({ resources: resourcesOf(node, first, "Good") });
      const { inside } = await node.remember();
      const [kept = ""] = inside.split("\n");
      let good: Revision = { ...first, generation };
      for (const round of rounds) good = await play(node, round, good);
      // What the pod has written is there in spite of all.
      expect((await node.look()).inside.split("\n").slice(0, 2)).toEqual([kept, kept]);
    },
    360_000,
  );
