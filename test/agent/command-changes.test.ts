// Restart and pull as commands order them, on pods in a runtime in memory.

import { describe, expect, test } from "bun:test";
import { podCommands } from "../../src/command/pod-commands.ts";
import { COMMAND_VERBS, VERBS, type CommandVerb } from "../../src/command/verbs.ts";
import type { CommandOrder } from "../../src/command/run-verb.ts";
import type { CommandOutcome } from "../../src/command/response.ts";
import { aContainer } from "../fakes/a-pod.ts";
import type { Program } from "../fakes/fake-cri-world.ts";
import { ulid } from "../unit/upstream/a-command.ts";
import { PodWorld, pod } from "./pod-world.ts";
import type { HoldFacts } from "../../src/node/node-api.ts";

const two = { containers: [aContainer("a"), aContainer("b")] };

class Orders {
  readonly world: PodWorld;
  readonly progress: unknown[] = [];
  readonly stop = new AbortController();
  signed = true;

  constructor(world: PodWorld) {
    this.world = world;
  }

  order(verb: CommandVerb, args: Readonly<Record<string, unknown>>): CommandOrder {
    return {
      command: { id: ulid(1), verb, target: {}, args, ttl: 60 },
      signed: this.signed,
      by: [],
      statusOnly: false,
      signal: this.stop.signal,
      progress: (data) => void this.progress.push(data),
      release: () => undefined,
    };
  }

  async run(
    verb: "restart" | "pull",
    args: Readonly<Record<string, unknown>>,
  ): Promise<CommandOutcome> {
    const { pods, runner, clock } = this.world;
    const { fetchImages } = runner;
    const facts: HoldFacts = { changeHold: () => ({ type: "Done" }) };
    return podCommands({ facts, pods, fetchImages, clock })[verb](this.order(verb, args));
  }

  async restart(args: Readonly<Record<string, unknown>>, ms = 1_000): Promise<CommandOutcome> {
    const outcome = this.run("restart", args);
    await this.world.clock.advance(ms);
    return outcome;
  }
}

describe("an ordered restart", () => {
  test("gives every container of the pod a new instance, in the same sandbox", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1", two), pod("other")]);
    const orders = new Orders(world);
    const outcome = await orders.restart({ pod: "web" }, 60_000);
    expect(outcome).toEqual({
      code: 200,
      data: {
        containers: [
          { name: "a", restartCount: 1 },
          { name: "b", restartCount: 1 },
        ],
      },
    });
    expect(orders.progress).toEqual([{ containers: ["a", "b"] }]);
    expect(world.running()).toEqual(["other/a/0", "web/a/1", "web/b/1"]);
    await world.clock.advance(600_000);
    expect(world.running()).toEqual(["other/a/0", "web/a/1", "web/b/1"]);
  });

  test("reaches one container where one is named, also time after time without back-off", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1", two)]);
    const orders = new Orders(world);
    for (const attempt of [1, 2, 3]) {
      expect((await orders.restart({ pod: "web", container: "b" }, 35_000)).code).toBe(200);
      expect(world.running()).toEqual(["web/a/0", `web/b/${attempt}`]);
    }
  });

  test("that comes right after another one brings one more instance, also where the runtime answers late", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    const slow = { type: "delay", ms: 3_000 } as const;
    world.runtime.faults.order("listContainers", slow, { times: 100 });
    const orders = new Orders(world);
    const first = orders.run("restart", { pod: "web" });
    for (let ms = 0; ms < 60_000 && world.running()[0] !== "web/a/1"; ms += 100)
      await world.clock.advance(100);
    const second = await orders.restart({ pod: "web" }, 60_000);
    expect((await first).data).toEqual({ containers: [{ name: "a", restartCount: 1 }] });
    expect(second.data).toEqual({ containers: [{ name: "a", restartCount: 2 }] });
    expect(world.running()).toEqual(["web/a/2"]);
  });

  test("brings back also what would never start again by itself", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("once", "1", { restartPolicy: "Never" })]);
    expect((await new Orders(world).restart({ pod: "once" }, 60_000)).code).toBe(200);
    expect(world.running()).toEqual(["once/a/1"]);
  });

  test("ends nobody whose image is gone: it times out, and is nobody's order any more", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    world.images.clear();
    const orders = new Orders(world);
    const outcome = await orders.restart({ pod: "web" }, 200_000);
    expect(outcome).toMatchObject({ code: 504, error: { category: "Timeout" } });
    expect(world.running()).toEqual(["web/a/0"]);
    world.images.add("local/busybox:1");
    await world.clock.advance(600_000);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("that takes too long ends nobody more, also of those whose turn was to come", async () => {
    const program = (): Program => ({ stopsAfterMs: Number.POSITIVE_INFINITY });
    using world = new PodWorld({ program, latencyMs: { startContainer: 90_000 } });
    await world.start();
    await world.desire([
      pod("web", "1", { containers: [aContainer("a"), aContainer("b"), aContainer("c")] }),
    ]);
    await world.clock.advance(300_000);
    const outcome = await new Orders(world).restart({ pod: "web" }, 220_000);
    expect(outcome).toMatchObject({ code: 504, error: { category: "Timeout" } });
    await world.clock.advance(600_000);
    expect(world.running()).toEqual(["web/a/1", "web/b/1", "web/c/0"]);
  });

  test("is lost with the process, and the pod runs on", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    world.images.clear();
    const orders = new Orders(world);
    const outcome = orders.run("restart", { pod: "web" });
    await world.clock.advance(1_000);
    orders.stop.abort();
    await outcome;
    world.images.add("local/busybox:1");
    await world.restart();
    await world.desire([pod("web")]);
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("leaves nobody ended whom the next process would not bring back", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 5_000 }) });
    const once = pod("once", "1", { restartPolicy: "Never" });
    await world.start();
    await world.desire([once]);
    const orders = new Orders(world);
    void orders.run("restart", { pod: "once" });
    await world.clock.advance(1_000);
    await world.kill();
    await world.clock.advance(60_000);
    expect(world.running()).toEqual([]);
    await world.start();
    await world.desire([once]);
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["once/a/1"]);
  });

  test("is refused where there is nothing to restart", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([
      pod("web"),
      pod("lost", "1", { containers: [aContainer("a", { image: "no/such:1" })] }),
    ]);
    const orders = new Orders(world);
    expect((await orders.restart({})).code).toBe(400);
    expect((await orders.restart({ pod: "web", force: true })).code).toBe(400);
    expect((await orders.restart({ pod: "web", container: "z" })).code).toBe(400);
    expect((await orders.restart({ pod: "nobody" })).code).toBe(404);
    expect((await orders.restart({ pod: "web", namespace: "other" })).code).toBe(404);
    expect((await orders.restart({ pod: "lost" })).code).toBe(409);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("says so when the pod goes meanwhile", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    world.images.clear();
    const orders = new Orders(world);
    const outcome = orders.run("restart", { pod: "web" });
    await world.clock.advance(1_000);
    await world.desire([]);
    await world.clock.advance(60_000);
    expect(await outcome).toMatchObject({ code: 409, error: { category: "Gone" } });
  });
});

describe("an ordered pull", () => {
  test("finds the images of a pod, or tells why not", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([
      pod("web"),
      pod("lost", "1", { containers: [aContainer("a", { image: "no/such:1" })] }),
    ]);
    const orders = new Orders(world);
    const ask = (args: Readonly<Record<string, unknown>>): Promise<CommandOutcome> =>
      orders.run("pull", args);
    expect(await ask({ pod: "web" })).toEqual({ code: 200, data: { images: ["local/busybox:1"] } });
    expect(await ask({ image: "local/busybox:1" })).toMatchObject({ code: 200 });
    expect(await ask({ pod: "lost" })).toMatchObject({
      code: 502,
      error: { category: "ErrImagePull", message: "no/such:1: not found" },
    });
    expect(await ask({ image: "any/thing:1" })).toMatchObject({ code: 404 });
    expect(await ask({})).toMatchObject({ code: 400 });
    expect(await ask({ pod: "web", image: "local/busybox:1" })).toMatchObject({ code: 400 });
  });
});

test("an unsigned command reaches no pod of a file", async () => {
  using world = new PodWorld();
  await world.start();
  await world.desire([pod("web")]);
  await world.clock.advance(1_000);
  const orders = new Orders(world);
  orders.signed = false;
  const forbidden = { code: 403, error: { category: "Forbidden" } };
  expect(await orders.run("restart", { pod: "web" })).toMatchObject(forbidden);
  expect(await orders.run("pull", { pod: "web" })).toMatchObject(forbidden);
  expect(await orders.run("pull", { image: "local/busybox:1" })).toMatchObject({ code: 404 });
  // Holds concern updates of documents only, and exec takes signed commands only (component/command/tunnel-commands). A new
  // verb needs a line above.
  const judged: readonly CommandVerb[] = ["restart", "hold", "release", "pull", "exec"];
  expect(COMMAND_VERBS.filter((verb) => VERBS[verb].changes)).toEqual([...judged]);
});
