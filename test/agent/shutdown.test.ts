// The whole agent on a node that shuts down: which pods end when, what they show, and when they run again.

import { describe, expect, test } from "bun:test";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { Agent } from "../../src/agent/agent.ts";
import { SimWorld } from "./sim-world.ts";
import { aDocument, aPodNamed, UpstreamBench } from "./upstream-bench.ts";

/** A seed whose world has a broker and answers at once. */
const CALM_SEED = 16_366;
const CRITICAL = "priorityClassName: system-node-critical";
const TERMINATED = "Pod was terminated in response to imminent node shutdown.";

function manifest(name: string, spec: string, grace: number): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: ${grace}
  ${spec}
  containers:
  - {name: a, image: local/busybox:1}
`;
}

function podOf({ config }: FakeContainer): string {
  return config.labels["io.kubernetes.pod.name"] ?? "";
}

class Node implements Disposable {
  readonly world = new SimWorld(CALM_SEED);

  static async started(): Promise<Node> {
    const node = new Node();
    await node.world.perform({ type: "Start", pause: 20_000 });
    return node;
  }

  async run(name: string, spec = "", grace = 1): Promise<void> {
    await this.write(name, manifest(name, spec, grace));
  }

  async write(name: string, text: string): Promise<void> {
    const { manifests } = this.world.machine;
    manifests.write(`${name}.yaml`, text, { how: "rename", onDone: () => undefined });
    await this.wait(20_000);
  }

  async wait(pause: number): Promise<void> {
    await this.world.perform({ type: "Wait", pause });
  }

  get facts() {
    const { agent } = this.world;
    if (agent === undefined) throw new Error("the agent does not run");
    return agent.facts;
  }

  status(name: string) {
    return this.facts.pods().find(({ pod }) => pod.metadata.name === name)?.status;
  }

  shown(): Readonly<Record<string, string>> {
    const entries = this.facts.pods().map(({ pod, status }) => {
      return [pod.metadata.name, status.reason ?? status.phase] as const;
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  ready() {
    return this.facts.node().status.conditions.find(({ type }) => type === "Ready");
  }

  /** Of pods that run, in the runtime. */
  running(): readonly string[] {
    const { runtime } = this.world.machine;
    return runtime.running().map(podOf).toSorted();
  }

  /** From now on the pod's program takes so long to stop. */
  slow(name: string, stopsAfterMs: number): void {
    for (const container of this.world.machine.runtime.running())
      if (podOf(container) === name) container.program = { stopsAfterMs };
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

describe("a node that shuts down", () => {
  test("ends all pods, shows why, starts none, and runs them again when it is cancelled", async () => {
    using node = await Node.started();
    await node.run("web");
    await node.run("critical", CRITICAL);
    expect(node.facts.beginShutdown()).toMatchObject({
      active: true,
      pods: ["default/critical", "default/web"],
      seconds: 2,
    });
    await node.wait(30_000);
    expect(node.facts.shutdown()).toEqual({ active: true, known: true, pods: [], seconds: 0 });
    expect(node.running()).toEqual([]);
    expect(node.shown()).toEqual({ critical: "Terminated", web: "Terminated" });
    expect(node.status("web")).toMatchObject({ phase: "Failed", message: TERMINATED });
    expect(node.ready()).toMatchObject({
      status: "False",
      reason: "KubeletNotReady",
      message: "node is shutting down",
    });
    await node.run("later");
    expect(node.status("later")).toMatchObject({
      phase: "Failed",
      reason: "NodeShutdown",
      message: "Pod was rejected: Pod was rejected as the node is shutting down.",
    });
    node.facts.cancelShutdown();
    await node.wait(20_000);
    expect(node.shown()).toEqual({ critical: "Running", later: "Running", web: "Running" });
    expect(node.ready()?.status).toBe("True");
  });

  test("ends critical pods last", async () => {
    using node = await Node.started();
    await node.run("web", "", 60);
    await node.run("critical", CRITICAL);
    node.slow("web", 10_000);
    node.facts.beginShutdown();
    await node.wait(9_000);
    expect(node.running()).toEqual(["critical", "web"]);
    expect(node.shown()).toEqual({ critical: "Running", web: "Terminated" });
    await node.wait(5_000);
    expect(node.running()).toEqual([]);
  });

  test("goes on after the agent was killed in the middle", async () => {
    using node = await Node.started();
    await node.run("web", "", 60);
    await node.run("critical", CRITICAL);
    node.slow("web", 10_000);
    node.facts.beginShutdown();
    await node.wait(3_000);
    expect(node.running()).toEqual(["critical", "web"]);
    await node.world.perform({ type: "Kill", acts: 0, pause: 0 });
    await node.world.perform({ type: "Start", pause: 30_000 });
    expect(node.running()).toEqual([]);
    expect(node.shown()).toEqual({ critical: "Terminated", web: "Terminated" });
    node.facts.cancelShutdown();
    await node.wait(20_000);
    expect(node.shown()).toEqual({ critical: "Running", web: "Running" });
  });

  test("goes on after the agent was killed between writing down which pods end and ending them", async () => {
    using bench = new UpstreamBench();
    bench.broker.publish(
      "agent/v1/node/pi-1/desired",
      aDocument(1, { resources: [aPodNamed("web", { terminationGracePeriodSeconds: 1 })] }),
    );
    bench.start();
    await bench.clock.advance(30_000);
    const [{ pod } = { pod: undefined }] = bench.facts.pods();
    expect(bench.runtime.running()).toHaveLength(1);
    await bench.stop();
    const stopped = { [pod?.metadata.uid ?? ""]: null };
    const { bootId, store } = bench.edges;
    store.meta.set("shutdown", JSON.stringify({ bootId, stopped }));
    const { edges, config } = bench;
    const next = new Agent({ edges, config, version: "1.0.0", nodeName: "pi-1", conditions: [] });
    const end = new AbortController();
    const running = next.run(end.signal);
    await bench.clock.advance(30_000);
    expect(next.facts.shutdown()).toMatchObject({ active: true, known: true, pods: [] });
    expect(bench.runtime.running()).toEqual([]);
    expect(next.facts.pods()[0]?.status.reason).toBe("Terminated");
    end.abort();
    await bench.clock.advance(5_000);
    await running;
  });

  test("lets the pod of a Job run once more, which has not failed for that", async () => {
    using node = await Node.started();
    await node.write(
      "job",
      `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: a, image: local/busybox:1}]
`,
    );
    expect(node.running().length).toBe(1);
    const [name = ""] = node.running();
    node.facts.beginShutdown();
    await node.wait(30_000);
    expect(node.shown()).toEqual({ [name]: "Terminated" });
    node.facts.cancelShutdown();
    await node.wait(30_000);
    expect(node.running()).toEqual([name]);
  });

  test("leaves alone what has completed", async () => {
    using node = await Node.started();
    await node.run("once", "restartPolicy: Never");
    const { runtime } = node.world.machine;
    for (const { id } of runtime.running()) runtime.exit(id, 0);
    await node.wait(5_000);
    expect(node.shown()).toEqual({ once: "Succeeded" });
    node.facts.beginShutdown();
    await node.wait(30_000);
    expect(node.facts.shutdown().pods).toEqual([]);
    expect(node.shown()).toEqual({ once: "Succeeded" });
    node.facts.cancelShutdown();
    await node.wait(30_000);
    expect(node.shown()).toEqual({ once: "Succeeded" });
  });

  test("starts nothing that was completed and is added again while its old life is removed", async () => {
    using node = await Node.started();
    await node.run("once", "restartPolicy: Never");
    const { runtime, manifests } = node.world.machine;
    for (const { id } of runtime.running()) runtime.exit(id, 0);
    await node.wait(5_000);
    runtime.faults.order("stopPodSandbox", { type: "delay", ms: 45_000 });
    manifests.remove("once.yaml", "delete");
    await node.wait(5_000);
    await node.write("once", manifest("once", "restartPolicy: Never", 1));
    node.facts.beginShutdown();
    await node.wait(60_000);
    expect(node.running()).toEqual([]);
    expect(node.shown()).toEqual({ once: "NodeShutdown" });
    node.facts.cancelShutdown();
    await node.wait(20_000);
    expect(node.running()).toEqual(["once"]);
  });

  test("is over with the next boot", async () => {
    using node = await Node.started();
    await node.run("web");
    node.facts.beginShutdown();
    await node.wait(30_000);
    await node.world.perform({ type: "Reboot", pause: 0 });
    await node.world.perform({ type: "Start", pause: 30_000 });
    expect(node.shown()).toEqual({ web: "Running" });
    expect(node.facts.shutdown().active).toBe(false);
  });

  test("is not begun by the end of the agent", async () => {
    using node = await Node.started();
    await node.run("web");
    await node.world.perform({ type: "Stop", pause: 30_000 });
    expect(node.running()).toEqual(["web"]);
  });
});
