// An edited ConfigMap: volumes follow in one step, and readers that learn no news otherwise start anew, once.

import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";

import type { PodView } from "../../src/node/api-views.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { always, eventually } from "../harness/eventually.ts";
import type { Mark } from "./support-a-stage.ts";
import { containerOf, idOf, podOf, READY, untilPod } from "./support-c-views.ts";
import { World } from "./support-e-world.ts";

const world = await World.open();
const { e2e, life } = world;
let agent: AgentProcess;

beforeAll(async () => {
  if (!world.stage.available) return;
  // With the default back-off of crashes, so that one would be noticed.
  agent = world.agent("changes", { config: { crashLoopBackOff: {} } });
  await agent.startReady();
}, 180_000);

afterAll(() => world.close(), 180_000);

e2e.concurrent("a volume follows its ConfigMap in one step, and nothing restarts", async () => {
  const edit = (edition: number): void =>
    world.put(agent, "followed", { EDITION: edition, PADDING: "x".repeat(400_000) });
  edit(0);
  world.put(agent, "follows");
  const before = await untilPod(agent, "follows", READY);
  await life.heard("follows", "edition 0");
  const pid = await world.pid({ agent, pod: "follows" });
  const times: number[] = [];
  for (let edition = 1; edition <= 12; edition += 1) {
    const start = performance.now();
    edit(edition);
    await eventually(
      `edition ${edition} is there`,
      () => readFileSync(`/proc/${pid}/root/config/z`, "utf8") === `${edition}\n`,
      { timeout: 60_000, interval: 2, explain: () => agent.logTail() },
    );
    times.push(Math.round(performance.now() - start));
    // The container looks less often than the agent edits.
    if (edition % 4 === 0) await life.heard("follows", `edition ${edition}`);
  }
  console.log(`edits of a ConfigMap were seen from inside after ${times.join(", ")} ms`);
  const said = life.said("follows");
  expect(said.filter((line) => line.startsWith("mixed"))).toEqual([]);
  expect(said.length).toBeGreaterThan(3);
  const now = await podOf(agent, "follows");
  expect(idOf(containerOf(now, "main"))).toBe(idOf(containerOf(before, "main")));
});

e2e.concurrent("edits that come faster than restarts end with the newest", async () => {
  world.put(agent, "hasty", { VALUE: 0 });
  await untilPod(agent, "hasty", READY);
  for (let value = 1; value <= 8; value += 1) {
    world.put(agent, "hasty", { VALUE: value });
    await Bun.sleep(150);
  }
  const place = { agent, pod: "hasty" };
  await eventually(
    "the newest has been read",
    async () => (await world.environment(place)).get("value") === "8",
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  // Not by its journal: a container may be ended before its shell has come to write a line.
  const count = async (): Promise<number> =>
    containerOf(await podOf(agent, "hasty"), "main").restartCount;
  const restarts = await count();
  expect(restarts).toBeGreaterThan(0);
  expect(restarts).toBeLessThan(8);
  await always("it is left alone", 1_500, async () => (await count()) === restarts);
});

const READERS = ["sidecar", "env", "part"];

/** What one edit of `value` adds to the journal of the readers. */
function restarts(from: string, to: string): readonly string[] {
  const [sidecar, part] = ["sidecar", "part"].map((name) => [`${name} stop`, `${name} start`]);
  return [...(sidecar ?? []), `env ${from} stop`, `env ${to} start`, ...(part ?? [])];
}

/** Waits until the pod has said all this and no more; a container may be heard after the next one was stopped. */
async function untilSaid(pod: string, lines: readonly string[]): Promise<void> {
  const wanted = lines.toSorted().join();
  await eventually(`${pod} has said all`, () => life.said(pod).toSorted().join() === wanted, {
    timeout: 60_000,
    explain: () => `wanted: ${lines.join()}\nthe journal: ${life.said(pod).join()}`,
  });
}

/** In containerd's own order: which containers of the two looks have ended and started since. */
function turns(mark: Mark, looks: readonly PodView[]): readonly string[] {
  const names = new Map(
    looks.flatMap((pod) =>
      [...READERS, "volume", "other"].map((name) => [idOf(containerOf(pod, name)), name] as const),
    ),
  );
  return world.stage.watch.events.slice(mark).flatMap(({ topic, containerId, body }) => {
    const name = names.get(containerId);
    if (name === undefined) return [];
    if (topic === "/tasks/start") return [`${name} starts`];
    return topic === "/tasks/exit" && body["id"] === containerId ? [`${name} ends`] : [];
  });
}

e2e.concurrent("readers start anew in the order of the spec, once for each edit", async () => {
  const node = world.agent("readers-node", { config: { crashLoopBackOff: {} } });
  await node.startReady();
  const edit = (value: string, other: string, nobody = ""): void =>
    world.put(node, "readers-config", { VALUE: value, OTHER: other, NOBODY: nobody });
  edit("one", "a");
  world.put(node, "readers");
  world.put(node, "unmoved");
  const before = await untilPod(node, "readers", READY);
  for (const pod of ["unwilling", "only-once"]) await untilPod(node, pod, READY);
  const sandboxes = await world.stage.containersOf("readers", "sandbox");
  const said = [
    "init read one",
    "sidecar start",
    "env one start",
    "volume start",
    "part start",
    "other start",
  ];
  await untilSaid("readers", said);

  // The second edit would be held up for ten seconds if the first had counted as a crash.
  let known = before;
  for (const [from, to] of [
    ["one", "two"],
    ["two", "three"],
  ] as const) {
    const mark = world.stage.mark();
    const since = performance.now();
    edit(to, "a");
    said.push(...restarts(from, to));
    await untilSaid("readers", said);
    const took = Math.round(performance.now() - since);
    console.log(`all three readers of a ConfigMap had read "${to}" after ${took} ms`);
    expect(took).toBeLessThan(30_000);
    const now = await untilPod(node, "readers", {
      is: "knows all of them",
      when: (pod) =>
        READERS.every((name) => containerOf(pod, name).restartCount === (to === "two" ? 1 : 2)),
    });
    expect(turns(mark, [known, now])).toEqual(
      READERS.flatMap((name) => [`${name} ends`, `${name} starts`]),
    );
    known = now;
  }
  const part = { agent: node, pod: "readers", container: "part" };
  const volume = { agent: node, pod: "readers", container: "volume" };
  for (const place of [part, volume]) await world.untilInside(place, VALUE, "three");

  edit("three", "b");
  said.push("other stop", "other start");
  await untilSaid("readers", said);
  edit("three", "b", "whatever");
  await world.untilInside(volume, "cat /config/nobody", "whatever");

  await node.restart("SIGKILL");
  await untilPod(node, "readers", READY);
  await always("nothing restarts", 2_000, () => life.said("readers").length === said.length);

  await node.kill("SIGKILL");
  edit("four", "b");
  await node.startReady();
  said.push(...restarts("three", "four"));
  await untilSaid("readers", said);
  await world.untilInside(volume, VALUE, "four");
  await always("once is enough", 2_000, () => life.said("readers").length === said.length);

  const now = await untilPod(node, "readers", READY);
  const counts = ["init", "sidecar", "env", "volume", "part", "other"].map(
    (name) => containerOf(now, name).restartCount,
  );
  expect(counts).toEqual([0, 3, 3, 0, 3, 1]);
  expect(await world.stage.containersOf("readers", "sandbox")).toEqual(sandboxes);
  expect(now.status.podIP).toBe(before.status.podIP ?? "");
  for (const pod of ["unwilling", "only-once"]) expect(life.said(pod)).toEqual(["main start"]);
  await node.kill();
});

const VALUE = "cat /config/value";

e2e.concurrent(
  "an edit takes nothing away from a container that holds a part or a mount",
  async () => {
    const part = { agent, pod: "holders", container: "part" };
    const inner = { agent, pod: "holders", container: "inner" };
    world.put(agent, "holders", { A: "one", B: "one" });
    const before = await untilPod(agent, "holders", READY);
    await world.inside(inner, "echo precious >/etc/app/conf.d/data/file");

    for (const B of ["two", "three"]) {
      world.put(agent, "holders", { A: "one", B });
      await world.untilInside(inner, "cat /etc/app/b /etc/app/conf.d/data/file", `${B}precious`);
      await world.untilInside(part, "cat /part/a", "one");
    }
    const now = await untilPod(agent, "holders", READY);
    expect(idOf(containerOf(now, "part"))).toBe(idOf(containerOf(before, "part")));
    // The next version takes the mount away; a new start has brought it back.
    expect(containerOf(now, "inner").restartCount).toBe(2);

    world.put(agent, "holders", { A: "four", B: "three" });
    await world.untilInside(part, "cat /part/a", "four");
    await world.untilInside(
      inner,
      "cat /etc/app/conf.d/a /etc/app/conf.d/data/file",
      "fourprecious",
    );
  },
);
