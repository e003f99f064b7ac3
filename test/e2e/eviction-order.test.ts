// A small disk for images and pods that fills up: what goes first, which pods go then, and what never goes.

import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { existsSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { makeLoopDisk } from "../harness/loop-disk.ts";
import { runSync } from "../harness/run-command.ts";
import { nodeCondition } from "./support-a-agent.ts";
import { podManifest } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";
import { findPod, READY, untilGone, untilPod, type PodWish } from "./support-c-views.ts";
import { testIf } from "./support-d-linux.ts";
import { MovingRegistry } from "./support-h-registry.ts";

const MIB = 1024 * 1024;
const THRESHOLD_MIB = 100;
const disk = makeLoopDisk(800);
const stage = await Stage.open(disk === undefined ? {} : { root: join(disk.path, "containerd") });
const e2e = testIf(disk !== undefined, stage, "a loop device with ext4");
const registry = new MovingRegistry();
const EVICTED: PodWish = { is: "is evicted", when: ({ status }) => status.reason === "Evicted" };
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available || disk === undefined) return;
  agent = stage.agent({
    config: {
      stateDir: join(disk.path, "state"),
      evictionPressureTransitionPeriod: "5s",
      evictionHard: {
        "nodefs.available": `${THRESHOLD_MIB}Mi`,
        "imagefs.available": `${THRESHOLD_MIB}Mi`,
        "nodefs.inodesFree": "20%",
      },
      // Only the lack of space is to remove something here.
      imageGCHighThresholdPercent: 100,
      containerGC: { maxPerPodContainer: 9 },
    },
  });
  await agent.startReady();
}, 180_000);

afterAll(() => {
  registry[Symbol.dispose]();
  stage.close();
  disk?.[Symbol.dispose]();
}, 180_000);

afterEach(() => rmSync(ballast(), { force: true }));

interface Wish {
  readonly image?: string;
  readonly requests?: object;
  readonly critical?: boolean;
}

function put(name: string, script: readonly string[], wish: Wish = {}): void {
  const { image, requests = {}, critical = false } = wish;
  const recipe = { name, script, graceSeconds: 1, ...(image === undefined ? {} : { image }) };
  const pod = structuredClone(podManifest(stage.journals, recipe)) as {
    readonly spec: { priorityClassName?: string; readonly containers: { resources?: object }[] };
  };
  for (const container of pod.spec.containers) container.resources = { requests };
  if (critical) pod.spec.priorityClassName = "system-node-critical";
  agent.writeManifest(`${name}.yaml`, pod);
}

/** A pod that has so much in its emptyDir. */
function putLoad(name: string, mebibytes: number, wish: Wish = {}): void {
  const write = `dd if=/dev/zero of=/scratch/f bs=1M count=${mebibytes} 2>/dev/null`;
  put(name, [write, "sync", `touch /journal/${name}.written`], wish);
}

function availableMib(): number {
  const { bavail, bsize } = statfsSync(disk?.path ?? "/");
  return Math.floor((bavail * bsize) / MIB);
}

/** What others have on the disk: so much that only this is left. */
function fillTo(mebibytes: number): void {
  const size = availableMib() - mebibytes;
  expect(size).toBeGreaterThan(0);
  expect(runSync(["fallocate", "-l", `${size}M`, ballast()]).code).toBe(0);
}

function ballast(): string {
  return join(disk?.path ?? "", "ballast");
}

async function pressureIs(status: "True" | "False"): Promise<void> {
  await eventually(
    `DiskPressure is ${status}`,
    async () => (await nodeCondition(agent, "DiskPressure"))?.status === status,
    { timeout: 60_000, explain: () => `${availableMib()} MiB\n${agent.logTail()}` },
  );
}

/** Names of pods in the order in which they were evicted. */
function evictions(): readonly string[] {
  const lines = agent.logLines().filter(({ msg }) => msg === "Evict");
  return lines.map(({ pod }) => String(pod).replace("default/", ""));
}

async function imageNames(): Promise<string> {
  return stage.containerd.ctr("images", "list", "--quiet");
}

/** Instances of a pod's container, dead or alive. */
async function instancesOf(pod: string): Promise<number> {
  const filter = `labels."io.kubernetes.pod.name"==${pod},labels."io.cri-containerd.kind"==container`;
  const listed = await stage.containerd.ctr("containers", "list", "--quiet", filter);
  return listed.split("\n").filter((line) => line !== "").length;
}

/** Text that cannot be made smaller. */
function incompressible(mebibytes: number): string {
  const bytes = new Uint8Array(mebibytes * MIB);
  for (let at = 0; at < bytes.length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes.toBase64();
}

e2e(
  "dead containers and unused images go before any pod, and images that are needed stay",
  async () => {
    registry.move("unused:1", incompressible(30));
    registry.move("keeper:1", incompressible(1));
    const [unused, keeper] = [registry.reference("unused:1"), registry.reference("keeper:1")];
    put("keeper", [], { image: keeper });
    put("unused", [], { image: unused });
    // Its third instance runs, and of the two dead ones the newer is the record of the pod's last end.
    put("restarted", ["[ $(grep -c start /journal/restarted) -ge 3 ] || exit 1"]);
    await Promise.all(
      ["keeper", "unused", "restarted"].map((name) => untilPod(agent, name, READY)),
    );
    agent.removeManifest("unused.yaml");
    await untilGone(agent, "unused");
    await eventually("it was restarted twice", async () => (await instancesOf("restarted")) === 3, {
      timeout: 60_000,
      explain: () => agent.logTail(),
    });

    fillTo(THRESHOLD_MIB - 10);
    await pressureIs("True");
    await eventually(
      "the unused image is gone",
      async () => !(await imageNames()).includes(unused),
      {
        timeout: 60_000,
        explain: () => agent.logTail(),
      },
    );
    await pressureIs("False");
    expect(availableMib()).toBeGreaterThan(THRESHOLD_MIB);
    expect(await instancesOf("restarted")).toBe(2);
    expect(evictions()).toEqual([]);
    for (const name of [keeper, "local/busybox:1", "local/busybox:2"])
      expect(await imageNames()).toContain(name);
  },
  180_000,
);

e2e(
  "pods go one after the other until there is space, and come back",
  async () => {
    putLoad("small", 30);
    putLoad("large", 60);
    putLoad("asks", 70, { requests: { "ephemeral-storage": "100Mi" } });
    putLoad("vital", 80, { critical: true });
    const stay = ["keeper", "restarted", "asks", "vital"];
    await Promise.all(["small", "large", ...stay].map((name) => untilPod(agent, name, READY)));
    await eventually("all is written", () =>
      ["small", "large", "asks", "vital"].every((name) =>
        existsSync(join(stage.journals, `${name}.written`)),
      ),
    );
    const images = await imageNames();

    // After the large pod 10 MiB are missing.
    fillTo(THRESHOLD_MIB - 70);
    await Promise.all(["large", "small"].map((name) => untilPod(agent, name, EVICTED)));
    expect(evictions()).toEqual(["large", "small"]);
    await pressureIs("False");
    expect(availableMib()).toBeGreaterThan(THRESHOLD_MIB);
    for (const name of stay) expect((await findPod(agent, name))?.status.phase).toBe("Running");
    expect(await imageNames()).toEqual(images);

    rmSync(ballast());
    for (const name of ["large", "small"])
      await untilPod(agent, name, { ...READY, timeout: 90_000 });
    expect(evictions()).toEqual(["large", "small"]);
  },
  240_000,
);

e2e(
  "a pod that takes the inodes is evicted, although it has the fewest bytes",
  async () => {
    const before = evictions().length;
    put("many", [
      "[ -e /journal/enough ] && exec sleep 1000",
      "cd /scratch; i=0",
      "while mkdir $i && (cd $i && seq 500 | xargs touch) 2>/dev/null; do i=$((i+1)); done",
    ]);
    const many = await untilPod(agent, "many", EVICTED);
    writeFileSync(join(stage.journals, "enough"), "");
    expect(many.status.message).toMatch(
      /^The node was low on resource: inodes\. Threshold quantity: \d+, available: \d+\.$/,
    );
    expect(evictions().slice(before)).toEqual(["many"]);
    await eventually("there are inodes again", () => {
      const { files, ffree } = statfsSync(disk?.path ?? "/");
      return ffree > files / 5;
    });
    await untilPod(agent, "many", { ...READY, timeout: 90_000 });
    await pressureIs("False");
  },
  180_000,
);
