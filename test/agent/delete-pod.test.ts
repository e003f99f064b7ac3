import { describe, expect, test } from "bun:test";
import type { DesiredPod } from "../../src/api/pod/desired-pod.ts";
import { NodeView } from "../../src/node/node-view.ts";
import type { NodeViewOptions } from "../../src/node/node-view-options.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { askLocalApi } from "../fakes/ask-local-api.ts";
import { pod, PodWorld } from "./pod-world.ts";

const STUBBORN = { program: () => ({ stopsAfterMs: Number.POSITIVE_INFINITY }) };
const patient = (version: string): DesiredPod =>
  pod("web", version, { terminationGracePeriodSeconds: 3600 });

/** What the local API says; `wanted` is what the sources ask for. */
async function ask(
  world: PodWorld,
  seconds: number,
  wanted: readonly DesiredPod[] = [],
): Promise<readonly [status: number, text: string]> {
  const log = createLogger({ clock: world.clock, level: "info", write: () => undefined });
  const edges: Partial<NodeViewOptions["edges"]> = { log };
  const state = { pods: wanted, held: new Set(), ready: new Set(), rejected: [], notAdmitted: [] };
  const desired = { state };
  // As much of the agent as the order touches.
  const view = new NodeView({ pods: world.pods, desired, edges } as unknown as NodeViewOptions);
  const answer = askLocalApi(view, `DELETE /pods/default/web?gracePeriodSeconds=${seconds}`);
  await world.clock.settle();
  const { status, body } = await answer;
  return [status, await new Response(body).text()];
}

describe("DELETE of a pod", () => {
  test("that is being stopped leaves it that many seconds", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    await world.desire([]);
    await world.clock.advance(60_000);
    expect((await ask(world, 5))[0]).toBe(200);
    await world.clock.advance(4_900);
    expect(world.running()).toEqual(["web/a/0"]);
    await world.clock.advance(200);
    expect(world.running()).toEqual([]);
    expect(world.pods.workers.entries()).toEqual([]);
  });

  test("never gives it more than it has", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    await world.desire([]);
    await ask(world, 5);
    expect((await ask(world, 500))[0]).toBe(200);
    await world.clock.advance(5_100);
    expect(world.running()).toEqual([]);
  });

  test("whose spec a restart of the agent has forgotten works as well", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    await world.desire([]);
    await world.restart();
    await world.desire([]);
    expect(world.pods.workers.entries()).toEqual([]);
    expect(world.running()).toEqual(["web/a/0"]);
    expect((await ask(world, 0))[0]).toBe(200);
    await world.clock.advance(1_000);
    expect(world.running()).toEqual([]);
  });

  test("reaches the one that its successor waits for", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    const before = world.ids();
    await world.desire([patient("2")]);
    await world.clock.advance(60_000);
    expect(world.ids()).toEqual(before);
    expect((await ask(world, 1, [patient("2")]))[0]).toBe(200);
    await world.clock.advance(2_000);
    expect(world.pods.workers.entries()).toMatchObject([{ desired: { uid: "web-2" } }]);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.ids()).not.toEqual(before);
  });

  test("that is wanted is refused with its source, and nothing stops", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    const [status, text] = await ask(world, 0, [patient("1")]);
    expect([status, text]).toEqual([
      409,
      "pod default/web is declared by /etc/agent/manifests/web.yaml: remove it from /etc/agent/manifests/web.yaml; a pod that a file declares cannot be deleted here\n",
    ]);
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("that runs on although there is no room for its newer spec is refused as well", async () => {
    using world = new PodWorld(STUBBORN);
    await world.start();
    await world.desire([patient("1")]);
    expect((await ask(world, 0))[0]).toBe(409);
  });

  test("that is gone is not found", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([patient("1")]);
    await world.desire([]);
    expect(await ask(world, 0)).toEqual([404, 'pods "web" not found in namespace "default"\n']);
  });
});
