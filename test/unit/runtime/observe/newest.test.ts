import { describe, expect, test } from "bun:test";
import { type ObservedPod, newestContainer } from "../../../../src/api/pod/observed-pod.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import {
  isFinished,
  isLive,
  nextAttempt,
  usableSandbox,
} from "../../../../src/runtime/observe/newest.ts";
import { aContainer, aPod, aSandbox, anInstance, anObservedPod } from "../../../fakes/a-pod.ts";
import { anew, created, down, exited, replaced, runs, unknown, up } from "../actions-table.ts";

const host = { hostNetwork: true };

describe("the sandbox in which containers can run", () => {
  const table: Record<string, [Partial<PodSpec>, ObservedPod | undefined, string | undefined]> = {
    "is none before the first": [{}, undefined, undefined],
    "is none if the runtime shows none": [{}, anObservedPod([], [runs("a")]), undefined],
    "is the one that is up": [{}, up(), "sandbox-0"],
    "is none while the newest is down": [
      {},
      anObservedPod([aSandbox(), aSandbox({ attempt: 1, state: "NotReady" })], []),
      undefined,
    ],
    "is the newest of two": [
      {},
      anObservedPod([aSandbox({ createdAt: 9e12 }), aSandbox({ attempt: 1 })], []),
      "sandbox-1",
    ],
    "is the older one if something ran there and the newest is empty": [
      {},
      anObservedPod([aSandbox(), aSandbox({ attempt: 1 })], [exited("a", 1)]),
      "sandbox-0",
    ],
    "is the older one if something ran there and the newest, which is down, is empty": [
      {},
      anObservedPod([aSandbox(), aSandbox({ attempt: 1, state: "NotReady" })], [unknown("a")]),
      "sandbox-0",
    ],
    "is none without an address": [{}, anObservedPod([aSandbox({ ips: [] })], []), undefined],
    "needs no address on the host's network": [
      host,
      anObservedPod([aSandbox({ ips: [], ...host })], []),
      "sandbox-0",
    ],
    "is none on the pod's own network for a pod on the host's": [host, up(), undefined],
    "is none on the host's network for a pod with its own": [
      {},
      anObservedPod([aSandbox({ ...host })], []),
      undefined,
    ],
  };
  test.each(Object.entries(table))("%s", (_, [spec, observed, id]) => {
    expect(usableSandbox(aPod(spec), observed)?.id).toBe(id as never);
  });
});

describe("the newest instance", () => {
  test("has the highest attempt, whatever was created last", () => {
    const old = exited("a", 1, { createdAt: 9e12, startedAt: 9e12, finishedAt: 9e12 });
    expect(newestContainer(up(old, runs("a", { attempt: 1 })), "a")?.id).toBe("a-1");
  });

  test("may lie in an earlier sandbox", () => {
    expect(newestContainer(anew([exited("a", 0)]), "a")?.id).toBe("a-0");
  });

  test("is none of another name", () => {
    expect(newestContainer(up(runs("b")), "a")).toBeUndefined();
    expect(newestContainer(undefined, "a")).toBeUndefined();
  });

  test("gives its number back if it never started", () => {
    expect(nextAttempt(undefined)).toBe(0);
    expect(nextAttempt(created("a", 3))).toBe(3);
    for (const one of [runs("a", { attempt: 3 }), unknown("a", 3), exited("a", 1, { attempt: 3 })])
      expect(nextAttempt(one)).toBe(4);
  });

  test("counts as alive while it runs or is unknown", () => {
    const states = ["Created", "Running", "Exited", "Unknown"] as const;
    const live = states.filter((state) => isLive(anInstance("a", { state })));
    expect(live).toEqual(["Running", "Unknown"]);
  });
});

describe("a pod", () => {
  const never = { restartPolicy: "Never" } as const;
  const onFailure = { restartPolicy: "OnFailure" } as const;
  const two = { containers: [aContainer("a"), aContainer("b")] };
  const init = { initContainers: [aContainer("i")] };
  const sidecar = { initContainers: [aContainer("s", { restartPolicy: "Always" })] };
  const table: Record<string, [Partial<PodSpec>, ObservedPod | undefined, boolean]> = {
    "has not finished before it began": [never, undefined, false],
    "has finished when all have ended for good": [
      { ...two, ...never },
      up(exited("a", 0), exited("b", 1)),
      true,
    ],
    "has not finished while one runs": [{ ...two, ...never }, up(exited("a", 0), runs("b")), false],
    "has not finished while one is unknown": [never, up(unknown("a")), false],
    "has not finished while one has not started": [never, up(created("a")), false],
    "has not finished while one may start again": [
      { ...two, ...onFailure },
      up(exited("a", 0), exited("b", 1)),
      false,
    ],
    "has finished although a sidecar runs": [
      { ...sidecar, ...never },
      up(runs("s"), exited("a", 0)),
      true,
    ],
    "has not finished because a sidecar has ended": [
      { ...sidecar, ...never },
      up(exited("s", 1), runs("a")),
      false,
    ],
    "has finished when an init container has failed for good": [
      { ...init, ...never },
      up(exited("i", 1)),
      true,
    ],
    "has not finished when an init container has succeeded": [
      { ...init, ...never },
      up(exited("i", 0)),
      false,
    ],
    "has not finished when an init container starts again": [
      { ...init, ...onFailure },
      up(exited("i", 1)),
      false,
    ],
    "has finished also in a dead sandbox": [never, down(exited("a", 1)), true],
    "judges the newest instance, not one before it": [
      never,
      up(exited("a", 0), runs("a", { attempt: 1 })),
      false,
    ],
  };
  test.each(Object.entries(table))("%s", (_, [spec, observed, finished]) => {
    expect(isFinished(aPod(spec), observed, {})).toBe(finished);
  });

  test("has not finished while one waits to be replaced", () => {
    const pod = aPod(onFailure);
    expect(isFinished(pod, up(exited("a", 0)), replaced("a", "a-0"))).toBe(false);
    expect(isFinished(pod, up(exited("a", 0)), replaced("a", "a-9"))).toBe(true);
  });
});
