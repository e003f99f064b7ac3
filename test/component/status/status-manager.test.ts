import { expect, test } from "bun:test";
import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import { StatusManager } from "../../../src/status/status-manager.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";

const pod = aPod();

function status(more: Partial<PodStatus> = {}): PodStatus {
  return {
    observedGeneration: 1,
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    initContainerStatuses: [],
    containerStatuses: [],
    qosClass: "BestEffort",
    ...more,
  };
}

function manager(): { statuses: StatusManager; changes: string[] } {
  const changes: string[] = [];
  return { statuses: new StatusManager({ onChange: (uid) => changes.push(uid) }), changes };
}

test("an equal status is not news, a different one is", () => {
  const { statuses, changes } = manager();
  expect(statuses.set(UID, pod, status())).toBe(true);
  expect(statuses.set(UID, pod, status())).toBe(false);
  expect(statuses.set(UID, pod, status({ phase: "Pending" }))).toBe(true);
  expect(changes).toEqual([UID, UID]);
  expect(statuses.status(UID)?.phase).toBe("Pending");
});

test("the reader of a change already sees the new status", () => {
  const seen: (string | undefined)[] = [];
  const statuses: StatusManager = new StatusManager({
    onChange: (uid) => seen.push(statuses.status(uid)?.phase),
  });
  statuses.set(UID, pod, status());
  statuses.forget(UID);
  expect(seen).toEqual(["Running", undefined]);
});

test("a changed label is news", () => {
  const { statuses, changes } = manager();
  statuses.set(UID, pod, status());
  statuses.set(UID, aPod({}, { labels: { app: "web" } }), status());
  expect(changes).toHaveLength(2);
  expect(statuses.get(UID)?.pod.metadata.labels).toEqual({ app: "web" });
});

test("a terminal phase and its reason stay until the UID is forgotten", () => {
  const { statuses } = manager();
  statuses.set(UID, pod, status({ phase: "Failed", reason: "Evicted", message: "disk full" }));
  statuses.set(UID, pod, status({ phase: "Running", reason: "Other", podIP: "10.88.0.2" }));
  expect(statuses.status(UID)).toEqual(
    status({ phase: "Failed", reason: "Evicted", message: "disk full", podIP: "10.88.0.2" }),
  );
  statuses.forget(UID);
  statuses.set(UID, pod, status());
  expect(statuses.status(UID)).toEqual(status());
});

test("forgetting what was never known is no news", () => {
  const { statuses, changes } = manager();
  statuses.forget(UID);
  expect(changes).toEqual([]);
});
