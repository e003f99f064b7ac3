// /stats/summary on the real parts: what pods use is what their cgroups, their files and their interfaces say.

import { afterAll, expect } from "bun:test";

import { grpcCriClient } from "../../src/cri/cri-client.ts";
import { isJsonObject, memberOf } from "../../src/lib/json.ts";
import { systemClock } from "../../src/lib/system-clock.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
const MIB = 1024 ** 2;

afterAll(() => stage.close(), 180_000);

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (found, name) => (typeof name === "number" ? listOf(found)[name] : memberOf(found, name)),
    value,
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberAt(value: unknown, ...path: readonly (string | number)[]): number {
  return Number(at(value, ...path));
}

async function statistics(agent: AgentProcess, query = ""): Promise<unknown> {
  const response = await agent.api(`/stats/summary${query}`);
  expect(response.status).toBe(200);
  return response.json();
}

async function podOf(agent: AgentProcess, name: string): Promise<unknown> {
  const pods = listOf(at(await statistics(agent), "pods"));
  return pods.find((pod) => at(pod, "podRef", "name") === name);
}

/** Writes 20 MiB to each of its volumes, 10 MiB to its layer, 1 MiB to its log, and counts. */
const WORK = [
  "for v in /disk /memory; do dd if=/dev/zero of=$v/data bs=1M count=20 2>/dev/null; done",
  "dd if=/dev/zero of=/layer bs=1M count=10 2>/dev/null",
  "head -c 1000000 /dev/zero | tr '\\0' 'x' | fold -w 100",
  "echo ready > /disk/ready",
  "while :; do :; done",
].join("; ");

e2e("the summary has what a pod uses", async () => {
  const agent = stage.agent({ name: "main" });
  await agent.startReady();
  const container = { image: "local/busybox:1", command: ["sh", "-c", WORK] };
  const mounts = ["disk", "memory"].map((name) => ({ name, mountPath: `/${name}` }));
  agent.writeManifest("claim.yaml", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "db" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  agent.writeManifest("busy.yaml", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "busy" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...container,
          name: "a",
          volumeMounts: mounts,
          resources: { limits: { cpu: "300m", memory: "200Mi" } },
        },
      ],
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
        { name: "kept", persistentVolumeClaim: { claimName: "db" } },
      ],
    },
  });
  // Sizes are measured once a minute, and containerd looks at layers every ten seconds.
  using cri = grpcCriClient({ endpoint: stage.containerd.endpoint, clock: systemClock() });
  await eventually(
    "containerd has seen what the pod wrote",
    async () => {
      const stats = await cri.listContainerStats();
      return stats.some(({ writableLayer: layer }) => (layer?.usedBytes?.value ?? 0n) >= 10 * MIB);
    },
    { timeout: 60_000, interval: 500, explain: () => agent.logTail() },
  );
  const whole = await podOf(agent, "busy");
  expect(numberAt(whole, "volume", 0, "usedBytes")).toBeGreaterThanOrEqual(20 * MIB);
  expect(numberAt(whole, "volume", 1, "usedBytes")).toBe(20 * MIB);
  expect(at(whole, "volume", 2, "pvcRef")).toEqual({ name: "db", namespace: "default" });
  expect(numberAt(whole, "volume", 2, "capacityBytes")).toBeGreaterThan(20 * MIB);
  expect(numberAt(whole, "containers", 0, "logs", "usedBytes")).toBeGreaterThan(MIB);
  expect(numberAt(whole, "ephemeral-storage", "usedBytes")).toBeGreaterThan(31 * MIB);
  expect(numberAt(whole, "network", "rxBytes")).toBeGreaterThanOrEqual(0);
  expect(at(whole, "network", "name")).toBe("eth0");
  // The container and the sandbox.
  expect(numberAt(whole, "process_stats", "process_count")).toBe(2);
  // The volume in memory counts.
  const memory = numberAt(whole, "containers", 0, "memory", "workingSetBytes");
  expect(memory).toBeGreaterThan(20 * MIB);
  expect(memory + numberAt(whole, "containers", 0, "memory", "availableBytes")).toBe(200 * MIB);
  expect(numberAt(whole, "memory", "workingSetBytes")).toBeGreaterThanOrEqual(memory);

  await eventually("its processor time grows at the rate of its limit", async () => {
    const pod = await podOf(agent, "busy");
    const rates = [
      numberAt(pod, "cpu", "usageNanoCores"),
      numberAt(pod, "containers", 0, "cpu", "usageNanoCores"),
    ];
    return rates.every((rate) => rate > 100e6 && rate < 400e6);
  });

  const { node } = (await statistics(agent)) as { readonly node: unknown };
  expect(at(node, "nodeName")).toBe(agent.nodeName);
  expect(numberAt(node, "cpu", "usageCoreNanoSeconds")).toBeGreaterThan(0);
  expect(numberAt(node, "memory", "availableBytes")).toBeGreaterThan(0);
  expect(numberAt(node, "fs", "capacityBytes")).toBeGreaterThan(0);
  expect(numberAt(node, "runtime", "imageFs", "usedBytes")).toBeGreaterThan(0);
  expect(numberAt(node, "rlimit", "curproc")).toBeGreaterThan(10);
  expect(at(node, "systemContainers", 0, "name")).toBe("pods");
  expect(numberAt(node, "systemContainers", 0, "memory", "usageBytes")).toBeGreaterThan(memory);

  const short = await statistics(agent, "?only_cpu_and_memory=true");
  const [pod] = listOf(at(short, "pods"));
  expect(isJsonObject(pod) && Object.keys(pod).toSorted()).toEqual(
    ["containers", "cpu", "memory", "podRef", "startTime", "swap"].filter(
      (name) => name !== "swap" || at(pod, "swap") !== undefined,
    ),
  );
  agent.removeManifest("busy.yaml");
  await eventually("nothing of it is left", async () => (await podOf(agent, "busy")) === undefined);
  await agent.kill();
});
