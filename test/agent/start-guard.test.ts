// Work that ends the agent at every start: the whole agent in a simulated world, killed whenever that work is in hand.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { documentHand, handKey, podHand, readInHand } from "../../src/store/start-guard/hand.ts";
import { AnswerStage, DB, documentOf, WEB, type StageOptions } from "./answer-stage.ts";
import { TOPIC } from "./sim-authority.ts";
import { sha256 } from "./sim-manifest.ts";

function inHand(stage: AnswerStage): readonly string[] {
  const path = join(stage.world.machine.root, "state", "in-hand");
  const { hands } = readInHand(readFileSync(path, "utf8"));
  return hands.map(({ kind, name }) => `${kind} ${name}`);
}

/** From now on this process ends as soon as `work` (`Pod default/web`, or the key of a hand) is in its hand. */
function deadly(stage: AnswerStage, work: string, how: "kill -9" | "SIGTERM" = "kill -9"): void {
  const { agent } = stage;
  const { hands } = agent.store;
  const hold = hands.hold.bind(hands);
  hands.hold = (hand) => {
    hold(hand);
    if (`${hand.kind} ${hand.name}` !== work && handKey(hand) !== work) return;
    if (how === "kill -9") agent.kill();
    // In the middle of the work.
    else void stage.world.machine.clock.sleep(100).then(() => agent.stop());
  };
}

/** The next process, for which `work` is as deadly; true = it has ended within `ms`. */
async function endsIn(stage: AnswerStage, work: string, ms: number): Promise<boolean> {
  await stage.world.process.restart();
  deadly(stage, work);
  await stage.world.machine.clock.advance(ms);
  return stage.world.agent === undefined;
}

function names(stage: AnswerStage): readonly string[] {
  return stage.running().map((name) => name.split(" ")[0] ?? "");
}

function condition(stage: AnswerStage): string | undefined {
  const { conditions } = stage.reported.status;
  return conditions.find(({ type }) => type === "StartGuard")?.message;
}

const WORK = "Pod default/web";

/** A node that runs db, and whose document then adds web, which has ended the agent so many times. */
async function afterDeaths(deaths: number, options?: StageOptions): Promise<AnswerStage> {
  const stage = new AnswerStage(options);
  await stage.start();
  await stage.publish(documentOf(3, [DB]));
  deadly(stage, WORK);
  stage.world.machine.broker.publish(TOPIC.desired, documentOf(4, [DB, WEB]));
  await stage.world.machine.clock.advance(10_000);
  expect(stage.world.agent).toBeUndefined();
  expect(inHand(stage)).toContain(WORK);
  // Once is no reason to wait.
  for (let death = 1; death < deaths; death += 1)
    expect(await endsIn(stage, WORK, 5_000)).toBe(true);
  return stage;
}

test("after two deaths in the hand of a pod MQTT comes first, and a newer document cures", async () => {
  using stage = await afterDeaths(2);
  stage.world.machine.broker.publish(TOPIC.desired, documentOf(5, [DB]));
  expect(await endsIn(stage, WORK, 900_000)).toBe(false);
  expect(names(stage)).toEqual(["db-1"]);
  expect(stage.answer).toMatchObject({ generation: 5, code: 200 });
  expect(condition(stage)).toBeUndefined();
  stage.isQuiet();
}, 60_000);

test("without a newer document it is shown, tried after a while, and after the third death five minutes later", async () => {
  using stage = await afterDeaths(2);
  // The broker is asked within a second, and has nothing newer.
  expect(await endsIn(stage, WORK, 2_000)).toBe(false);
  expect(condition(stage)).toContain("the agent ended 2 times while it worked on pod default/web");
  expect(stage.reported.pods).toMatchObject([
    { name: "db", ready: "1/1" },
    { name: "web", reason: "StartGuard" },
  ]);
  await stage.world.machine.clock.advance(3_000);
  expect(stage.world.agent).toBeUndefined();

  expect(await endsIn(stage, WORK, 299_000)).toBe(false);
  expect(names(stage)).toEqual(["db-1"]);
  expect(condition(stage)).toContain("the agent ended 3 times");
  await stage.world.machine.clock.advance(2_000);
  expect(stage.world.agent).toBeUndefined();

  // Now its sync does no harm.
  expect(await endsIn(stage, "nothing", 599_000)).toBe(false);
  expect(names(stage)).toEqual(["db-1"]);
  await stage.pass(60_000);
  expect(names(stage)).toEqual(["db-1", "web-1"]);
  expect(condition(stage)).toBeUndefined();
  expect(stage.answer).toMatchObject({ generation: 4, code: 200 });
  expect(
    stage.agent.store.hands.deaths(podHand({ uid: WEB.uid, namespace: "default", name: "web" })),
  ).toBe(0);
}, 60_000);

test("without a broker it is tried a minute after the start, and nothing that runs is touched", async () => {
  using stage = await afterDeaths(2);
  const before = stage.running();
  await stage.world.perform({ type: "Broker", how: "down", pause: 0 });
  expect(await endsIn(stage, WORK, 59_000)).toBe(false);
  expect(stage.running()).toEqual(before);
  await stage.world.machine.clock.advance(2_000);
  expect(stage.world.agent).toBeUndefined();
  expect(stage.running()).toEqual(before);
}, 60_000);

test("a document that ends the agent while it is applied has not synced at the third start, and a newer one cures", async () => {
  using stage = new AnswerStage();
  await stage.start();
  await stage.publish(documentOf(3, [DB]));
  const before = stage.running();
  const harmful = documentOf(4, [DB, WEB]);
  const work = handKey(documentHand("mqtt:node", `sha256:${sha256(JSON.stringify(harmful))}`));
  // It is accepted, and the process ends right after that; from then on while it is applied.
  const { documents } = stage.agent.store;
  const accept = documents.accept.bind(documents);
  documents.accept = (document) => {
    accept(document);
    deadly(stage, work);
  };
  stage.world.machine.broker.publish(TOPIC.desired, harmful);
  await stage.world.machine.clock.advance(5_000);
  expect(stage.world.agent).toBeUndefined();
  expect(await endsIn(stage, work, 5_000)).toBe(true);

  expect(await endsIn(stage, work, 1_000)).toBe(false);
  expect(stage.running()).toEqual(before);
  stage.world.machine.broker.publish(TOPIC.desired, documentOf(5, [DB]));
  await stage.pass(600_000);
  expect(stage.running()).toEqual(before);
  expect(stage.answer).toMatchObject({ generation: 5, code: 200 });
}, 60_000);

test("while the node's document waits, its pods, its groups and their pods run on", async () => {
  using stage = new AnswerStage();
  const { broker, clock } = stage.world.machine;
  const ofGroup = documentOf(1, [DB], { target: { group: "kiosks" } });
  broker.publish("agent/v1/group/kiosks/desired", ofGroup);
  await stage.start();
  const own = documentOf(3, [WEB], { groups: [{ name: "kiosks" }] });
  broker.publish(TOPIC.desired, own);
  await clock.advance(60_000);
  const before = stage.running();
  expect(names(stage)).toEqual(["db-1", "web-1"]);
  const hand = documentHand("mqtt:node", `sha256:${sha256(JSON.stringify(own))}`);
  await stage.world.perform({ type: "Broker", how: "down", pause: 0 });
  for (let death = 0; death < 2; death += 1) {
    stage.agent.store.hands.hold(hand);
    await stage.world.process.restart();
  }
  await clock.advance(55_000);
  expect(stage.agent.facts.rejected()).toMatchObject([{ code: "StartGuard" }]);
  expect(stage.running()).toEqual(before);
  await clock.advance(65_000);
  expect(stage.agent.facts.rejected()).toEqual([]);
  expect(stage.agent.store.hands.deaths(hand)).toBe(0);
  expect(stage.running()).toEqual(before);
  await stage.world.perform({ type: "Broker", how: "well", pause: 120_000 });
  const answers = stage.reported.desired.map(({ source, code }) => `${source} ${code}`);
  expect(answers.toSorted()).toEqual(["group/kiosks 200", "node 200", "static 200"]);
  expect(stage.running()).toEqual(before);
}, 60_000);

test("a clean stop in the same hand is no death, also while the runtime does not answer", async () => {
  using stage = await afterDeaths(1, { latencyMs: { runPodSandbox: 30_000 } });
  for (let stop = 0; stop < 3; stop += 1) {
    await stage.world.process.restart();
    deadly(stage, WORK, "SIGTERM");
    await stage.world.machine.clock.advance(20_000);
    expect(stage.world.agent).toBeUndefined();
    expect(inHand(stage)).toEqual([]);
  }
  expect(await endsIn(stage, "nothing", 120_000)).toBe(false);
  expect(names(stage)).toEqual(["db-1", "web-1"]);
}, 60_000);
