import { expect, test } from "bun:test";

import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodUID } from "../../../src/api/v1/pod.ts";
import { PodsOnNode } from "../../../src/rollout/pods-on-node.ts";
import { configDigests } from "../../../src/runtime/decide/config-digest.ts";
import { aContainer, aDesiredPod, aPod, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { localObjects, type WrittenObjects } from "../../fakes/local-objects.ts";
import { RUNNING, aContainerStatus, aStatus, exited } from "../upstream/health.ts";

const digest = (text: string): string => `v1:key:${Bun.hash(text).toString(16)}`;
const KEY = {
  name: "LEVEL",
  valueFrom: { type: "configMapKeyRef", name: "web", key: "level", optional: false },
} as const;
const web = aDesiredPod(aPod({ containers: [aContainer("a", { env: [KEY] })] }), {
  source: "mqtt:node",
});
const INFO: WrittenObjects = { configMaps: { web: { level: "info" } } };
const DEBUG: WrittenObjects = { configMaps: { web: { level: "debug" } } };
const READY = aStatus([aContainerStatus(RUNNING)]);

/** One node with one pod, which runs and is Ready. */
class Node {
  now = 1000;
  written = INFO;
  status: PodStatus = READY;
  desired: readonly DesiredPod[] = [web];
  deletedAt: number | undefined;
  observed: ObservedPod | undefined = this.startedWith(INFO);
  areAway = false;
  readonly cache = {
    isComplete: true,
    get: () => this.observed,
    all: () =>
      new Map<PodUID, ObservedPod>(this.observed === undefined ? [] : [[web.uid, this.observed]]),
  };
  readonly pods = new PodsOnNode({
    clock: { monotonic: () => this.now },
    secrets: { configDigest: digest },
    pods: {
      workers: {
        all: () =>
          this.desired.map((desired) =>
            this.deletedAt === undefined ? { desired } : { desired, deletedAt: this.deletedAt },
          ),
        isPulling: () => false,
        leaving: () => [],
        pending: () => undefined,
      },
      statuses: { status: () => this.status },
      cache: this.cache,
    },
    images: {
      fatal: () => undefined,
      registryAnswers: () => true,
      areAway: () => this.areAway,
    },
    written: { objectsFor: () => localObjects(this.written) },
    redact: (text) => text.replaceAll("hunter2", "***"),
  });

  startedWith(written: WrittenObjects): ObservedPod {
    const facts = { objects: localObjects(written), isSettled: true, digest };
    const configDigest = configDigests(web.pod, facts)["a"];
    const instance = anInstance("a", configDigest === undefined ? {} : { configDigest });
    return anObservedPod([], [instance], { source: "mqtt:node" });
  }

  readySince(): number | undefined {
    this.pods.look();
    return this.pods.progressOf(web).health?.readySince;
  }
}

test("readiness counts from the first look at it", () => {
  const node = new Node();
  expect(node.readySince()).toBe(1000);
  node.now = 9000;
  expect(node.readySince()).toBe(1000);
});

test("readiness with content of before proves nothing, and counts anew once the new one is read", () => {
  const node = new Node();
  expect(node.readySince()).toBe(1000);
  node.written = DEBUG;
  node.now = 5000;
  expect(node.readySince()).toBeUndefined();
  node.observed = node.startedWith(DEBUG);
  node.now = 7000;
  expect(node.readySince()).toBe(7000);
});

test("the health of a document's pod is the one that the trial sees, but for what it has read", () => {
  const node = new Node();
  node.written = DEBUG;
  const health = node.pods.look().get(web.uid);
  if (health === undefined) throw new Error("no health");
  expect(health).toMatchObject({ stage: "Running", readySince: 1000 });
  const progress = node.pods.progressOf(web);
  expect(progress.health).toEqual({ ...health, readySince: undefined });
  expect(progress).toMatchObject({ orderedRestarts: 1, misses: false });
});

test("a pod that is being stopped is Terminating; one without a worker has no health", () => {
  const node = new Node();
  node.deletedAt = 0;
  expect(node.pods.look().get(web.uid)?.stage).toBe("Terminating");
  node.desired = [];
  expect(node.pods.look().size).toBe(0);
  expect(node.pods.progressOf(web).health).toBeUndefined();
});

test("a pod without a worker may have run while the runtime has it, or has not been listed", () => {
  const node = new Node();
  const mayHaveRun = (): unknown => {
    node.pods.look();
    return node.pods.progressOf(web).mayHaveRun;
  };
  expect(mayHaveRun()).toBe(false);
  node.desired = [];
  expect(mayHaveRun()).toBe(true);
  node.observed = undefined;
  expect(mayHaveRun()).toBe(false);
  node.cache.isComplete = false;
  expect(mayHaveRun()).toBe(true);
});

test("a pod is kept waiting by an image that did not come, and by a missing object", () => {
  const node = new Node();
  expect(node.pods.isKeptWaiting(web)).toBe(false);
  node.areAway = true;
  expect(node.pods.isKeptWaiting(web)).toBe(true);
  node.areAway = false;
  node.written = {};
  expect(node.pods.isKeptWaiting(web)).toBe(true);
});

test("no message leaves with a secret in it", () => {
  const node = new Node();
  const { terminated } = exited(1);
  node.status = aStatus([
    aContainerStatus({ terminated: { ...terminated, message: "password hunter2 refused" } }),
  ]);
  expect(node.pods.look().get(web.uid)?.message).toBe("password *** refused");
});

test("a pod is there by its worker, or by what the runtime still has of it", () => {
  const node = new Node();
  const name = "default/web";
  node.desired = [];
  expect(node.pods.isThere("mqtt:node", name)).toBe(true);
  expect(node.pods.isThere("mqtt:group/kiosks", name)).toBe(false);
  expect(node.pods.isKnown(web.uid)).toBe(true);
  expect(node.pods.isRunning(web.uid)).toBe(true);
  node.observed = undefined;
  expect(node.pods.isThere("mqtt:node", name)).toBe(false);
  expect(node.pods.isRunning(web.uid)).toBe(false);
});

test("a pod that a file has taken over unchanged is the document's no more", () => {
  const node = new Node();
  const name = "default/web";
  node.desired = [{ ...web, source: "file" }];
  expect(node.pods.isThere("mqtt:node", name)).toBe(false);
  expect(node.pods.isThere("file", name)).toBe(true);
  node.desired = [];
  expect(node.pods.isThere("mqtt:node", name)).toBe(true);
});
