// What a container may take: processors, memory, processes, devices, a terminal; as it sees it, and as the cgroups around it are.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { lacksSysResource } from "../harness/machine.ts";
import { output } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";
import { containerOf, inPhase, READY, untilEvent, untilPod } from "./support-c-views.ts";
import { linesOf, putFixture, rejectionOf, testIf, waitOf } from "./support-d-linux.ts";

const stage = await Stage.open();
const e2e = stage.test;
const CGROUPS = "/sys/fs/cgroup";
const isVersionTwo = existsSync(join(CGROUPS, "cgroup.controllers"));
const versionOne = testIf(!isVersionTwo, stage, "cgroup v1");
const versionTwo = testIf(isVersionTwo, stage, "cgroup v2");
/** Something that no container may open unless it is told, and that does nothing when it is opened. */
const DEVICE = ["/dev/fuse", "/dev/net/tun", "/dev/loop-control"].find((path) => existsSync(path));
const withDevice = testIf(DEVICE !== undefined, stage, "/dev/fuse or /dev/net/tun");
const PLUGGED = `/dev/agent-e2e-${process.pid}`;
const HUGE_PAGES = 2;
const withHugePages = testIf(hugePages() >= HUGE_PAGES, stage, "hugepages of 2Mi and their cgroup");
const withoutHugePages = testIf(hugePages() === 0, stage, "a node without hugepages");

const MI = 1024 * 1024;
const PIDS = 64;
/** Bytes. */
const memory =
  1024 * Number(/^MemTotal: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]);
const quarter = Math.floor(memory / 4);
let agent: AgentProcess;
/** On which a CPU limit is no quota. */
let loose: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  const systemReserved = { cpu: "100m", memory: "64Mi" };
  agent = stage.agent({ config: { podPidsLimit: PIDS, systemReserved } });
  putFixture(agent, "resources", { QUARTER: quarter });
  for (const name of ["too-much", "huge-pages", "terminals"]) putFixture(agent, name);
  if (DEVICE !== undefined) putFixture(agent, "devices", { DEVICE });
  putFixture(agent, "device-plugged", { DEVICE: PLUGGED });
  loose = stage.agent({
    name: "loose",
    instance: "loose",
    nodeName: "loose",
    cgroupRoot: `${stage.containerd.cgroupRoot}/loose`,
    config: { cpuCFSQuota: false },
  });
  putFixture(loose, "no-quota");
  await Promise.all([agent.startReady(), loose.startReady()]);
}, 180_000);

afterAll(() => {
  rmSync(PLUGGED, { force: true });
  stage.close();
}, 180_000);

/** Free ones of 2 MiB, which the kernel can also limit. */
function hugePages(): number {
  const free = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
  const isLimited = isVersionTwo
    ? readFileSync(join(CGROUPS, "cgroup.controllers"), "utf8").includes("hugetlb")
    : existsSync(join(CGROUPS, "hugetlb"));
  return existsSync(free) && isLimited ? Number(readFileSync(free, "utf8")) : 0;
}

/** A process without CAP_SYS_RESOURCE cannot protect its children better than itself. */
function score(wanted: number): string {
  const own = Number(readFileSync("/proc/self/oom_score_adj", "utf8"));
  return `score ${lacksSysResource() ? Math.max(own, wanted) : wanted}`;
}

/** Of a Burstable container that asks for so much memory; 1000 and 2 are for others. */
function burstable(bytes: number): string {
  return score(Math.min(999, Math.max(3, 1000 - Math.floor((1000 * bytes) / memory))));
}

/** The kernel's word for "no limit" of memory, in whole pages. */
const UNLIMITED = "9223372036854771712";
const SWAP = existsSync(join(CGROUPS, "memory/memory.memsw.limit_in_bytes"));

interface Limits {
  /** The directory of its class. */
  readonly of: "" | "/burstable" | "/besteffort";
  readonly shares: number;
  /** Absent = none. */
  readonly quota?: number;
  /** Bytes; absent = no limit. */
  readonly memory?: number;
}

function cpuLines({ shares, quota = -1 }: Limits): readonly string[] {
  return [`cpu.shares ${shares}`, "cpu.cfs_period_us 100000", `cpu.cfs_quota_us ${quota}`];
}

/** Where the pod lies below each hierarchy; the container's own cgroup is the last part of what it prints. */
async function podPath(on: AgentProcess, pod: string, container = "main"): Promise<string> {
  const place = (await linesOf(on, pod, container))[5] ?? "";
  return place.slice(0, place.lastIndexOf("/"));
}

function inCgroup(controller: string, path: string, file: string): string {
  return readFileSync(join(CGROUPS, controller, path, file), "utf8").trim();
}

versionOne.concurrent.each([
  [
    "burstable",
    "limited",
    { of: "/burstable", shares: 256, quota: 50_000, memory: 64 * MI },
    burstable(32 * MI),
  ],
  ["burstable", "asking", { of: "/burstable", shares: 102 }, burstable(quarter)],
  ["guaranteed", "main", { of: "", shares: 307, quota: 30_000, memory: 64 * MI }, score(-997)],
  ["best-effort", "main", { of: "/besteffort", shares: 2 }, score(1000)],
  [
    "whole",
    "own",
    { of: "/burstable", shares: 102, quota: 10_000, memory: 32 * MI },
    burstable(48 * MI),
  ],
  // It may take all that the pod may.
  [
    "whole",
    "main",
    { of: "/burstable", shares: 614, quota: 60_000, memory: 128 * MI },
    burstable(16 * MI),
  ],
  ["overhead", "main", { of: "", shares: 204, quota: 20_000, memory: 64 * MI }, score(-997)],
  ["no-quota", "main", { of: "", shares: 307, memory: 64 * MI }, score(-997)],
] as const)(
  "a container of the pod %s has its limits: %s",
  async (pod, container, limits, last) => {
    const { of: directory, memory: bytes = UNLIMITED } = limits as Limits;
    const on = pod === "no-quota" ? loose : agent;
    const lines = await linesOf(on, pod, container);
    expect([...lines.slice(0, 5), ...lines.slice(6)]).toEqual([
      ...cpuLines(limits),
      `memory.limit_in_bytes ${bytes}`,
      // Together with swap: none is given.
      `memory.memsw.limit_in_bytes ${SWAP ? bytes : "none"}`,
      last,
    ]);
    const { containerID } = containerOf(await untilPod(on, pod, READY), container);
    const root = `${stage.containerd.cgroupRoot}${on === loose ? "/loose" : ""}/kubepods${directory}`;
    expect(lines[5]).toStartWith(`${root}/pod`);
    expect(lines[5]).toEndWith(`/${containerID.replace("containerd://", "")}`);
  },
);

versionOne.concurrent.each([
  ["burstable", "limited", { of: "/burstable", shares: 358 }],
  ["guaranteed", "main", { of: "", shares: 307, quota: 30_000, memory: 64 * MI }],
  ["best-effort", "main", { of: "/besteffort", shares: 2 }],
  ["whole", "main", { of: "/burstable", shares: 204, quota: 60_000, memory: 128 * MI }],
  // With what the pod itself takes.
  ["overhead", "main", { of: "", shares: 307, quota: 30_000, memory: 80 * MI }],
  ["no-quota", "main", { of: "", shares: 307, memory: 64 * MI }],
] as const)(
  "the cgroup around the pod %s has the limits of all its containers",
  async (pod, container, limits) => {
    const { memory: bytes = UNLIMITED } = limits as Limits;
    const on = pod === "no-quota" ? loose : agent;
    const path = await podPath(on, pod, container);
    const cpu = ["cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"];
    expect(cpu.map((file) => `${file} ${inCgroup("cpu", path, file)}`)).toEqual([
      ...cpuLines(limits),
    ]);
    expect(inCgroup("memory", path, "memory.limit_in_bytes")).toBe(String(bytes));
    expect(inCgroup("pids", path, "pids.max")).toBe(on === loose ? "max" : String(PIDS));
  },
);

versionOne("around all pods there is what the node does not keep for itself", async () => {
  const path = (await podPath(agent, "burstable", "limited")).split("/").slice(0, -2).join("/");
  const asked = Math.floor(((350 + 200) * 1024) / 1000);
  expect(path).toEndWith("/kubepods");
  const limit = inCgroup("memory", path, "memory.limit_in_bytes");
  expect(limit).toBe(String(memory - 64 * MI));
  const shares = ["", "/burstable", "/besteffort"].map((name) =>
    inCgroup("cpu", `${path}${name}`, "cpu.shares"),
  );
  const all = Math.floor(((cpus().length * 1000 - 100) * 1024) / 1000);
  expect(shares).toEqual([all, asked, 2].map(String));
});

versionTwo.concurrent("with cgroups of version 2 a container has its limits", async () => {
  expect(await linesOf(agent, "burstable", "limited")).toEqual([
    "cpu.max 50000 100000",
    `memory.max ${64 * MI}`,
    "memory.swap.max 0",
    "memory.oom.group 1",
    burstable(32 * MI),
  ]);
});

e2e.concurrent("a pod cannot begin more processes than podPidsLimit", async () => {
  // Two shells and the pod's pause are some of them.
  const numbers = Array.from({ length: PIDS - 3 }, (_, index) => String(index + 1));
  expect(await linesOf(agent, "forks")).toEqual([
    ...numbers,
    "sh: can't fork: Resource temporarily unavailable",
  ]);
});

e2e.concurrent("whoever takes more memory than his limit is OOMKilled", async () => {
  const pod = await untilPod(agent, "out-of-memory", inPhase("Failed"));
  expect(containerOf(pod, "main").state.terminated).toMatchObject({
    exitCode: 137,
    reason: "OOMKilled",
  });
});

withHugePages.concurrent("huge pages are mounted, and limited", async () => {
  expect(await linesOf(agent, "huge-pages")).toEqual(["hugetlbfs", String(4 * MI)]);
});

withoutHugePages.concurrent(
  "a pod that asks for huge pages is refused where there are none",
  async () => {
    expect(await rejectionOf(agent, "huge-pages")).toMatchObject({
      code: "OutOfhugepages-2Mi",
      path: "spec.containers[0].resources.requests[hugepages-2Mi]",
    });
  },
);

const numbers = DEVICE === undefined ? "" : (await output(["stat", "-c", "%t:%T", DEVICE])).trim();
const PLAIN_ROOT = "CapEff:\t00000000a80425fb";
const READ_REFUSED = "sh: can't open /dev/mine: Operation not permitted";
const WRITE_REFUSED = "sh: can't create /dev/mine: Operation not permitted";

withDevice.concurrent.each([
  ["for reading only", "device-annotated", "main", [numbers, "read", WRITE_REFUSED, "absent"]],
  ["for writing only", "device-limits", "writes", [numbers, READ_REFUSED, "written", "absent"]],
  ["as it is", "device-limits", "whole", ["absent", numbers, "read", "written"]],
  ["not unless it asks", "device-limits", "none", ["absent", "absent"]],
] as const)(
  "a container that is not privileged gets a device: %s",
  async (_, pod, container, lines) => {
    expect(await linesOf(agent, pod, container)).toEqual([...lines, PLAIN_ROOT]);
  },
);

e2e.concurrent("a container waits for its device, and starts when it is plugged in", async () => {
  const reason = "CreateContainerConfigError";
  const message = `container "main" needs the device ${PLUGGED}, which is not there; it starts when the device is plugged in`;
  expect(await waitOf(agent, "device-plugged", { reason })).toBe(message);
  const told = await untilEvent(agent, "device-plugged", { reason: "Failed", container: "main" });
  expect(told.message).toBe(`Error: ${message}`);
  // It gives zeros, as /dev/zero does.
  await output(["mknod", PLUGGED, "c", "1", "5"]);
  try {
    expect(await linesOf(agent, "device-plugged")).toEqual(["4"]);
  } finally {
    rmSync(PLUGGED);
  }
});

e2e.concurrent.each([
  ["a terminal", "terminal", ["0", "1", "2", "/dev/pts/0"]],
  ["a pipe that stays open", "pipe", ["pipe"]],
  ["nothing", "nothing", ["/dev/null"]],
])("standard input is %s", async (_, container, lines) => {
  expect(await linesOf(agent, "terminals", container)).toEqual(lines);
});
