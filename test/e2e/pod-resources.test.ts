// What a pod may use and where it may run at all, seen from inside of real containers and from their cgroups.

import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import { getNode, getRejected } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const TREE = "/sys/fs/cgroup";
const PIDS = 40;

const stage = await Stage.open();
const e2e = stage.test;
/** The files of version 2 have other names. */
const e2eVersion1 = existsSync(join(TREE, "memory/memory.limit_in_bytes"))
  ? e2e
  : testWhenAvailable({ unavailable: "needs cgroup version 1" });
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({
    config: {
      podPidsLimit: PIDS,
      nodeLabels: { site: "here" },
      allowedUnsafeSysctls: ["net.core.somaxconn"],
      systemReserved: { memory: "64Mi" },
      priorityClasses: { high: 1000 },
    },
  });
  await agent.startReady();
}, 180_000);

afterEach(async () => {
  if (stage.available) await stage.clear(agent);
}, 180_000);

afterAll(() => stage.close(), 180_000);

interface Recipe {
  readonly script?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

function write(name: string, { script = "sleep 1000", spec, ...resources }: Recipe): void {
  const container = {
    name: "a",
    image: "local/busybox:1",
    command: ["sh", "-c", script],
    resources,
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, containers: [container], ...spec },
  };
  agent.writeManifest(`${name}.yaml`, pod);
}

/** Of the pod that ran last under this name: its directory of logs ends in it. */
function uidOf(name: string): string | undefined {
  const { podLogs } = agent.paths;
  const own = existsSync(podLogs) ? readdirSync(podLogs) : [];
  const prefix = `default_${name}_`;
  return own.find((directory) => directory.startsWith(prefix))?.slice(prefix.length);
}

/** What the container of a pod has written so far. */
function saidBy(name: string): readonly string[] {
  const path = join(agent.paths.podLogs, `default_${name}_${uidOf(name)}`, "a", "0.log");
  const lines = existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
  return lines.map((line) => line.split(" ").slice(3).join(" "));
}

/** All of it, once it ends with "end". */
async function allSaidBy(name: string): Promise<readonly string[]> {
  return eventually(
    `${name} has said everything`,
    () => {
      const lines = saidBy(name);
      return lines.at(-1) === "end" ? lines.slice(0, -1) : undefined;
    },
    { timeout: 60_000, explain: () => agent.logTail() },
  );
}

function cgroupFile(controller: string, path: string, file: string): string {
  const { cgroupRoot } = stage.containerd;
  return readFileSync(join(TREE, controller, cgroupRoot, path, file), "utf8").trim();
}

/** The only pod that is refused. */
async function refused(name: string): Promise<{ readonly code: string; readonly message: string }> {
  return eventually(`${name} is refused`, async () =>
    (await getRejected(agent)).find((one) => one.name === name),
  );
}

e2eVersion1("a container finds its own limits", async () => {
  const files = [
    "cpu/cpu.shares",
    "cpu/cpu.cfs_quota_us",
    "memory/memory.limit_in_bytes",
    "memory/memory.memsw.limit_in_bytes",
  ];
  write("inside", {
    script: `cd ${TREE} && cat ${files.join(" ")}; cat /proc/self/oom_score_adj; echo end; sleep 1000`,
    requests: { cpu: "250m", memory: "16Mi" },
    limits: { cpu: "500m", memory: "32Mi" },
  });
  const [shares, quota, memory, memoryAndSwap, score] = await allSaidBy("inside");
  expect([shares, quota, memory, memoryAndSwap]).toEqual(["256", "50000", "33554432", "33554432"]);
  expect(Number(score)).toBeGreaterThan(900);
});

e2eVersion1("a pod as a whole has its limits", async () => {
  write("whole", { limits: { cpu: "500m", memory: "32Mi" } });
  await stage.running("whole");
  const path = `kubepods/pod${uidOf("whole")}`;
  expect(cgroupFile("cpu", path, "cpu.shares")).toBe("512");
  expect(cgroupFile("cpu", path, "cpu.cfs_quota_us")).toBe("50000");
  expect(cgroupFile("memory", path, "memory.limit_in_bytes")).toBe("33554432");
  expect(cgroupFile("pids", path, "pids.max")).toBe(String(PIDS));
});

e2eVersion1("what is reserved is kept from all pods, and said in the node's status", async () => {
  write("any", {});
  await stage.running("any");
  const { capacity, allocatable } = (await getNode(agent)).status;
  const [total, left] = [capacity, allocatable].map((list) => parseInt(list?.["memory"] ?? "", 10));
  expect(left).toBe((total ?? 0) - 64 * 1024);
  const limit = Number(cgroupFile("memory", "kubepods", "memory.limit_in_bytes"));
  expect(limit).toBe((left ?? 0) * 1024);
});

e2eVersion1("best-effort pods get what the others leave over", async () => {
  write("least", {});
  write("some", { requests: { cpu: "100m" } });
  await Promise.all([stage.running("least"), stage.running("some")]);
  expect(cgroupFile("cpu", "kubepods/besteffort", "cpu.shares")).toBe("2");
  expect(cgroupFile("cpu", "kubepods/burstable", "cpu.shares")).toBe("102");
});

e2eVersion1("a pod that forks without end comes to its limit of processes", async () => {
  // The shell that cannot fork any more ends; the container goes on without a fork.
  const script = "sh -c 'while :; do sleep 1000 & done'; exec sleep 1000";
  write("bomb", { script, spec: { restartPolicy: "Never" } });
  await eventually(
    "a fork was refused",
    () => saidBy("bomb").some((line) => line.includes("can't fork")),
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  const path = `kubepods/besteffort/pod${uidOf("bomb")}`;
  const current = Number(cgroupFile("pids", path, "pids.current"));
  expect(current).toBeLessThanOrEqual(PIDS);
  expect(current).toBeGreaterThan(PIDS / 2);
});

e2e("an allowed sysctl is there inside, another keeps its pod from running", async () => {
  const sysctls = (name: string): object => ({
    securityContext: { sysctls: [{ name, value: "77" }] },
  });
  write("tuned", {
    script: "cat /proc/sys/net/core/somaxconn; echo end; sleep 1000",
    spec: sysctls("net.core.somaxconn"),
  });
  write("greedy", { spec: sysctls("net.ipv4.tcp_mem") });
  expect(await allSaidBy("tuned")).toEqual(["77"]);
  expect(await refused("greedy")).toMatchObject({
    code: "SysctlForbidden",
    path: "spec.securityContext.sysctls[0].name",
  });
});

e2e("a pod waits for room, and has it when another one goes", async () => {
  const cpus = navigator.hardwareConcurrency;
  write("big", { requests: { cpu: String(cpus) } });
  await stage.running("big");
  write("small", { requests: { cpu: "500m" } });
  expect(await refused("small")).toMatchObject({
    code: "OutOfcpu",
    message: `Node didn't have enough resource: cpu, requested: 500, used: ${cpus * 1000}, capacity: ${cpus * 1000}`,
  });
  agent.removeManifest("big.yaml");
  await stage.running("small");
  expect(await getRejected(agent)).toEqual([]);
});

e2e("a pod that has come to its end needs no room any more", async () => {
  const cpus = String(navigator.hardwareConcurrency);
  write("job", { script: "sleep 2", requests: { cpu: cpus }, spec: { restartPolicy: "Never" } });
  await stage.running("job");
  write("next", { requests: { cpu: cpus } });
  await refused("next");
  await stage.running("next");
});

e2e("a pod runs where its selector and its classes are known", async () => {
  write("here", { spec: { nodeSelector: { site: "here", "kubernetes.io/os": "linux" } } });
  write("there", { spec: { nodeSelector: { site: "there" } } });
  write("important", { spec: { priorityClassName: "high" } });
  write("unknown", { spec: { priorityClassName: "higher" } });
  write("elsewhere", { spec: { runtimeClassName: "gvisor" } });
  await Promise.all([stage.running("here"), stage.running("important")]);
  const codes = await Promise.all(
    ["there", "unknown", "elsewhere"].map(async (name) => (await refused(name)).code),
  );
  expect(codes).toEqual(["NodeAffinity", "PriorityClassNotFound", "RuntimeClassNotFound"]);
});

e2e("an edit that the node refuses leaves the old pod running", async () => {
  write("edited", {});
  const id = await stage.running("edited");
  write("edited", { spec: { nodeSelector: { site: "there" } } });
  expect((await refused("edited")).code).toBe("NodeAffinity");
  expect(await stage.running("edited")).toBe(id);
  write("edited", { spec: { nodeSelector: { site: "here" } } });
  await eventually("the edit runs", async () => (await stage.running("edited")) !== id, {
    explain: () => agent.logTail(100),
  });
});
