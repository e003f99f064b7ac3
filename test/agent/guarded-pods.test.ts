// Pods and removals in whose hand the agent has ended twice: what they wait with, and what goes on meanwhile.

import { expect, test } from "bun:test";
import { FakeGuard } from "../fakes/fake-guard.ts";
import { pod, PodWorld } from "./pod-world.ts";

const WEB = "Pod default/web";

test("a sync is in hand, and no suspect once the pod has come to rest", async () => {
  const guard = new FakeGuard();
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web")]);
  expect(guard.history).toEqual([`hold ${WEB}`, `release ${WEB}`, `hold ${WEB}`, `settle ${WEB}`]);
});

test("a sync that fails is no proof that it does no harm", async () => {
  const guard = new FakeGuard();
  using world = new PodWorld({}, { guard });
  world.images.clear();
  await world.start();
  await world.desire([pod("web")]);
  await world.clock.advance(10_000);
  expect(guard.history.length).toBeGreaterThan(2);
  expect(guard.history).not.toContain(`settle ${WEB}`);
});

test("a pod that waits starts nothing, shows why, and others start", async () => {
  const guard = new FakeGuard();
  guard.suspects.add(WEB);
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web"), pod("db")]);
  await world.clock.advance(60_000);
  expect(world.running()).toEqual(["db/a/0"]);
  expect(guard.history.join()).not.toContain(WEB);
  expect(world.pods.statuses.status("web-1")?.containerStatuses).toMatchObject([
    { state: { waiting: { reason: "StartGuard", message: `${WEB} waits` } } },
  ]);
  guard.allow(WEB);
  await world.clock.advance(0);
  expect(world.running()).toEqual(["db/a/0", "web/a/0"]);
});

test("what runs of it is not stopped, its end is shown, and it starts again only when it may", async () => {
  const guard = new FakeGuard();
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web")]);
  await world.kill();
  guard.suspects.add(WEB);
  await world.start();
  await world.desire([pod("web")]);
  await world.clock.advance(60_000);
  expect(world.running()).toEqual(["web/a/0"]);
  const [id = ""] = world.ids();
  world.runtime.exit(id, 1);
  await world.clock.advance(30_000);
  expect(world.running()).toEqual([]);
  expect(world.pods.statuses.status("web-1")?.containerStatuses).toMatchObject([
    { ready: false, restartCount: 0 },
  ]);
  guard.allow(WEB);
  await world.clock.advance(0);
  expect(world.running()).toEqual(["web/a/1"]);
});

test("an update that waits leaves its predecessor running", async () => {
  const guard = new FakeGuard();
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web", "1")]);
  guard.suspects.add(WEB);
  await world.desire([pod("web", "2")]);
  await world.clock.advance(60_000);
  expect(
    world.runtime.running().map(({ config }) => config.labels["io.kubernetes.pod.uid"]),
  ).toEqual(["web-1"]);
  expect(world.pods.workers.entries()).toMatchObject([
    { desired: { uid: "web-1" }, pendingUpdate: { reason: "StartGuard" } },
  ]);
});

test("a pod that waits is removed at once when it is not wanted any more", async () => {
  const guard = new FakeGuard();
  guard.suspects.add(WEB);
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web")]);
  await world.desire([]);
  expect(world.pods.workers.entries()).toEqual([]);
  expect(guard.waiting).toEqual([]);
});

test("a clean-up that waits has stopped its containers, and holds up no successor", async () => {
  const guard = new FakeGuard();
  guard.suspects.add("Removal default/web");
  const emptied: string[] = [];
  using world = new PodWorld(
    {},
    {
      guard,
      emptyLargeVolumes: (uid) => {
        emptied.push(uid);
        return [];
      },
    },
  );
  await world.start();
  await world.desire([pod("web", "1")]);
  await world.desire([pod("web", "2")]);
  await world.clock.advance(10_000);
  expect(world.running()).toEqual(["web/a/0"]);
  expect(emptied).toEqual([]);
  guard.allow("Removal default/web");
  await world.clock.advance(1_000);
  expect(emptied).toEqual(["web-1"]);
  expect(guard.history.slice(-2)).toEqual([
    "hold Removal default/web",
    "settle Removal default/web",
  ]);
});

test("after a restart too: nothing of it is in the runtime any more, and its successor starts", async () => {
  const guard = new FakeGuard();
  guard.suspects.add("Removal default/web");
  using world = new PodWorld({}, { guard });
  await world.start();
  await world.desire([pod("web", "1")]);
  await world.desire([]);
  await world.clock.advance(10_000);
  expect(world.runtime.sandboxes.size).toBe(0);
  await world.restart();
  await world.desire([pod("web", "2")]);
  await world.clock.advance(1_000);
  expect(world.running()).toEqual(["web/a/0"]);
  expect(guard.waiting).toContain("Removal default/web");
});
