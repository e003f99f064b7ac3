// Leaving a group, killed at every step of it: the whole agent in a simulated world, from the node's document to the last pod.

import { storedDocuments } from "../fakes/in-the-store.ts";
import { expect, test } from "bun:test";
import { TOPIC } from "./sim-authority.ts";
import { AnswerStage, DB, documentOf, WEB } from "./answer-stage.ts";

const GROUP = "agent/v1/group/kiosks/desired";
const IN_GROUP = { groups: [{ name: "kiosks" }] };

/** A node that runs its own pod and one of its group. */
async function member(): Promise<AnswerStage> {
  const stage = new AnswerStage();
  const document = documentOf(1, [DB], { target: { group: "kiosks" } });
  stage.world.machine.broker.publish(GROUP, document);
  await stage.start();
  await publish(stage, documentOf(3, [WEB], IN_GROUP));
  expect(names(stage)).toEqual(["db-1", "web-1"]);
  expect(codes(stage)).toEqual(["node 3 200", "group/kiosks 1 200"]);
  return stage;
}

/** Past the judge of the world, who knows of one document only. */
async function publish(stage: AnswerStage, document: object): Promise<void> {
  const { broker, clock } = stage.world.machine;
  broker.publish(TOPIC.desired, document);
  await clock.advance(60_000);
}

const names = (stage: AnswerStage): readonly string[] =>
  stage.running().map((name) => name.split(" ")[0] ?? "");
const codes = (stage: AnswerStage): readonly string[] =>
  stage.reported.desired
    .filter(({ source }) => source !== "static")
    .map(({ source, generation, code }) => `${source} ${generation} ${code}`);

test("a group that is left ends the same, at whatever step the agent is killed", async () => {
  let died = true;
  let deaths = 0;
  for (let step = 1; died; step += 1) {
    using stage = await member();
    const [, web] = stage.running();
    const { agent } = stage;
    agent.kill(step);
    await publish(stage, documentOf(4, [WEB]));
    died = !agent.alive;
    deaths += Number(died);
    if (died) {
      await stage.world.process.restart();
      await stage.world.machine.clock.advance(90_000);
    }
    expect({ step, running: stage.running() }).toEqual({ step, running: [web ?? ""] });
    expect(codes(stage)).toEqual(["node 4 200"]);
    const { documents, rollouts } = stage.agent.store;
    expect(storedDocuments(documents).map(({ source }) => source)).toEqual(["mqtt:node"]);
    expect(rollouts.of("mqtt:group/kiosks").size).toBe(0);
  }
  expect(deaths).toBeGreaterThan(50);
}, 120_000);

test("the labels that the node's document gives are reported, and those that every node has are not", async () => {
  using stage = await member();
  const before = stage.reported.labels ?? {};
  const own = "kubernetes.io/arch";
  await publish(
    stage,
    documentOf(4, [WEB], { ...IN_GROUP, labels: { site: "berlin", [own]: "x" } }),
  );
  expect(stage.reported.labels).toEqual({ ...before, site: "berlin" });
  expect(Object.keys(before)).not.toContain(own);
}, 120_000);
