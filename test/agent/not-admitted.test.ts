// The whole agent: a pod that the node cannot run is listed as Failed, and runs when it can.

import { describe, expect, test } from "bun:test";
import { LABEL } from "../../src/api/pod/labels.ts";
import type { PodEntry } from "../../src/node/pod-list.ts";
import type { ReportedState } from "../../src/protocol/reported-state.ts";
import { askLocalApi } from "../fakes/ask-local-api.ts";
import { TOPIC } from "./sim-authority.ts";
import { SimWorld } from "./sim-world.ts";

/** A seed whose world has a broker and answers at once. */
const CALM_SEED = 16_366;

const manifest = (name: string, cpu: string, more = ""): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  ${more}
  containers:
  - {name: a, image: local/busybox:1, resources: {requests: {cpu: ${cpu}}}}
`;

class Node implements Disposable {
  readonly world = new SimWorld(CALM_SEED);

  static async started(): Promise<Node> {
    const node = new Node();
    await node.start();
    return node;
  }

  async start(): Promise<void> {
    await this.world.perform({ type: "Start", pause: 20_000 });
  }

  async write(file: string, text: string): Promise<void> {
    const { manifests } = this.world.machine;
    manifests.write(file, text, { how: "rename", onDone: () => undefined });
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

  pod(name: string): PodEntry | undefined {
    const found = this.facts.pods().filter(({ pod }) => pod.metadata.name === name);
    expect(found.length).toBeLessThan(2);
    return found[0];
  }

  /** Phase and reason. */
  shown(name: string): readonly (string | undefined)[] {
    const status = this.pod(name)?.status;
    return [status?.phase, status?.reason];
  }

  reported(): ReportedState {
    return JSON.parse(this.world.machine.broker.retained(TOPIC.reported) ?? "{}") as ReportedState;
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

test("a pod that has been admitted keeps its place while it waits for another one", async () => {
  using node = await Node.started();
  const waits = 'metadata: {name: early, annotations: {agent/depends-on: "never"}}';
  const early = manifest("early", "3").replace("metadata: {name: early}", waits);
  await node.write("early.yaml", early);
  expect(node.shown("early")).toEqual(["Pending", undefined]);
  await node.write("late.yaml", manifest("late", "3", "priority: 1000"));
  expect(node.shown("late")).toEqual(["Failed", "OutOfcpu"]);
  expect(node.shown("early")).toEqual(["Pending", undefined]);
  await node.write(
    "critical.yaml",
    manifest("critical", "3", "priorityClassName: system-node-critical"),
  );
  expect(node.shown("critical")).toEqual(["Running", undefined]);
  expect(node.shown("early")).toEqual(["Failed", "OutOfcpu"]);
});

// A worker asks the runtime what there is when it is done: until then the runtime may run what was not observed.
test("an edit that is refused while the pod starts leaves the pod running", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    using world = new SimWorld(seed);
    const { manifests, runtime } = world.machine;
    const write = (text: string): void =>
      manifests.write("edited.yaml", text, { how: "rename", onDone: () => undefined });
    const own = (): readonly string[] =>
      runtime
        .running()
        .filter(({ config }) => config.labels[LABEL.podName] === "edited")
        .map(({ id }) => id);
    await world.perform({ type: "Start", pause: 20_000 });
    write(manifest("edited", "1m"));
    for (let waited = 0; own().length === 0 && waited < 60_000; waited += 10)
      await world.perform({ type: "Wait", pause: 10 });
    const before = own();
    write(manifest("edited", "1m", "nodeSelector: {not: here}"));
    await world.perform({ type: "Wait", pause: 20_000 });
    expect([seed, own()]).toEqual([seed, before]);
    write(manifest("edited", "1m", "nodeSelector: {kubernetes.io/os: linux}"));
    await world.perform({ type: "Wait", pause: 60_000 });
    expect([seed, own().length, own()[0] === before[0]]).toEqual([seed, 1, false]);
  }
});

describe("a pod that does not fit", () => {
  test("is Failed with the reason, has no containers, and keeps the time when it was refused", async () => {
    using node = await Node.started();
    await node.write("big.yaml", manifest("big", "100000"));
    expect(node.pod("big")).toMatchObject({
      source: "file",
      status: {
        phase: "Failed",
        reason: "OutOfcpu",
        containerStatuses: [],
      },
    });
    expect(node.pod("big")?.status.message).toStartWith(
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 100000000, ",
    );
    const startTime = node.pod("big")?.status.startTime;
    expect(startTime).toBeString();
    await node.write("other.yaml", manifest("other", "1m"));
    await node.wait(60_000);
    expect(node.shown("other")).toEqual(["Running", undefined]);
    expect(node.pod("big")?.status.startTime).toBe(startTime);
  });

  test("is listed by the local API, and cannot be deleted there", async () => {
    using node = await Node.started();
    await node.write("big.yaml", manifest("big", "100000"));
    const list = (await (await askLocalApi(node.facts, "/pods")).json()) as object;
    expect(list).toMatchObject({
      items: [{ kind: "Pod", metadata: { name: "big" }, status: { phase: "Failed" } }],
    });
    const call = "DELETE /pods/default/big?gracePeriodSeconds=1";
    const answer = await askLocalApi(node.facts, call);
    expect(answer.status).toBe(409);
  });

  test("is not among the pods of the report, but among what was rejected", async () => {
    using node = await Node.started();
    await node.write("big.yaml", manifest("big", "100000"));
    await node.wait(60_000);
    expect(node.reported().pods).toEqual([]);
    expect(node.reported().rejected).toMatchObject([{ name: "big", code: "OutOfcpu" }]);
  });

  test("runs when it fits, and is gone with its file", async () => {
    using node = await Node.started();
    await node.write("big.yaml", manifest("big", "100000"));
    await node.write("big.yaml", manifest("big", "1m"));
    expect(node.shown("big")).toEqual(["Running", undefined]);
    await node.write("big.yaml", manifest("big", "100000", "nodeSelector: {not: here}"));
    // Its older spec runs on, and is what is shown.
    expect(node.shown("big")).toEqual(["Running", undefined]);
    await node.write("far.yaml", manifest("far", "1m", "nodeSelector: {not: here}"));
    expect(node.shown("far")).toEqual(["Failed", "NodeAffinity"]);
    node.world.machine.manifests.remove("far.yaml", "delete");
    await node.wait(20_000);
    expect(node.pod("far")).toBeUndefined();
  });

  test("is the same after a restart of the agent", async () => {
    using node = await Node.started();
    await node.write("big.yaml", manifest("big", "100000"));
    await node.world.perform({ type: "Kill", acts: 0, pause: 1_000 });
    await node.start();
    expect(node.shown("big")).toEqual(["Failed", "OutOfcpu"]);
  });
});
