// How long pods take to start, and how many have: what the node counts, in virtual time.

import { expect, test } from "bun:test";
import { GrpcCode } from "../../src/lib/grpc-code.ts";
import { aContainer } from "../fakes/a-pod.ts";
import { counted } from "../fakes/counted.ts";
import type { FakeRuntimeOptions } from "../fakes/fake-runtime.ts";
import { pod, PodWorld } from "./pod-world.ts";

/** A sandbox takes a second, `setup` runs for seven, a stop takes three. */
const SLOW: Partial<FakeRuntimeOptions> = {
  latencyMs: { runPodSandbox: 1_000 },
  program: ({ config }) =>
    config.metadata?.name === "setup" ? { exitsAfterMs: 7_000 } : { stopsAfterMs: 3_000 },
};
const SETUP = { initContainers: [aContainer("setup")], containers: [aContainer("a")] };

test("the start of a pod is measured from the agent's first sight of it, its SLI without init containers", async () => {
  using world = new PodWorld(SLOW);
  await world.start();
  await world.desire([pod("web", "1", SETUP)]);
  await world.clock.advance(30_000);
  expect(counted(world.meter, "kubelet_pod_start_")).toEqual([
    "kubelet_pod_start_duration_seconds_sum 8",
    "kubelet_pod_start_duration_seconds_count 1",
    "kubelet_pod_start_total_duration_seconds_sum 8",
    "kubelet_pod_start_total_duration_seconds_count 1",
    "kubelet_pod_start_sli_duration_seconds_sum 1",
    "kubelet_pod_start_sli_duration_seconds_count 1",
  ]);
});

test("an update waits for its predecessor's end, which is no part of its SLI", async () => {
  using world = new PodWorld(SLOW);
  await world.start();
  await world.desire([pod("web", "1")]);
  await world.clock.advance(5_000);
  await world.desire([pod("web", "2")]);
  await world.clock.advance(30_000);
  expect(counted(world.meter, "kubelet_pod_start_")).toEqual([
    "kubelet_pod_start_duration_seconds_sum 5",
    "kubelet_pod_start_duration_seconds_count 2",
    "kubelet_pod_start_total_duration_seconds_sum 5",
    "kubelet_pod_start_total_duration_seconds_count 2",
    "kubelet_pod_start_sli_duration_seconds_sum 2",
    "kubelet_pod_start_sli_duration_seconds_count 2",
  ]);
});

test("a pod that an earlier process has begun, and one with other volumes than Kubernetes' SLI has, are not in it", async () => {
  using world = new PodWorld(SLOW);
  await world.start();
  await world.desire([pod("web", "1", SETUP)]);
  await world.clock.advance(4_000);
  expect(world.running()).toEqual(["web/setup/0"]);
  await world.restart();
  const volumes = [{ name: "v", hostPath: { path: "/x", type: "" as const } }];
  await world.desire([pod("web", "1", SETUP), pod("db", "1", { volumes })]);
  await world.clock.advance(30_000);
  expect(world.running()).toEqual(["db/a/0", "web/a/0"]);
  expect(counted(world.meter, "kubelet_pod_start_", /_count/)).toEqual([
    "kubelet_pod_start_duration_seconds_count 1",
    "kubelet_pod_start_total_duration_seconds_count 1",
  ]);
});

test("pods, containers, their failures and syncs are counted", async () => {
  using world = new PodWorld(SLOW);
  await world.start();
  world.runtime.faults.order("runPodSandbox", {
    type: "fail",
    code: GrpcCode.UNKNOWN,
    details: "x",
  });
  world.runtime.faults.order("startContainer", {
    type: "fail",
    code: GrpcCode.UNKNOWN,
    details: "x",
  });
  await world.desire([pod("web", "1", SETUP)]);
  await world.clock.advance(120_000);
  await world.desire([]);
  await world.clock.advance(30_000);
  expect(counted(world.meter, "kubelet_started_")).toEqual([
    "kubelet_started_pods_total 2",
    "kubelet_started_pods_errors_total 1",
    'kubelet_started_containers_total{container_type="init_container"} 2',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_started_containers_errors_total{container_type="init_container",code="RunContainerError"} 1',
  ]);
  const syncs = counted(world.meter, "kubelet_pod_worker_duration_seconds_count");
  expect(syncs.map((line) => line.replace(/ \d+$/, ""))).toEqual([
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"}',
    'kubelet_pod_worker_duration_seconds_count{operation_type="sync"}',
    'kubelet_pod_worker_duration_seconds_count{operation_type="kill"}',
  ]);
});
