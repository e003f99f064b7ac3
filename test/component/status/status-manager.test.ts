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

test("an equal status is no change, a different one is", () => {
  const statuses = new StatusManager();
  expect(statuses.set(UID, pod, status())).toBe(true);
  expect(statuses.set(UID, pod, status())).toBe(false);
  expect(statuses.set(UID, pod, status({ phase: "Pending" }))).toBe(true);
  expect(statuses.status(UID)?.phase).toBe("Pending");
});

test("a forgotten status is gone, which is a change", () => {
  const statuses = new StatusManager();
  expect(statuses.set(UID, pod, status())).toBe(true);
  expect(statuses.status(UID)?.phase).toBe("Running");
  expect(statuses.forget(UID)).toBe(true);
  expect(statuses.status(UID)).toBeUndefined();
});

test("another label is a change", () => {
  const statuses = new StatusManager();
  expect(statuses.set(UID, pod, status())).toBe(true);
  expect(statuses.set(UID, aPod({}, { labels: { app: "web" } }), status())).toBe(true);
  expect(statuses.get(UID)?.pod.metadata.labels).toEqual({ app: "web" });
});

test("a terminal phase and its reason stay until the UID is forgotten", () => {
  const statuses = new StatusManager();
  statuses.set(UID, pod, status({ phase: "Failed", reason: "Evicted", message: "disk full" }));
  statuses.set(UID, pod, status({ phase: "Running", reason: "Other", podIP: "10.88.0.2" }));
  expect(statuses.status(UID)).toEqual(
    status({ phase: "Failed", reason: "Evicted", message: "disk full", podIP: "10.88.0.2" }),
  );
  statuses.forget(UID);
  statuses.set(UID, pod, status());
  expect(statuses.status(UID)).toEqual(status());
});

test("forgetting an unknown UID is no change", () => {
  expect(new StatusManager().forget(UID)).toBe(false);
});
