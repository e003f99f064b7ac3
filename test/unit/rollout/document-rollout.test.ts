import { describe, expect, test } from "bun:test";

import { decodeObject } from "../../../src/api/decode/decode-object.ts";
import type { GoodCopy, RolloutState } from "../../../src/api/pod/rollout.ts";
import { DocumentRollout, type RolloutStore } from "../../../src/rollout/document-rollout.ts";
import type { RolloutDocument } from "../../../src/rollout/pods-to-run.ts";
import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import type { UpstreamFacts } from "../../../src/rollout/require-upstream.ts";
import { localObjects, type WrittenObjects } from "../../fakes/local-objects.ts";
import { sha256 } from "../api/digest.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { TrialHealth, PodProgress } from "../../../src/rollout/trial-facts.ts";

const SOURCE = "mqtt:node" as const;
const CONTEXT = { ref: "topic", nodeName: "pi-1", sha256 };
const POLICY = DEFAULT_POLICY;

class MemoryStore implements RolloutStore {
  readonly states = new Map<string, RolloutState>();
  readonly copies = new Map<string, GoodCopy>();
  isFull = false;
  writes = 0;

  of(): ReadonlyMap<string, RolloutState> {
    return new Map(this.states);
  }

  copy({ name }: { readonly name: string }) {
    const copy = this.copies.get(name);
    return copy === undefined
      ? ({ type: "Lost", why: "" } as const)
      : ({ type: "Found", copy } as const);
  }

  save(changes: Parameters<RolloutStore["save"]>[0]): void {
    if (this.isFull && changes.length > 0) throw new Error("no space left");
    this.writes += changes.length;
    for (const { name, state, copy } of changes) {
      this.states.set(name, structuredClone(state));
      if (copy !== undefined) this.copies.set(name, structuredClone(copy));
    }
  }

  forget(pods: Parameters<RolloutStore["forget"]>[0]): void {
    for (const { name } of pods) this.states.delete(name);
  }
}

function written(name: string, image: string): JsonObject {
  const configMapRef = { name: "web", optional: true };
  const containers = [{ name: "main", image, envFrom: [{ configMapRef }] }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers } };
}

/** One node with one document; `boot` begins anew on the same disk. */
class World {
  readonly store = new MemoryStore();
  now = 0;
  objects: WrittenObjects = { configMaps: { web: { level: "info" } } };
  readonly health = new Map<string, TrialHealth>();
  hold: Pick<PodProgress, "hold" | "holdReviewAt"> = {};
  upstream: UpstreamFacts = { isConnected: false, reachedAt: undefined };
  isLate = false;
  isThere = true;
  isLeaving = false;
  isRunning = true;
  isKeptWaiting = false;
  isMeantToFinish = false;
  shadowed = "";
  policy: RolloutDocument["policy"] = POLICY;
  readonly pods = {
    areAllKnown: true,
    isThere: () => this.isThere,
    isKnown: () => true,
    isLeaving: () => this.isLeaving,
    isRunning: () => this.isRunning,
    isKeptWaiting: () => this.isKeptWaiting,
    progressOf: ({ uid }: { readonly uid: string }) => this.#progress(uid),
    imagesOf: (uid: string): Readonly<Record<string, string>> =>
      this.pods.areAllKnown ? { main: `image of ${uid}` } : {},
  };
  #document: RolloutDocument = { generation: 0, policy: POLICY, pods: [] };
  rollouts = this.boot();

  boot(): DocumentRollout {
    const rollouts = new DocumentRollout({
      source: SOURCE,
      store: this.store,
      edges: { bootId: "boot", sha256, clock: { monotonic: () => this.now } },
      nodeName: CONTEXT.nodeName,
      secrets: { configDigest: sha256 },
      written: {
        objectsFor: () => localObjects(this.objects),
        late: () => (this.isLate ? ["ConfigMap default/web"] : []),
        isShadowed: ({ pod }) => pod.metadata.name === this.shadowed,
      },
      pods: this.pods,
      holds: { of: () => this.hold, ofUpdate: () => this.hold, ofRunning: () => this.hold.hold },
      upstream: () => this.upstream,
    });
    rollouts.update(this.#document);
    this.rollouts = rollouts;
    return rollouts;
  }

  /** Publishes pods as `name image`, and looks. */
  publish(...pods: readonly string[]): readonly string[] {
    const generation = this.#document.generation + 1;
    const decoded = pods.flatMap((pod) => {
      const [name = "", image = ""] = pod.split(" ");
      const context = { ...CONTEXT, source: SOURCE, sourceRef: `generation ${generation}` };
      return decodeObject(written(name, image), context).pods;
    });
    this.#document = { generation, policy: this.policy, pods: decoded };
    this.rollouts.update(this.#document);
    return this.look();
  }

  /** What may run, as `name image`. */
  look(): readonly string[] {
    return this.rollouts
      .review()
      .pods.map(({ pod }) => `${pod.metadata.name} ${pod.spec.containers[0]?.image}`);
  }

  /** Of the pod of this name that may run. */
  uid(name: string): string {
    const found = this.rollouts.review().pods.find(({ pod }) => pod.metadata.name === name);
    return found?.uid ?? "";
  }

  be(name: string, health: Partial<TrialHealth>): void {
    this.health.set(this.uid(name), {
      stage: "Running",
      readySince: undefined,
      hasBegun: false,
      totalCrashes: 0,
      ...health,
    });
  }

  ready(name: string): void {
    this.be(name, { readySince: this.now });
    this.now += 10_000;
  }

  /** What the pod of this UID reads. */
  level(uid: string): string | undefined {
    const [web] = decodeObject(written("web", "a:1"), {
      ...CONTEXT,
      source: SOURCE,
      sourceRef: "",
    }).pods;
    if (web === undefined) throw new Error("no pod");
    const { data } =
      this.rollouts.objectsOf({ ...web.desired, uid }).configMap("default", "web") ?? {};
    return data?.["level"];
  }

  #progress(uid: string): PodProgress {
    const health = this.health.get(uid);
    return { health, isMeantToFinish: this.isMeantToFinish, registryAnswers: true };
  }
}

function running(): World {
  const world = new World();
  world.publish("web a:1");
  world.ready("web");
  world.look();
  return world;
}

test("a bad image is taken back, and the way back is on the disk before", () => {
  const world = running();
  expect(world.publish("web a:2")).toEqual(["web a:2"]);
  world.be("web", { stage: "Failed" });
  expect(world.look()).toEqual(["web a:1"]);
  expect(world.store.states.get("default/web")).toMatchObject({
    good: { generation: 1 },
    bad: [{ generation: 2 }],
  });
  expect(world.rollouts.imageOf(world.uid("web"), "main")).toBe(`image of ${world.uid("web")}`);
  world.boot();
  expect(world.look()).toEqual(["web a:1"]);
  expect(world.publish("web a:2")).toEqual(["web a:1"]);
  expect(world.publish("web a:3")).toEqual(["web a:3"]);
});

test("while the new one is tried the old one finds what it found before", () => {
  const world = running();
  const old = world.uid("web");
  world.objects = { configMaps: { web: { level: "debug" } } };
  world.publish("web a:2");
  expect(world.level(old)).toBe("info");
  expect(world.level(world.uid("web"))).toBe("debug");
});

test("a bad ConfigMap is taken back for its reader, over a restart too", () => {
  const world = running();
  world.objects = { configMaps: { web: { level: "nonsense" } } };
  world.publish("web a:1");
  expect(world.level(world.uid("web"))).toBe("nonsense");
  world.be("web", { stage: "Starting", totalCrashes: 3 });
  world.look();
  expect(world.level(world.uid("web"))).toBe("info");
  world.boot();
  world.look();
  expect(world.level(world.uid("web"))).toBe("info");
});

test("with a full disk nothing new begins, and the way back stays open", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  world.store.isFull = true;
  expect(world.look()).toEqual(["web a:1"]);
  expect(world.publish("web a:3")).toEqual(["web a:1"]);
  expect(world.rollouts.review().trouble).toEqual(new Error("no space left"));
  world.store.isFull = false;
  expect(world.look()).toEqual(["web a:3"]);
});

test("with a full disk a node that boots runs what the disk knows", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  world.look();
  world.store.isFull = true;
  world.boot();
  expect(world.look()).toEqual(["web a:1"]);
  expect(world.publish("web a:3")).toEqual(["web a:1"]);
});

test("nothing is written while nothing changes", () => {
  const world = running();
  const { writes } = world.store;
  for (let hour = 0; hour < 24; hour += 1) {
    world.now += 3_600_000;
    expect(world.look()).toEqual(["web a:1"]);
  }
  expect(world.store.writes).toBe(writes);
});

test("a way back that cannot be read is none", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  world.store.copies.clear();
  world.boot();
  expect(world.look()).toEqual(["web a:2"]);
});

test("a lost copy of what is good is made anew once the runtime is known, with the images that run", () => {
  const world = new World();
  world.publish("web a:1");
  world.ready("web");
  expect(world.look()).toEqual(["web a:1"]);
  const copy = world.store.copies.get("default/web");
  expect(Object.keys(copy?.images ?? {})).toEqual(["main"]);
  world.store.copies.clear();
  world.pods.areAllKnown = false;
  world.boot();
  world.look();
  expect(world.store.copies.size).toBe(0);
  world.pods.areAllKnown = true;
  world.look();
  expect(world.store.copies.get("default/web")).toEqual(copy);
});

describe("a renamed pod", () => {
  test("runs under its old name until the new one is there", () => {
    const world = running();
    expect(world.publish("shop a:1")).toEqual(["shop a:1", "web a:1"]);
    world.boot();
    expect(world.look()).toEqual(["shop a:1", "web a:1"]);
    world.ready("shop");
    expect(world.look()).toEqual(["shop a:1"]);
    world.rollouts.forgetGone();
    expect([...world.store.states.keys()]).toEqual(["default/web", "default/shop"]);
    world.isThere = false;
    world.rollouts.forgetGone();
    expect([...world.store.states.keys()]).toEqual(["default/shop"]);
  });

  test("that stops, such as for a file's pod of its old name, does not begin again", () => {
    const world = running();
    expect(world.publish("shop a:1")).toEqual(["shop a:1", "web a:1"]);
    world.isLeaving = true;
    expect(world.look()).toEqual(["shop a:1"]);
  });

  test("that fails leaves the old one running", () => {
    const world = running();
    world.publish("shop a:2");
    world.be("shop", { stage: "Starting", totalCrashes: 3 });
    expect(world.look()).toEqual(["shop a:2", "web a:1"]);
  });
});

test("a release gives what has failed another chance", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  const failed = world.look();
  world.health.clear();
  world.rollouts.release("default/none");
  expect(world.look()).toEqual(failed);
  world.rollouts.release("default/web");
  expect(world.look()).toEqual(["web a:2"]);
});

describe("a hold", () => {
  test("keeps what runs, its content too, and returns when to look again", () => {
    const world = running();
    world.hold = { hold: "locked by main", holdReviewAt: 5_000 };
    world.objects = { configMaps: { web: { level: "debug" } } };
    world.now = 0;
    expect(world.publish("web a:1")).toEqual(["web a:1"]);
    expect(world.level(world.uid("web"))).toBe("info");
    expect(world.rollouts.review()).toMatchObject({
      steps: [{ status: { type: "Held", why: "locked by main" } }],
      reviewAt: 5_000,
    });
    world.hold = {};
    world.look();
    expect(world.level(world.uid("web"))).toBe("debug");
  });
});

test("a pod whose objects may still come is taken for what it was", () => {
  const world = running();
  world.objects = {};
  world.isLate = true;
  world.look();
  expect(world.store.states.get("default/web")).not.toHaveProperty("trial");
  world.isLate = false;
  world.look();
  expect(world.store.states.get("default/web")).toHaveProperty("trial");
});

test("a pod that another source has taken over is not judged", () => {
  const world = running();
  world.shadowed = "web";
  world.now += 10_000_000;
  expect(world.publish("web a:2")).toEqual(["web a:2"]);
  expect(world.rollouts.review().steps).toEqual([]);
});

test("a pod that was taken back finds what was good until another source has replaced it", () => {
  const world = running();
  const uid = world.uid("web");
  world.objects = { configMaps: { web: { level: "nonsense" } } };
  world.publish("web a:1");
  world.be("web", { stage: "Starting", totalCrashes: 3 });
  world.look();
  expect(world.level(uid)).toBe("info");
  world.shadowed = "web";
  expect(world.rollouts.review().repinned).toEqual([]);
  expect(world.level(uid)).toBe("info");
  world.publish();
  expect(world.level(uid)).toBe("nonsense");
});

describe("the clock of a trial stands still, also for the next process,", () => {
  const DAY_MS = 86_400_000;

  /** On trial since a moment, and written down so. */
  function tried(): World {
    const world = running();
    world.publish("web a:2");
    world.be("web", { hasBegun: true });
    world.now += 5_000;
    world.look();
    return world;
  }

  /** Nothing runs yet that the next process could find to be ready. */
  function begun(world: World): readonly string[] {
    world.boot();
    world.be("web", { hasBegun: true });
    return world.look();
  }

  test("while another source has the name of the pod", () => {
    const world = tried();
    world.shadowed = "web";
    world.look();
    world.now += DAY_MS;
    world.boot();
    world.look();
    world.shadowed = "";
    expect(begun(world)).toEqual(["web a:2"]);
  });

  test("on a full disk as soon as it has room again", () => {
    const world = tried();
    world.shadowed = "web";
    world.store.isFull = true;
    expect(world.look()).toEqual(["web a:2"]);
    world.store.isFull = false;
    world.look();
    world.now += DAY_MS;
    world.shadowed = "";
    expect(begun(world)).toEqual(["web a:2"]);
  });

  test("while a pod that is meant to finish is at work", () => {
    const world = tried();
    world.isMeantToFinish = true;
    world.be("web", { hasBegun: true, readySince: world.now });
    world.look();
    const { writes } = world.store;
    world.now += DAY_MS;
    world.look();
    expect(world.store.writes).toBe(writes);
    expect(begun(world)).toEqual(["web a:2"]);
  });
});

describe("an update that could cut the node off", () => {
  const always = { ...POLICY, requireUpstream: "always" } as const;

  function tried(isConnected: boolean): World {
    const world = running();
    world.upstream = { isConnected, reachedAt: isConnected ? world.now : undefined };
    world.policy = always;
    world.publish("web a:2");
    world.now += 1;
    world.ready("web");
    return world;
  }

  test("is good only when the broker was reached after the switch", () => {
    const world = tried(true);
    world.upstream = { isConnected: false, reachedAt: world.now - 10_001 };
    world.look();
    expect(world.store.states.get("default/web")?.good?.generation).toBe(1);
    world.upstream = { isConnected: true, reachedAt: world.now };
    world.look();
    expect(world.store.states.get("default/web")?.good?.generation).toBe(2);
  });

  test("is taken back when its time is over, over a restart too", () => {
    const world = tried(true);
    world.upstream = { isConnected: false, reachedAt: undefined };
    world.look();
    world.boot();
    world.look();
    world.now += 600_000;
    expect(world.look()).toEqual(["web a:1"]);
    expect(world.store.states.get("default/web")?.bad[0]).toMatchObject({ reason: "UpstreamLost" });
  });

  test("need not show it where there was no line before", () => {
    const world = tried(false);
    world.look();
    expect(world.store.states.get("default/web")?.good?.generation).toBe(2);
  });
});

test("a node that boots while images are awaited runs what was good, and the new one when they are here", () => {
  const world = running();
  world.isKeptWaiting = true;
  expect(world.publish("web a:2")).toEqual(["web a:2"]);
  world.isRunning = false;
  world.boot();
  expect(world.look()).toEqual(["web a:1"]);
  world.isKeptWaiting = false;
  expect(world.look()).toEqual(["web a:2"]);
});
