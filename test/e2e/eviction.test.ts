// A node that runs short, on real parts: a small disk that is filled to its last byte, and pods whose memory is limited.

import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { PodView } from "../../src/node/api-views.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { makeLoopDisk } from "../harness/loop-disk.ts";
import { podManifest } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";
import { eventsOf, findPod, READY, untilEvent, untilPod, type PodWish } from "./support-c-views.ts";
import { testIf } from "./support-d-linux.ts";

const MIB = 1024 * 1024;
const disk = makeLoopDisk(400);
const stage = await Stage.open(disk === undefined ? {} : { root: join(disk.path, "containerd") });
const withDisk = testIf(disk !== undefined, stage, "a loop device with ext4");
const withMemory = testIf(
  existsSync("/sys/fs/cgroup/memory") || existsSync("/sys/fs/cgroup/cgroup.controllers"),
  stage,
  "a memory cgroup",
);
const EVICTED: PodWish = { is: "is evicted", when: ({ status }) => status.reason === "Evicted" };
let onDisk: AgentProcess;
let inMemory: AgentProcess;
let limiting: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  const { cgroupRoot } = stage.containerd;
  const common = { evictionPressureTransitionPeriod: "5s" };
  onDisk = stage.agent({
    config: {
      ...common,
      ...(disk === undefined ? {} : { stateDir: join(disk.path, "state") }),
      evictionHard: { "nodefs.available": "25%", "imagefs.available": "25%" },
    },
  });
  const memory =
    1024 * Number(/^MemTotal: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]);
  inMemory = stage.agent({
    name: "memory",
    instance: "memory",
    nodeName: "memory",
    cgroupRoot: `${cgroupRoot}/memory`,
    config: {
      ...common,
      systemReserved: { memory: memory - 256 * MIB },
      evictionHard: { "memory.available": "100Mi" },
    },
  });
  limiting = stage.agent({
    name: "limiting",
    instance: "limiting",
    nodeName: "limiting",
    cgroupRoot: `${cgroupRoot}/limiting`,
    config: common,
  });
  await Promise.all([onDisk, inMemory, limiting].map((agent) => agent.startReady()));
}, 120_000);

afterAll(() => {
  stage.close();
  disk?.[Symbol.dispose]();
});

interface Written {
  readonly spec: {
    readonly containers: { resources?: object }[];
    readonly volumes: { readonly name: string; emptyDir?: object }[];
  };
}

interface Ask {
  readonly requests?: object;
  /** Of its scratch directory. */
  readonly sizeLimit?: string;
}

/** A pod with a script. */
function put(agent: AgentProcess, name: string, script: readonly string[], ask: Ask = {}): void {
  const base = podManifest(stage.journals, { name, script, graceSeconds: 1 });
  const pod = structuredClone(base) as Written;
  for (const container of pod.spec.containers)
    container.resources = { requests: ask.requests ?? {} };
  for (const volume of pod.spec.volumes)
    if (volume.name === "scratch" && ask.sizeLimit !== undefined)
      volume.emptyDir = { sizeLimit: ask.sizeLimit };
  agent.writeManifest(`${name}.yaml`, pod);
}

async function condition(agent: AgentProcess, type: string): Promise<string | undefined> {
  const response = await agent.api("/node");
  const node = (await response.json()) as {
    readonly status: { readonly conditions: readonly { type: string; status: string }[] };
  };
  return node.status.conditions.find((one) => one.type === type)?.status;
}

async function phase(agent: AgentProcess, name: string): Promise<string | undefined> {
  return (await findPod(agent, name))?.status.phase;
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly containers?: readonly { readonly memory?: { readonly workingSetBytes?: number } }[];
  }[];
}

/** The agent knows what its container uses, so that the message of an eviction can name it. */
async function isMeasured(agent: AgentProcess, name: string): Promise<void> {
  await eventually(`the memory of ${name} is measured`, async () => {
    const { pods } = (await (await agent.api("/stats/summary")).json()) as Summary;
    const used = pods.find(({ podRef }) => podRef.name === name)?.containers?.[0]?.memory;
    return (used?.workingSetBytes ?? 0) > 0;
  });
}

/** All at once: most of the time is spent waiting. */
function together<T extends Readonly<Record<string, () => Promise<void>>>>(flows: T): T {
  let running: ReadonlyMap<string, Promise<void>> | undefined;
  const start = (): ReadonlyMap<string, Promise<void>> => {
    running ??= new Map(
      Object.entries(flows).map(([name, flow]) => {
        const run = flow();
        // Its own test reports it.
        run.catch(() => undefined);
        return [name, run];
      }),
    );
    return running;
  };
  const names = Object.keys(flows);
  return Object.fromEntries(
    names.map((name) => [name, (): Promise<void> => start().get(name) ?? Promise.resolve()]),
  ) as T;
}

const flows = together({
  fullDisk: async () => {
    if (disk === undefined) return;
    put(onDisk, "modest", ["dd if=/dev/zero of=/scratch/f bs=1M count=5 2>/dev/null"]);
    await untilPod(onDisk, "modest", READY);
    const images = await imageNames();
    const fill = "[ -e /journal/enough ] || dd if=/dev/zero of=/scratch/f bs=64k 2>/dev/null";
    put(onDisk, "hog", [fill]);
    const hog: PodView = await untilPod(onDisk, "hog", EVICTED);
    expect(hog.status.message).toMatch(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: \S+, available: \S+\./,
    );
    expect(await condition(onDisk, "DiskPressure")).toBe("True");
    await eventually("there is space again", () => {
      const { bavail, blocks } = statfsSync(disk.path);
      return bavail > blocks / 2;
    });
    writeFileSync(join(stage.journals, "enough"), "");
    await untilEvent(onDisk, "hog", { reason: "Evicted", type: "Warning" });
    expect(await (await onDisk.api("/metrics")).text()).toMatch(
      /^kubelet_evictions\{eviction_signal="(?:node|image)fs\.available"\} 1$/m,
    );
    expect(await phase(onDisk, "modest")).toBe("Running");
    // None of them was brought by the agent, so none of them may go.
    expect(await imageNames()).toEqual(images);
    await untilPod(onDisk, "hog", { ...READY, timeout: 90_000 });
    expect(await condition(onDisk, "DiskPressure")).toBe("False");
    expect((await eventsOf(onDisk, "modest")).map(({ reason }) => reason)).not.toContain("Evicted");
  },

  memory: async () => {
    put(inMemory, "modest", [], { requests: { memory: "32Mi" } });
    await untilPod(inMemory, "modest", READY);
    const take = `(head -c ${190 * MIB} /dev/zero; sleep 1000) | tail -c ${190 * MIB}`;
    put(inMemory, "hog", [
      `[ -e /journal/calm ] || { until [ -e /journal/measured ]; do sleep 0.2; done; ${take}; }`,
    ]);
    await isMeasured(inMemory, "hog");
    writeFileSync(join(stage.journals, "measured"), "");
    const hog = await untilPod(inMemory, "hog", EVICTED);
    writeFileSync(join(stage.journals, "calm"), "");
    expect(hog.status.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \S+\. Container main was using \S+, request is 0, has larger consumption of memory\.$/,
    );
    expect(await condition(inMemory, "MemoryPressure")).toBe("True");
    expect(await phase(inMemory, "modest")).toBe("Running");
    await untilPod(inMemory, "hog", { ...READY, timeout: 90_000 });
    expect(await condition(inMemory, "MemoryPressure")).toBe("False");
  },

  limit: async () => {
    const write = ["dd if=/dev/zero of=/scratch/f bs=1M count=20 2>/dev/null"];
    put(limiting, "greedy", write, { sizeLimit: "10Mi" });
    put(limiting, "modest", write, { sizeLimit: "30Mi" });
    const greedy = await untilPod(limiting, "greedy", { ...EVICTED, timeout: 100_000 });
    expect(greedy.status.message).toBe(
      'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi".',
    );
    expect(await phase(limiting, "modest")).toBe("Running");
  },
});

/** What containerd has, whoever brought it. */
async function imageNames(): Promise<readonly string[]> {
  const listed = await stage.containerd.ctr("images", "list", "--quiet");
  return listed.trim().split("\n").toSorted();
}

withDisk(
  "a disk that is full to the last byte is freed by the pod that filled it, which returns",
  flows.fullDisk,
  150_000,
);

withMemory(
  "a pod that takes the memory of all is evicted before the kernel kills one",
  flows.memory,
  150_000,
);

stage.test(
  "a pod that has more in an emptyDir than its sizeLimit is evicted",
  flows.limit,
  150_000,
);
