// A staged rollout over 200 simulated nodes: the whole verb against a broker in memory, on virtual time.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";

import { decodeRollout, type RolloutOrder } from "../../../src/protocol/rollout-order.ts";
import { FleetStage, POD } from "./fleet-stage.ts";
import { SimulatedNodes, type NodesOptions } from "./simulated-nodes.ts";

const COUNT = 200;
const GROUP = { group: "kiosks", count: COUNT };
const ROLLOUT = "agent/v1/group/kiosks/rollout";
const DESIRED = "agent/v1/group/kiosks/desired";

let stage: FleetStage;
let good: string;
let worse: string;

beforeEach(() => {
  stage = new FleetStage();
  good = stage.file("good.yaml", POD);
  worse = stage.file("worse.yaml", POD.replace("web:1", "web:2"));
});

afterEach(() => stage[Symbol.dispose]());

const FLAGS = "--group kiosks --steps 1,10%,50%,100% --bake 30s --timeout 2m";

function rollout(words: string, during: Readonly<Record<number, () => void>> = {}) {
  return stage.fleet(
    `rollout ${words} ${FLAGS} --history ${join(stage.directory, "history")}`,
    during,
  );
}

/** Nodes that have generation 1 of an earlier rollout, and bad ones of `web:2`: one in twenty. */
async function running(options: Partial<NodesOptions> = {}): Promise<SimulatedNodes> {
  const isBad: NodesOptions["isBad"] = (name, { document }) =>
    Number(name.slice(1)) % 20 === 7 && JSON.stringify(document).includes("web:2");
  const nodes = new SimulatedNodes(stage, { ...GROUP, isBad, ...options });
  for (const node of nodes.nodes) node.generation = 0;
  const { code } = await rollout(`-f ${good}`);
  expect(code).toBe(0);
  nodes.taken.clear();
  return nodes;
}

function order(): RolloutOrder {
  const read = decodeRollout(new TextEncoder().encode(stage.broker.retained(ROLLOUT) ?? ""));
  if (!read.ok) throw new Error("no Rollout");
  return read.value;
}

test("a good one goes through, no faster than its steps", async () => {
  const nodes = await running();
  const most = new Map<number, number>();
  const watch = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, index) => [
      index * 100,
      () => {
        const { generation, percent } = order();
        if (generation === 2) most.set(percent, Math.max(most.get(percent) ?? 0, nodes.have(2)));
      },
    ]),
  );
  const next = stage.file("next.yaml", POD.replace("web:1", "web:3"));
  const { code, stdout } = await rollout(`-f ${next}`, watch);
  expect(stdout).toContain("generation 2 is good at the last step");
  expect(code).toBe(0);
  expect(nodes.have(2)).toBe(COUNT);
  const counts = [...most.values()];
  expect(counts[0]).toBe(1);
  expect(counts[1]).toBeLessThan(COUNT * 0.2);
  expect(counts[2]).toBeLessThan(COUNT * 0.65);
  expect([...most.keys()].slice(1)).toEqual([10, 50, 100]);
});

test("one that fails on 5 % stops at the first step that shows it, and is taken back", async () => {
  const nodes = await running();
  const { code, stdout, stderr } = await rollout(`-f ${worse}`);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /stopped: \d+ nodes have failed, [\d.]+ % of those whose turn it was and more than 2 %/,
  );
  expect(stderr).toContain("CrashLoopBackOff");
  expect(stdout).toContain(
    "taken back: generation 3 of group kiosks has the content of generation 1",
  );
  expect(order()).toMatchObject({ generation: 2, paused: true });
  expect(order().percent).toBeLessThan(100);
  await stage.clock.advance(10_000);
  expect(nodes.have(3)).toBe(COUNT);
  const touched = [...nodes.taken.values()].filter((generations) => generations.includes(2));
  expect(touched.length).toBeLessThan(COUNT * 0.65);
  expect(stage.broker.retained(DESIRED)).toContain("web:1");
  expect(stage.broker.retained(DESIRED)).not.toContain("staged");
});

test("with --on-failure pause it stays where it stopped, and undo takes it back", async () => {
  const nodes = await running();
  const paused = await rollout(`-f ${worse} --on-failure pause`);
  expect(paused.code).toBe(1);
  expect(order()).toMatchObject({ generation: 2, paused: true });
  const status = await rollout("status");
  expect(status.stdout).toContain(`${order().percent} %`);
  expect(status.stdout).toContain("paused: ");
  expect(status.stdout).toMatch(/n\d+ +[\d.]+ % +Failed +RolledBack: web: CrashLoopBackOff/);
  const undone = await rollout("undo");
  expect(undone.stdout).toContain("has the content of generation 1");
  expect(undone.code).toBe(0);
  await stage.clock.advance(10_000);
  expect(nodes.have(3)).toBe(COUNT);
});

test("undo -f goes back to those files, whatever the generation before had", async () => {
  const nodes = await running();
  expect((await rollout(`-f ${worse} --on-failure pause`)).code).toBe(1);
  const other = stage.file("undo.yaml", POD.replace("web:1", "web:7"));
  const undone = await rollout(`undo -f ${other}`);
  expect(undone.stdout).toContain("has the content of the files");
  await stage.clock.advance(10_000);
  expect(nodes.have(3)).toBe(COUNT);
  expect(stage.broker.retained(DESIRED)).toContain("web:7");
});

test("after a bad one that is paused, a second bad one goes back to what was good", async () => {
  const nodes = await running();
  const first = await rollout(`-f ${worse} --on-failure pause`);
  expect(first.stderr).toContain("stopped: ");
  const other = POD.replace("web:1", "web:2").replace("name: main", "name: other");
  const second = await rollout(`-f ${stage.file("other.yaml", other)}`);
  expect(second.stdout).toContain(
    "taken back: generation 4 of group kiosks has the content of generation 1",
  );
  await stage.clock.advance(10_000);
  expect(nodes.have(4)).toBe(COUNT);
  expect(stage.broker.retained(DESIRED)).toContain("web:1");
});

test("the operator's program may end at every step, and another one goes on", async () => {
  const nodes = await running();
  const next = stage.file("next.yaml", POD.replace("web:1", "web:3"));
  const percents: number[] = [];
  const endIn = (ms: number) => ({ [ms]: () => stage.interrupt.abort() });
  const begun = await rollout(`-f ${next}`, endIn(5_000));
  expect(begun.stderr).toContain("interrupted");
  for (let life = 0; life < 20 && nodes.have(2) < COUNT; life += 1) {
    stage.interrupt = new AbortController();
    percents.push(order().percent);
    // Half of them know only the broker, the others begin the same document once more.
    await rollout(life % 2 === 0 ? "resume" : `-f ${next}`, endIn(45_000));
  }
  expect(nodes.have(2)).toBe(COUNT);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(order()).toMatchObject({ generation: 2, percent: 100 });
});

test("a second operator is refused while the rollout goes on, and one that takes over is seen", async () => {
  const nodes = await running();
  const next = stage.file("next.yaml", POD.replace("web:1", "web:3"));
  const taken = await rollout(`-f ${next}`, {
    20_000: () => {
      const present = order();
      const plan = { ...present.plan, operator: "other" };
      stage.broker.publish(ROLLOUT, { ...present, issuedAt: "2026-11-21T09:00:00Z", plan });
    },
  });
  expect(taken.stderr).toContain("operator other has taken over");
  expect(taken.code).toBe(1);
  const { percent } = order();
  const second = await rollout(`-f ${worse}`);
  expect(second.stderr).toContain(`the rollout of generation 2 goes on at ${percent} %`);
  expect(second.code).toBe(1);
  expect(nodes.have(3)).toBe(0);
});

test("a node that was away for the whole rollout, and one that was rebuilt, end right", async () => {
  const nodes = await running();
  nodes.leave("n3");
  const next = stage.file("next.yaml", POD.replace("web:1", "web:3"));
  const done = await rollout(`-f ${next}`, {
    10_000: () => {
      const rebuilt = nodes.node("n5");
      rebuilt.generation = 0;
    },
    15_000: () => expect(nodes.node("n5").generation).toBe(2),
  });
  expect(done.stdout).toContain("1 away");
  expect(done.code).toBe(0);
  expect(nodes.node("n3").generation).toBe(1);
  nodes.comeBack("n3");
  await stage.clock.advance(5_000);
  expect(nodes.have(2)).toBe(COUNT);
});

test("what a pause keeps back waits, and resume goes on", async () => {
  const nodes = await running();
  const next = stage.file("next.yaml", POD.replace("web:1", "web:3"));
  await rollout(`-f ${next}`, { 5_000: () => stage.interrupt.abort() });
  stage.interrupt = new AbortController();
  const pause = await rollout("pause");
  expect(pause.stdout).toContain("the rollout of generation 2 is paused at");
  const before = nodes.have(2);
  await stage.clock.advance(300_000);
  expect(nodes.have(2)).toBe(before);
  const done = await rollout("resume");
  expect(done.code).toBe(0);
  expect(nodes.have(2)).toBe(COUNT);
});

test("history names what is kept", async () => {
  await running();
  const { stdout } = await rollout("history");
  expect(stdout).toBe("1\n");
});

test("with a key, what others put on the broker is not signed again", async () => {
  const keys = join(stage.directory, "keys");
  expect((await stage.run(["keygen", "--dir", keys])).code).toBe(0);
  const key = `--key ${join(keys, "signing.pem")}`;
  const nodes = new SimulatedNodes(stage, GROUP);
  expect(nodes.have(1)).toBe(COUNT);
  const begun = await rollout(`-f ${good} ${key}`, { 4_000: () => stage.interrupt.abort() });
  expect(begun.stderr).toContain("interrupted");
  stage.interrupt = new AbortController();
  // A stranger writes 100 % where the group's Rollout was.
  const order = { apiVersion: "agent/v1", kind: "Rollout", group: "kiosks", generation: 2 };
  stage.broker.publish(ROLLOUT, {
    ...order,
    percent: 100,
    salt: "s",
    issuedAt: "2099-01-01T00:00:00Z",
  });
  await rollout(`resume ${key}`, { 4_000: () => stage.interrupt.abort() });
  const text = stage.broker.retained(ROLLOUT) ?? "";
  const payload = (JSON.parse(text) as { readonly payload: string }).payload;
  const read = decodeRollout(Uint8Array.fromBase64(payload));
  if (!read.ok) throw new Error("no Rollout");
  expect(read.value.percent).toBeLessThan(10);
  expect(read.value.issuedAt).toBeLessThan(Date.UTC(2030, 0, 1));
});
