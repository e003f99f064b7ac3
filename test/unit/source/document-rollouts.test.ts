import { describe, expect, test } from "bun:test";

import type { JsonObject } from "../../../src/api/decode-context.ts";
import { decodeObject } from "../../../src/api/decode-object.ts";
import { revisionOf } from "../../../src/api/revision.ts";
import type { GoodCopy, RolloutState } from "../../../src/api/rollout.ts";
import {
  DocumentRollouts,
  type RolloutDocument,
  type RolloutStore,
} from "../../../src/source/document-rollouts.ts";
import type { TrialFacts, TrialHealth } from "../../../src/source/rollout-trial.ts";
import { localObjects, type WrittenObjects } from "../../fakes/local-objects.ts";
import { sha256 } from "../api/digest.ts";

const SOURCE = "mqtt:node" as const;
const CONTEXT = { ref: "topic", nodeName: "pi-1", sha256 };
const POLICY = {
  onFailure: "rollback",
  atomic: false,
  minReadySeconds: 10,
  progressDeadlineSeconds: 600,
  retryFailed: false,
} as const;

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
    return copy === undefined ? ({ type: "Lost" } as const) : ({ type: "Found", copy } as const);
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
  #document: RolloutDocument = { generation: 0, policy: POLICY, pods: [] };
  rollouts = this.boot();

  boot(): DocumentRollouts {
    const rollouts = new DocumentRollouts({
      source: SOURCE,
      store: this.store,
      bootId: "boot",
      context: CONTEXT,
      revision: (desired, objects) =>
        revisionOf(desired, { objects, sha256, secretDigest: sha256 }),
      objects: () => localObjects(this.objects),
      facts: ({ uid }) => this.#facts(uid),
      images: (uid) => ({ main: `image of ${uid}` }),
      now: () => this.now,
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
    this.#document = { generation, policy: POLICY, pods: decoded };
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
    this.health.set(this.uid(name), { stage: "Running", crashes: 0, ...health });
  }

  ready(name: string): void {
    this.be(name, { readySince: this.now });
    this.now += 10_000;
  }

  level(uid: string): string | undefined {
    return this.rollouts.objectsOf(uid).configMap("default", "web")?.data["level"];
  }

  #facts(
    uid: string,
  ): Pick<TrialFacts, "health" | "isMeantToFinish" | "registryAnswers" | "upstream"> {
    const health = this.health.get(uid);
    return { health, isMeantToFinish: false, registryAnswers: true, upstream: "NotNeeded" };
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
  world.be("web", { stage: "Starting", crashes: 3 });
  world.look();
  expect(world.level(world.uid("web"))).toBe("info");
  world.boot();
  world.look();
  expect(world.level(world.uid("web"))).toBe("info");
});

test("whatever cannot be written down is not done", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  world.store.isFull = true;
  expect(() => world.look()).toThrow("no space left");
  world.store.isFull = false;
  expect(world.look()).toEqual(["web a:1"]);
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

describe("a renamed pod", () => {
  test("runs under its old name until the new one is there", () => {
    const world = running();
    expect(world.publish("shop a:1")).toEqual(["shop a:1", "web a:1"]);
    world.boot();
    expect(world.look()).toEqual(["shop a:1", "web a:1"]);
    world.ready("shop");
    expect(world.look()).toEqual(["shop a:1"]);
    world.rollouts.forgetGone(() => false);
    expect([...world.store.states.keys()]).toEqual(["default/shop"]);
  });

  test("that fails leaves the old one running", () => {
    const world = running();
    world.publish("shop a:2");
    world.be("shop", { stage: "Starting", crashes: 3 });
    expect(world.look()).toEqual(["shop a:2", "web a:1"]);
  });
});

test("a release gives what has failed another chance", () => {
  const world = running();
  world.publish("web a:2");
  world.be("web", { stage: "Failed" });
  world.look();
  world.health.clear();
  expect(world.rollouts.release("default/none")).toBe(false);
  expect(world.rollouts.release("default/web")).toBe(true);
  expect(world.look()).toEqual(["web a:2"]);
});
