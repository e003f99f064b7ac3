// What all pods together may use, and what is kept from them: in the cgroups of the kernel.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { getNode, nodeCondition } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const TREE = "/sys/fs/cgroup";
/** Hierarchies in which the cgroup of the system exists; the one of processes is missing. */
const SYSTEM = ["cpu", "memory"];

const stage = await Stage.open();
const isVersionOne = existsSync(join(TREE, "memory/memory.limit_in_bytes"));
const e2e = isVersionOne
  ? stage.test
  : testWhenAvailable({ unavailable: "needs cgroup version 1" });
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available || !isVersionOne) return;
  for (const controller of SYSTEM) mkdirSync(systemCgroup(controller), { recursive: true });
  agent = stage.agent({
    config: {
      systemReserved: { cpu: "100m", memory: "64Mi", pid: "200" },
      kubeReserved: { pid: "100" },
      enforceNodeAllocatable: ["pods", "system-reserved"],
      systemReservedCgroup: `/${stage.containerd.cgroupRoot}/system`,
    },
  });
  await agent.startReady();
}, 180_000);

afterAll(async () => {
  if (stage.available && isVersionOne) {
    await stage.clear(agent);
    for (const controller of SYSTEM) rmdirSync(systemCgroup(controller));
  }
  stage.close();
}, 180_000);

function systemCgroup(controller: string): string {
  return join(TREE, controller, stage.containerd.cgroupRoot, "system");
}

function written(controller: string, path: string, file: string): number {
  const { cgroupRoot } = stage.containerd;
  return Number(readFileSync(join(TREE, controller, cgroupRoot, path, file), "utf8"));
}

function write(name: string, requests: Readonly<Record<string, string>>): void {
  const container = {
    name: "a",
    image: "local/busybox:1",
    command: ["sleep", "1000"],
    resources: { requests },
  };
  agent.writeManifest(`${name}.yaml`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, containers: [container] },
  });
}

e2e("all pods are limited to what is not reserved, before the first one", async () => {
  const { allocatable } = (await getNode(agent)).status;
  const memory = parseInt(allocatable?.["memory"] ?? "", 10) * 1024;
  await eventually("the cgroup of all pods is limited", () =>
    existsSync(join(TREE, "pids", stage.containerd.cgroupRoot, "kubepods")),
  );
  expect(written("memory", "kubepods", "memory.limit_in_bytes")).toBe(memory);
  const cpu = availableParallelism() * 1000 - 100;
  expect(written("cpu", "kubepods", "cpu.shares")).toBe(Math.floor((cpu * 1024) / 1000));
  const most = ["pid_max", "threads-max"].map((name) =>
    Number(readFileSync(`/proc/sys/kernel/${name}`, "utf8")),
  );
  expect(written("pids", "kubepods", "pids.max")).toBe(Math.min(...most) - 300);
});

e2e("the cgroup of the system is limited to its reserve, as far as it exists", async () => {
  expect(written("memory", "system", "memory.limit_in_bytes")).toBe(64 * 1024 ** 2);
  expect(written("cpu", "system", "cpu.shares")).toBe(102);
  const condition = await nodeCondition(agent, "CgroupLimited");
  expect(condition).toMatchObject({ status: "True", reason: "CannotWrite" });
  expect(condition?.message).toContain("system/pids.max");
});

e2e("the weight of burstable pods follows them", async () => {
  write("one", { cpu: "100m" });
  write("two", { cpu: "200m" });
  await Promise.all([stage.running("one"), stage.running("two")]);
  expect(written("cpu", "kubepods/burstable", "cpu.shares")).toBe(307);
  agent.removeManifest("two.yaml");
  await eventually(
    "the weight is that of the pod that is left",
    () => written("cpu", "kubepods/burstable", "cpu.shares") === 102,
    { timeout: 60_000, explain: () => agent.logTail() },
  );
});

e2e("the agent is ended last, or its condition says why not", async () => {
  const score = readFileSync(`/proc/${agent.pid}/oom_score_adj`, "utf8").trim();
  const condition = await nodeCondition(agent, "OOMUnprotected");
  if (score === "-999") expect(condition).toBeUndefined();
  else expect(condition?.message).toContain("OOMScoreAdjust=-999");
});
