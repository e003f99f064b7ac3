// Bugs that seeds of the simulation found, each told as a short story.

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CreateContainerArgs } from "../../src/cri/cri-client.ts";
import { messageOf } from "../../src/lib/errors.ts";
import { aContainer } from "../fakes/a-pod.ts";
import type { FakeRuntimeOptions } from "../fakes/fake-runtime.ts";
import { PodWorld, pod } from "./pod-world.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

describe("a removal", () => {
  test("keeps a container that was just made from being started", async () => {
    using world = new PodWorld({ latencyMs: { createContainer: 200 } });
    await world.start();
    await world.desire([pod("web")]);
    await world.clock.advance(100);
    await world.desire([]);
    await world.clock.advance(5_000);
    expect(world.runtime.callNames()).toContain("createContainer");
    expect(world.runtime.callNames()).not.toContain("startContainer");
    expect(world.runtime.sandboxes.size).toBe(0);
  });

  test("keeps a pod that waits for its turn to be made from being made", async () => {
    using world = new PodWorld({ latencyMs: { runPodSandbox: 1_000 } });
    await world.start();
    const pods = Array.from({ length: 9 }, (_, index) => pod(`web${index}`));
    await world.desire(pods);
    await world.clock.advance(100);
    await world.desire(pods.slice(0, 8));
    await world.clock.advance(5_000);
    const made = world.runtime.calls.filter(({ call }) => call === "runPodSandbox");
    expect(made).toHaveLength(8);
  });

  test("of a name takes the logs of its replaced pod along, whichever ends first", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 3_000 }) });
    await world.start();
    await world.desire([pod("web", "1")]);
    expect(existsSync(join(world.directory, "logs/default_web_web-1"))).toBe(true);
    await world.desire([pod("web", "2")]);
    await world.desire([]);
    await world.clock.advance(10_000);
    expect(world.runtime.sandboxes.size).toBe(0);
    expect(existsSync(join(world.directory, "logs/default_web_web-1"))).toBe(false);
  });
});

test("a removal that cannot be written down when another ends is begun as soon as it can", async () => {
  using world = new PodWorld({ program: () => ({ stopsAfterMs: 3_000 }) });
  await world.start();
  await world.desire([pod("web"), pod("db")]);
  await world.desire([pod("db")]);
  world.diskFull = true;
  const refused = await world.desire([]).then(
    () => "done",
    (error: unknown) => messageOf(error),
  );
  expect(refused).toBe("the disk is full");
  await world.clock.advance(5_000);
  expect(world.running()).toEqual(["db/a/0"]);
  world.diskFull = false;
  await world.clock.advance(15_000);
  expect(world.running()).toEqual([]);
});

test("a name that is taken does not make a container wait as if it had crashed", async () => {
  using world = new PodWorld();
  await world.start();
  await world.desire([pod("web")]);
  const details = 'failed to reserve container name "a_web_default_web-1_1": name is reserved';
  const taken = { type: "fail", code: GrpcCode.UNKNOWN, details } as const;
  world.runtime.faults.order("createContainer", taken, { times: 2 });
  world.runtime.exit(world.ids()[0] ?? "", 1);
  await world.clock.advance(6_000);
  expect(world.running()).toEqual(["web/a/3"]);
});

test("a replaced pod that only the runtime knows goes with its name, logs and all", async () => {
  using world = new PodWorld({ program: () => ({ stopsAfterMs: 3_000 }) });
  await world.start();
  await world.desire([pod("web", "1")]);
  await world.restart();
  await world.desire([pod("web", "2")]);
  await world.desire([]);
  await world.clock.advance(10_000);
  expect(existsSync(join(world.directory, "logs/default_web_web-1"))).toBe(false);
});

test("a pod whose turn comes back while the other is still being made runs in the end", async () => {
  using world = new PodWorld({ latencyMs: { runPodSandbox: 5_000 } });
  await world.start();
  const shadowed = pod("web", "1");
  await world.desire([pod("web", "2")]);
  // Both before anything else happens.
  await Promise.all([world.desire([shadowed]), world.desire([pod("web", "2")])]);
  // The very same object: its source has nothing new to say.
  await world.desire([shadowed]);
  await world.clock.advance(60_000);
  expect(world.runtime.running()[0]?.config.labels["io.kubernetes.pod.uid"]).toBe("web-1");
});

test("a worker of an edit that was taken back does not stay", async () => {
  using world = new PodWorld();
  await world.start();
  const kept = pod("web", "1");
  await world.desire([kept]);
  await world.desire([pod("web", "2", { containers: [aContainer("a", { image: "never:1" })] })]);
  await world.desire([kept]);
  await world.clock.advance(5_000);
  expect(world.pods.workers.all()).toHaveLength(1);
});

describe("a source that has not spoken", () => {
  const fromMqtt = { ...pod("web", "2"), source: "mqtt:node" as const };

  test("keeps its pod although a source below it wants the name", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1")]);
    await world.restart();
    await world.desire([fromMqtt], ["mqtt:node"]);
    await world.clock.advance(300_000);
    expect(world.runtime.running()[0]?.config.labels["io.kubernetes.pod.uid"]).toBe("web-1");
    await world.desire([fromMqtt], ["mqtt:node", "file"]);
    await world.clock.advance(1_000);
    expect(world.runtime.running()[0]?.config.labels["io.kubernetes.pod.uid"]).toBe("web-2");
  });

  test("gives its pod up to a source above it, whatever it would say", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([fromMqtt], ["mqtt:node"]);
    await world.restart();
    await world.desire([pod("web", "1")], ["file"]);
    await world.clock.advance(1_000);
    expect(world.runtime.running()[0]?.config.labels["io.kubernetes.pod.uid"]).toBe("web-1");
  });
});

describe("a call that outlives its deadline", () => {
  test("makes a sandbox of a pod that was replaced meanwhile: it goes", async () => {
    using world = new PodWorld();
    await world.start();
    world.runtime.faults.order("runPodSandbox", { type: "delay", ms: 250_000 });
    await world.desire([pod("web", "1")]);
    await world.desire([pod("web", "2")]);
    await world.clock.advance(600_000);
    const uids = [...world.runtime.sandboxes.values()].map(({ config }) => config.metadata?.uid);
    expect(uids).toEqual(["web-2"]);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("makes a container whose place is taken: it is removed, never started", async () => {
    using world = new PodWorld();
    await world.start();
    world.runtime.faults.order("createContainer", { type: "delay", ms: 250_000 });
    await world.desire([pod("web")]);
    await world.clock.advance(600_000);
    expect(world.running()).toEqual(["web/a/1"]);
    expect(world.runtime.containers.size).toBe(1);
  });
});

test("a container whose start was late is not removed by a plan that is older", async () => {
  using world = new PodWorld();
  await world.start();
  const late = { type: "delay", ms: 130_000 } as const;
  const hang = { type: "hang" } as const;
  world.runtime.faults.order("createContainer", hang);
  world.runtime.faults.order("startContainer", late, { times: 2 });
  await world.desire([pod("web", "1", { containers: [aContainer("a"), aContainer("b")] })]);
  await world.clock.advance(600_000);
  expect(world.running()).toEqual(["web/a/0", "web/b/0"]);
  const made = world.runtime.calls
    .filter(({ call }) => call === "createContainer")
    .map(({ args }) => (args[0] as CreateContainerArgs).config.metadata?.name);
  expect(made.filter((name) => name === "b")).toEqual(["b"]);
});

test("an old record that cannot be removed is removed later, though nothing else happens", async () => {
  using world = new PodWorld();
  await world.start();
  await world.desire([pod("web")]);
  world.runtime.exit(world.ids()[0] ?? "", 1);
  await world.clock.advance(1_000);
  const failure = { type: "fail", code: GrpcCode.UNKNOWN, details: "ttrpc: closed" } as const;
  world.runtime.faults.order("removeContainer", failure);
  world.runtime.exit(world.ids()[0] ?? "", 1);
  await world.clock.advance(15_000);
  expect(world.running()).toEqual(["web/a/2"]);
  expect(world.runtime.containers.size).toBe(3);
  await world.clock.advance(120_000);
  expect(world.runtime.containers.size).toBe(2);
});

test("what a list that breaks off half way has shown is acted on", async () => {
  using world = new PodWorld();
  await world.start();
  await world.desire([pod("web"), pod("db")]);
  world.runtime.events.muted = true;
  const [first, second] = world.ids();
  world.runtime.exit(first ?? "", 1);
  world.runtime.exit(second ?? "", 1);
  const failure = {
    type: "fail",
    code: GrpcCode.UNAVAILABLE,
    details: "connection reset",
  } as const;
  world.runtime.faults.order("containerStatus", failure, { when: ([id]) => id === second });
  await world.clock.advance(200_000);
  expect(world.running()).toEqual(["db/a/1", "web/a/1"]);
});

test("a Never pod whose sandbox died keeps no container that was never started", async () => {
  using world = new PodWorld({ program: () => ({ exitsAfterMs: 100 }) });
  await world.start();
  const containers = [aContainer("a"), aContainer("b")];
  world.runtime.faults.order(
    "startContainer",
    { type: "hang" },
    { when: ([id]) => id === "container3" },
  );
  await world.desire([pod("job", "1", { restartPolicy: "Never", containers })]);
  await world.clock.advance(1_000);
  world.runtime.killSandbox("sandbox1");
  await world.restart();
  await world.desire([pod("job", "1", { restartPolicy: "Never", containers })]);
  await world.clock.advance(300_000);
  const names = [...world.runtime.containers.values()].map(({ config }) => config.metadata?.name);
  expect(names).toEqual(["a"]);
});

test("a container that the runtime has lost and that starts again has not failed", async () => {
  using world = new PodWorld();
  await world.start();
  const rule = { action: "Restart", exitCodes: { operator: "In", values: [42] } } as const;
  const own = aContainer("a", { restartPolicy: "Never", restartPolicyRules: [rule] });
  await world.desire([pod("web", "1", { containers: [own] })]);
  world.runtime.lose(world.ids()[0] ?? "");
  await world.clock.advance(70_000);
  expect(world.running()).toEqual(["web/a/1"]);
  expect(world.pods.statuses.get("web-1")?.status.phase).toBe("Running");
});

test("a pod that waits for another after a reboot waits on when a successor is named", async () => {
  using world = new PodWorld();
  await world.start();
  const web = pod("web", "1");
  const { metadata } = web.pod;
  const annotations = { ...metadata.annotations, "agent/depends-on": "default/db:Running" };
  const dependent = { ...web, pod: { ...web.pod, metadata: { ...metadata, annotations } } };
  await world.desire([pod("db"), dependent]);
  await world.clock.advance(1_000);
  expect(world.running()).toEqual(["db/a/0", "web/a/0"]);
  world.runtime.reboot();
  await world.restart();
  await world.desire([dependent], []);
  await world.desire(
    [pod("web", "2", { containers: [aContainer("a", { image: "never:1" })] })],
    [],
  );
  await world.clock.advance(5_000);
  expect(world.running()).toEqual([]);
});

test("sidecars end soon though two exits follow each other faster than the runtime records them", async () => {
  const program: FakeRuntimeOptions["program"] = ({ config }) => {
    const name = config.metadata?.name;
    if (name === "sidecar") return {};
    return { exitsAfterMs: name === "app" ? 1_000 : 0 };
  };
  using world = new PodWorld({ program, statusLagMs: 900 });
  await world.start();
  const initContainers = [aContainer("init"), aContainer("sidecar", { restartPolicy: "Always" })];
  const containers = [aContainer("app")];
  await world.desire([pod("web", "1", { restartPolicy: "Never", initContainers, containers })]);
  await world.clock.advance(6_000);
  expect(world.running()).toEqual([]);
  expect(world.pods.statuses.get("web-1")?.status.phase).toBe("Succeeded");
});
