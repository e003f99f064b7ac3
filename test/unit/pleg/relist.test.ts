import { describe, expect, test } from "bun:test";
import { changedPods } from "../../../src/pleg/relist.ts";
import { PodCache } from "../../../src/pleg/pod-cache.ts";
import type { PodSummary } from "../../../src/runtime/observe/runtime-reader.ts";
import { UID, aSandbox, anInstance, anObservedPod } from "../../fakes/a-pod.ts";

const identity = { uid: UID, namespace: "default", name: "web" };

function summary(
  ready: boolean,
  containers: Partial<PodSummary["containers"][number]>[] = [],
): PodSummary {
  const state = ready ? "Ready" : "NotReady";
  return {
    identity,
    sandboxes: [{ id: "sandbox-0", attempt: 0, state, createdAt: 1, identity, source: "file" }],
    containers: containers.map((more) => ({
      id: "a-0",
      name: "a",
      attempt: 0,
      sandboxId: "sandbox-0",
      state: "Running",
      identity,
      ...more,
    })),
  };
}

const seen = new Map([[UID, anObservedPod([aSandbox()], [anInstance("a")])]]);
const listed = (one: PodSummary | undefined) => new Map(one === undefined ? [] : [[UID, one]]);

test.each([
  ["equal worlds: nothing", seen, listed(summary(true, [{}])), []],
  ["a container exited", seen, listed(summary(true, [{ state: "Exited" }])), [UID]],
  ["a container came", seen, listed(summary(true, [{}, { id: "a-1", attempt: 1 }])), [UID]],
  ["a container went", seen, listed(summary(true)), [UID]],
  ["the sandbox went down", seen, listed(summary(false, [{}])), [UID]],
  [
    "an exit that is only presumed",
    new Map([
      [UID, anObservedPod([aSandbox()], [anInstance("a", { state: "Exited", presumed: true })])],
    ]),
    listed(summary(true, [{ state: "Exited" }])),
    [UID],
  ],
  ["the pod went", seen, listed(undefined), [UID]],
  ["a pod came", new Map(), listed(summary(true)), [UID]],
] as const)("%s", (_, observed, list, changed) => {
  expect(changedPods(observed, list)).toEqual([...changed]);
});

test("a look that began earlier does not overwrite one that began later", () => {
  const cache = new PodCache();
  const early = cache.begin().number;
  const late = cache.begin().number;
  cache.put(UID, late, anObservedPod([aSandbox()], [anInstance("a")]));
  cache.put(UID, early, anObservedPod([aSandbox()], []));
  expect(cache.get(UID)?.containers).toHaveLength(1);
  expect(cache.ownerOf("a-0")).toBe(UID);
});

test("ids of a pod that is gone have no owner", () => {
  const cache = new PodCache();
  cache.put(UID, cache.begin().number, anObservedPod([aSandbox()], [anInstance("a")]));
  cache.put(UID, cache.begin().number, undefined);
  expect(cache.ownerOf("a-0")).toBeUndefined();
  expect(cache.ownerOf("sandbox-0")).toBeUndefined();
});

describe("a pod that is gone", () => {
  const there = anObservedPod([aSandbox()], [anInstance("a")]);

  test("does not come back by a look that began before it was missed", () => {
    const cache = new PodCache();
    using early = cache.begin();
    {
      using late = cache.begin();
      cache.put(UID, late.number, undefined);
    }
    cache.put(UID, early.number, there);
    expect(cache.get(UID)).toBeUndefined();
  });

  test("comes back by a look that began after it was missed", () => {
    const cache = new PodCache();
    using early = cache.begin();
    cache.put(UID, cache.begin().number, undefined);
    cache.put(UID, cache.begin().number, there);
    cache.put(UID, early.number, undefined);
    expect(cache.get(UID)?.containers).toHaveLength(1);
  });
});
