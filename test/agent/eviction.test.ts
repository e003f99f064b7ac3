// The whole agent on a node that runs short: which pods go, what they show, and when they return.

import { describe, expect, test } from "bun:test";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { GIB } from "../fakes/fake-readings.ts";
import { counted } from "../fakes/counted.ts";
import { SimWorld } from "./sim-world.ts";

/** A seed whose world has a broker and answers at once. */
const CALM_SEED = 16_366;
const MIB = 1024 ** 2;

function manifest(name: string, spec: string, container = ""): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  ${spec}
  containers:
  - {name: a, image: local/busybox:1${container}}
`;
}

const REQUESTS = ", resources: {requests: {memory: 200Mi}}";

class ShortNode implements Disposable {
  readonly world = new SimWorld(CALM_SEED);
  /** Pod → MiB of memory, or of its writable layer. */
  readonly memory = new Map<string, number>();
  readonly layers = new Map<string, number>();
  /** Names in the order in which their sandboxes went. */
  readonly gone: string[] = [];

  static async started(): Promise<ShortNode> {
    const node = new ShortNode();
    const { runtime } = node.world.machine;
    const of = (sizes: ReadonlyMap<string, number>, { config }: FakeContainer): number =>
      (sizes.get(config.labels["io.kubernetes.pod.name"] ?? "") ?? 1) * MIB;
    runtime.usage = (container) => ({
      memoryBytes: of(node.memory, container),
      layerBytes: of(node.layers, container),
    });
    await node.world.perform({ type: "Start", pause: 20_000 });
    return node;
  }

  async run(name: string, spec = "", container = ""): Promise<void> {
    const { manifests } = this.world.machine;
    const text = manifest(name, spec, container);
    manifests.write(`${name}.yaml`, text, { how: "rename", onDone: () => undefined });
    await this.wait(20_000);
  }

  async wait(pause: number): Promise<void> {
    await this.world.perform({ type: "Wait", pause });
  }

  get readings() {
    return this.world.machine.readings;
  }

  starve(mebibytes: number): void {
    const { capacity } = this.readings.memoryRoom;
    this.readings.memoryRoom = { capacity, available: mebibytes * MIB };
  }

  fill(share: number): void {
    const { capacity } = this.readings.disk.bytes;
    const bytes = { capacity, available: capacity * (1 - share) };
    this.readings.disk = { ...this.readings.disk, bytes };
  }

  get facts() {
    const { agent } = this.world;
    if (agent === undefined) throw new Error("the agent does not run");
    return agent.facts;
  }

  status(name: string) {
    return this.facts.pods().find(({ pod }) => pod.metadata.name === name)?.status;
  }

  /** Names of pods by phase and reason. */
  shown(): Readonly<Record<string, string>> {
    const entries = this.facts.pods().map(({ pod, status }) => {
      return [pod.metadata.name, status.reason ?? status.phase] as const;
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  condition(type: string): string | undefined {
    return this.facts.node().status.conditions.find((one) => one.type === type)?.status;
  }

  events(reason: string): readonly string[] {
    const found = this.facts.events().filter((event) => event.reason === reason);
    return found.map(({ object, message }) => `${object.name}: ${message}`);
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

describe("a node short of memory", () => {
  test("evicts what exceeds its request, shows why, and lets it return", async () => {
    using node = await ShortNode.started();
    await node.run("hog");
    await node.run("modest", "", REQUESTS);
    node.memory.set("hog", 300).set("modest", 150);
    node.starve(50);
    await node.wait(11_000);
    expect(node.shown()).toEqual({ hog: "Evicted", modest: "Running" });
    expect(node.status("hog")).toMatchObject({
      phase: "Failed",
      message:
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
        "Container a was using 300Mi, request is 0, has larger consumption of memory.",
    });
    expect(node.condition("MemoryPressure")).toBe("True");
    expect(node.events("Evicted")).toEqual([`hog: ${node.status("hog")?.message}`]);
    expect(counted(node.facts.meter(), "kubelet_evictions", /[^0]$/)).toEqual([
      'kubelet_evictions{eviction_signal="memory.available"} 1',
    ]);
    node.starve(3000);
    await node.wait(45_000);
    // The condition stays for a minute in these worlds.
    expect(node.shown()).toEqual({ hog: "Evicted", modest: "Running" });
    await node.wait(30_000);
    expect(node.condition("MemoryPressure")).toBe("False");
    expect(node.shown()).toEqual({ hog: "Running", modest: "Running" });
  });

  test("evicts one pod after the other, as long as it must", async () => {
    using node = await ShortNode.started();
    for (const name of ["a", "b", "c"]) await node.run(name);
    node.memory.set("a", 10).set("b", 30).set("c", 20);
    node.starve(50);
    await node.wait(75_000);
    expect(node.events("Evicted").map((event) => event[0])).toEqual(["b", "c", "a"]);
  });

  test("evicts no critical pod", async () => {
    using node = await ShortNode.started();
    await node.run("critical", "priorityClassName: system-node-critical");
    node.memory.set("critical", 1000);
    node.starve(50);
    await node.wait(90_000);
    expect(node.shown()).toEqual({ critical: "Running" });
  });

  test("starts no BestEffort pod, but others, and touches nothing that runs", async () => {
    using node = await ShortNode.started();
    await node.run("runs", "", REQUESTS);
    await node.run("critical", "priorityClassName: system-node-critical");
    node.starve(50);
    await node.wait(70_000);
    node.starve(3000);
    await node.run("later");
    await node.run("asks", "", REQUESTS);
    expect(node.shown()).toMatchObject({ later: "Evicted", asks: "Running", critical: "Running" });
    expect(node.status("later")?.message).toBe("The node had condition: [MemoryPressure].");
    await node.wait(330_000);
    expect(node.shown()).toMatchObject({ later: "Running" });
  });

  test("keeps what it has evicted over a restart of the agent", async () => {
    using node = await ShortNode.started();
    await node.run("hog");
    node.starve(50);
    await node.wait(70_000);
    expect(node.shown()).toEqual({ hog: "Evicted" });
    await node.world.perform({ type: "Stop", pause: 2_000 });
    node.starve(3000);
    await node.world.perform({ type: "Start", pause: 50_000 });
    expect(node.shown()).toEqual({ hog: "Evicted" });
    await node.wait(40_000);
    expect(node.shown()).toEqual({ hog: "Running" });
  });

  test("waits longer after each eviction", async () => {
    using node = await ShortNode.started();
    await node.run("hog");
    // Half a minute, 1, 2, 4 minutes, which are over when it is looked; then 8.
    for (const isLast of [false, false, false, false, true]) {
      node.starve(50);
      await node.wait(70_000);
      expect(node.shown()).toEqual({ hog: "Evicted" });
      node.starve(3000);
      await node.wait(330_000);
      expect(node.condition("MemoryPressure")).toBe("False");
      expect([isLast, node.shown()]).toEqual([isLast, { hog: isLast ? "Evicted" : "Running" }]);
    }
    await node.wait(150_000);
    expect(node.shown()).toEqual({ hog: "Running" });
  });
});

describe("a node short of disk", () => {
  test("evicts what has most on it, and starts nothing until there is room", async () => {
    using node = await ShortNode.started();
    await node.run("small");
    await node.run("large");
    node.layers.set("small", 10).set("large", 500);
    node.fill(0.95);
    await node.wait(11_000);
    expect(node.condition("DiskPressure")).toBe("True");
    node.fill(0.1);
    expect(node.events("Evicted").map((event) => event.split(":")[0])).toEqual(["large"]);
    await node.run("later", "", REQUESTS);
    expect(node.shown()).toEqual({ large: "Evicted", later: "Evicted", small: "Running" });
    await node.wait(330_000);
    expect(node.shown()).toEqual({ large: "Running", later: "Running", small: "Running" });
  });

  test("evicts although nothing can be written", async () => {
    using node = await ShortNode.started();
    await node.run("hog");
    await node.world.perform({ type: "Disk", failures: 1_000, pause: 0 });
    node.fill(0.999);
    await node.wait(90_000);
    expect(node.shown()).toEqual({ hog: "Evicted" });
    node.fill(0.1);
    await node.world.perform({ type: "Disk", failures: 0, pause: 400_000 });
    expect(node.shown()).toEqual({ hog: "Running" });
  });
});

test("a pod that the node refuses while its first call hangs does not begin when that call has come to nothing", async () => {
  using node = await ShortNode.started();
  const { runtime } = node.world.machine;
  const asked = (): number => runtime.calls.filter(({ call }) => call === "runPodSandbox").length;
  const before = asked();
  const slow = { call: "runPodSandbox", kind: "delay", times: 1, ms: 250_000 } as const;
  await node.world.perform({ type: "Fault", ...slow, pause: 0 });
  await node.run("late");
  node.readings.pidRoom = { capacity: 32_768, available: 90 };
  await node.wait(300_000);
  expect(asked() - before).toBe(1);
  expect(node.shown()).toEqual({ late: "Evicted" });
  node.readings.pidRoom = { capacity: 32_768, available: 30_000 };
  await node.wait(120_000);
  expect(node.shown()).toEqual({ late: "Running" });
});

test("a node short of process ids evicts the pod of the lowest priority, and starts none", async () => {
  using node = await ShortNode.started();
  await node.run("usual", "", REQUESTS);
  await node.run("low", "priority: -1", REQUESTS);
  node.readings.pidRoom = { capacity: 32_768, available: 90 };
  await node.wait(11_000);
  node.readings.pidRoom = { capacity: 32_768, available: 30_000 };
  expect(node.condition("PIDPressure")).toBe("True");
  expect(node.status("low")?.message).toBe(
    "The node was low on resource: pids. Threshold quantity: 100, available: 90.",
  );
  await node.run("later", "", REQUESTS);
  expect(node.shown()).toEqual({ later: "Evicted", low: "Evicted", usual: "Running" });
  expect(node.status("later")?.message).toBe("The node had condition: [PIDPressure].");
  await node.wait(120_000);
  expect(node.shown()).toEqual({ later: "Running", low: "Running", usual: "Running" });
});

test("a pod that has more on disk than its limit is evicted, and returns after its back-off", async () => {
  using node = await ShortNode.started();
  await node.run("greedy", "", ", resources: {limits: {ephemeral-storage: 100Mi}}");
  await node.run("other");
  node.layers.set("greedy", 101).set("other", 500);
  for (let waited = 0; waited < 70_000 && node.shown()["greedy"] === "Running"; waited += 5_000)
    await node.wait(5_000);
  expect(node.shown()).toEqual({ greedy: "Evicted", other: "Running" });
  expect(node.status("greedy")?.message).toBe(
    "Pod ephemeral local storage usage exceeds the total limit of containers 100Mi.",
  );
  node.layers.set("greedy", 1);
  await node.wait(50_000);
  expect(node.shown()).toEqual({ greedy: "Running", other: "Running" });
});

test("a calm node is looked at every ten seconds", async () => {
  using node = await ShortNode.started();
  await node.wait(60_000);
  const before = node.readings.looks;
  await node.wait(3_600_000);
  expect(node.readings.looks - before).toBeLessThanOrEqual(361);
  expect(node.readings.memoryRoom.capacity).toBe(4 * GIB);
});
