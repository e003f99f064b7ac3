import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aContainer } from "../fakes/a-pod.ts";
import { IMAGE, PodWorld, pod } from "./pod-world.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

describe("a pod", () => {
  test("starts when it is desired and ends when its source drops it", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    expect(world.running()).toEqual(["web/a/0"]);
    await world.desire([]);
    expect(world.running()).toEqual([]);
    expect(world.runtime.sandboxes.size).toBe(0);
    expect(world.pods.workers.entries()).toEqual([]);
  });

  test("is stopped gracefully, within its own grace period", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: Number.POSITIVE_INFINITY }) });
    await world.start();
    await world.desire([pod("web", "1", { terminationGracePeriodSeconds: 7 })]);
    await world.desire([]);
    await world.clock.advance(6_900);
    expect(world.running()).toEqual(["web/a/0"]);
    await world.clock.advance(200);
    expect(world.running()).toEqual([]);
  });

  test("never runs beside its successor, and its successor's images are pulled first", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 3_000 }) });
    await world.start();
    await world.desire([pod("web", "1")]);
    const next = pod("web", "2", { containers: [aContainer("a", { image: "later:1" })] });
    await world.desire([next]);
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.pods.workers.entries()).toMatchObject([
      { desired: { uid: "web-1" }, pendingUpdate: { reason: "ErrImagePull" } },
    ]);
    world.images.add("later:1");
    world.runtime.addImage("later:1");
    let both = 0;
    for (let second = 0; second < 120; second += 1) {
      await world.clock.advance(1_000);
      if (world.running().length > 1) both += 1;
    }
    expect(both).toBe(0);
    expect(world.runtime.running()[0]?.config.image?.image).toBe("later:1");
    expect(world.pods.workers.entries()).toMatchObject([{ desired: { uid: "web-2" } }]);
  });

  test("a second edit during the stop converges to the newest", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 5_000 }) });
    await world.start();
    await world.desire([pod("web", "1")]);
    await world.desire([pod("web", "2")]);
    await world.clock.advance(1_000);
    await world.desire([pod("web", "3")]);
    await world.clock.advance(10_000);
    expect(world.pods.workers.entries()).toMatchObject([{ desired: { uid: "web-3" } }]);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.runtime.calls.filter(({ call }) => call === "runPodSandbox")).toHaveLength(2);
  });

  test("an edit that is taken back before the new images are here changes nothing", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1")]);
    const before = world.ids();
    await world.desire([pod("web", "2", { containers: [aContainer("a", { image: "never:1" })] })]);
    await world.clock.advance(5_000);
    await world.desire([pod("web", "1")]);
    await world.clock.advance(120_000);
    expect(world.ids()).toEqual(before);
    expect(world.pods.workers.entries()).toMatchObject([{ desired: { uid: "web-1" } }]);
    expect(world.pods.workers.entries()[0]?.pendingUpdate).toBeUndefined();
  });

  test("removed and added again at once runs again, from nothing", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 2_000 }) });
    await world.start();
    await world.desire([pod("web")]);
    const [before] = world.ids();
    await world.desire([]);
    await world.desire([pod("web")]);
    await world.clock.advance(10_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.ids()).not.toEqual([before ?? ""]);
  });

  test("a Never pod that is removed and added again runs exactly once more", async () => {
    using world = new PodWorld({ program: () => ({ exitsAfterMs: 100 }) });
    await world.start();
    await world.desire([pod("job", "1", { restartPolicy: "Never" })]);
    await world.clock.advance(200_000);
    await world.desire([]);
    await world.desire([pod("job", "1", { restartPolicy: "Never" })]);
    await world.clock.advance(200_000);
    expect(world.runtime.calls.filter(({ call }) => call === "startContainer")).toHaveLength(2);
  });

  test("crashes are restarted at once, then after 10 s, 20 s, 40 s", async () => {
    using world = new PodWorld({ program: () => ({ exitsAfterMs: 1_000, exitCode: 1 }) });
    await world.start();
    const desiredAt = world.clock.monotonic();
    await world.desire([pod("web")]);
    await world.clock.advance(120_000);
    const starts = world.runtime.calls
      .filter(({ call }) => call === "startContainer")
      .map(({ at }) => Math.round((at - desiredAt) / 1_000));
    expect(starts).toEqual([0, 1, 12, 33, 74]);
    const entry = world.pods.statuses.get("web-1");
    expect(entry?.status.containerStatuses[0]).toMatchObject({
      restartCount: 4,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 1, reason: "Error" } },
    });
  });

  test("without a network a pod waits with NetworkNotReady, one on the host's network runs", async () => {
    using world = new PodWorld({ networkReady: false });
    await world.start();
    await world.desire([pod("net"), pod("host", "1", { hostNetwork: true })]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["host/a/0"]);
    expect(world.pods.statuses.get("net-1")?.status.containerStatuses[0]?.state).toMatchObject({
      waiting: { reason: "NetworkNotReady" },
    });
    world.runtime.networkReady = true;
    await world.clock.advance(40_000);
    expect(world.running()).toEqual(["host/a/0", "net/a/0"]);
  });

  test("asks for nothing before its sandbox, and for its address when its container is being made", async () => {
    using world = new PodWorld();
    await world.start();
    const before = world.runtime.calls.length;
    await world.desire([pod("web")]);
    await world.clock.advance(5_000);
    const names = world.runtime.callNames().slice(before);
    const [first] = names;
    expect(first).toBe("runPodSandbox");
    const between = names.slice(names.indexOf("createContainer"), names.indexOf("startContainer"));
    expect(between).toEqual(["createContainer", "podSandboxStatus"]);
  });

  test("makes no call and writes nothing when nothing happens, but for the slow relist", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web"), pod("db")]);
    await world.clock.advance(5_000);
    const before = world.runtime.calls.length;
    await world.clock.advance(600_000);
    const names = world.runtime.callNames().slice(before);
    expect(new Set(names)).toEqual(new Set(["listPodSandbox", "listContainers"]));
    expect(names.length).toBeLessThanOrEqual(24);
  });
});

describe("an agent that comes back", () => {
  test("restarts nothing", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web"), pod("db")]);
    const before = world.ids();
    for (let round = 0; round < 3; round += 1) {
      await world.restart();
      await world.desire([pod("web"), pod("db")]);
      await world.clock.advance(90_000);
    }
    expect(world.ids()).toEqual(before);
  });

  test("stops nothing of a source that has not spoken", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    await world.restart();
    await world.desire([], ["mqtt:node"]);
    await world.clock.advance(200_000);
    expect(world.running()).toEqual(["web/a/0"]);
    await world.desire([], ["file"]);
    expect(world.running()).toEqual([]);
  });

  test("replaces a pod that was edited while it was down, never both", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 2_000 }) });
    await world.start();
    await world.desire([pod("web", "1")]);
    await world.restart();
    await world.desire([pod("web", "2")]);
    for (let step = 0; step < 50; step += 1) {
      await world.clock.advance(100);
      expect(world.running().length).toBeLessThanOrEqual(1);
    }
    const [running] = world.runtime.running();
    expect(running?.config.labels["io.kubernetes.pod.uid"]).toBe("web-2");
  });

  test("finishes a removal that was under way before the same pod lives again", async () => {
    using world = new PodWorld({
      program: () => ({ exitsAfterMs: 50, stopsAfterMs: 1_000 }),
    });
    await world.start();
    const job = pod("job", "1", { restartPolicy: "Never" });
    await world.desire([job]);
    await world.clock.advance(100);
    // The stop hangs: the row is written, nothing else has happened when the power goes.
    world.runtime.faults.order("stopPodSandbox", { type: "hang" });
    await world.desire([]);
    await world.restart();
    await world.desire([job]);
    await world.clock.advance(60_000);
    expect(world.runtime.calls.filter(({ call }) => call === "startContainer")).toHaveLength(2);
  });

  test("does not run a finished pod again, also after a reboot", async () => {
    using world = new PodWorld({ program: () => ({ exitsAfterMs: 50 }) });
    await world.start();
    const job = pod("job", "1", { restartPolicy: "Never" });
    await world.desire([job]);
    await world.clock.advance(1_000);
    expect(world.pods.statuses.get("job-1")?.status.phase).toBe("Succeeded");
    await world.kill();
    world.runtime.reboot();
    await world.start();
    await world.desire([job]);
    await world.clock.advance(400_000);
    expect(world.runtime.calls.filter(({ call }) => call === "startContainer")).toHaveLength(1);
    expect(world.pods.statuses.get("job-1")?.status.phase).toBe("Succeeded");
  });

  test("starts every pod anew after a reboot, each once", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web"), pod("db")]);
    await world.kill();
    world.runtime.reboot();
    await world.start();
    await world.desire([pod("web"), pod("db")]);
    await world.clock.advance(90_000);
    expect(world.running()).toEqual(["db/a/1", "web/a/1"]);
  });
});

describe("the start time of a pod", () => {
  const startTime = (world: PodWorld) => world.pods.statuses.get("web-1")?.status.startTime;

  test("is the same after restarts of the agent and reboots, also when a record of it is gone", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    const first = startTime(world);
    expect(first).toBeString();
    for (const _ of [1, 2]) {
      await world.clock.advance(3_600_000);
      await world.restart();
      await world.desire([pod("web")]);
      expect(startTime(world)).toBe(first);
      await world.kill();
      world.runtime.reboot();
      await world.start();
      await world.desire([pod("web")]);
      await world.clock.advance(90_000);
      expect(startTime(world)).toBe(first);
    }
    expect(world.running()).toEqual(["web/a/2"]);
  });

  test("is a new one when the pod is removed and added again", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    const first = startTime(world);
    await world.clock.advance(3_600_000);
    await world.desire([]);
    await world.clock.advance(5_000);
    await world.desire([pod("web")]);
    await world.clock.advance(5_000);
    expect(startTime(world)).toBeString();
    expect(startTime(world)).not.toBe(first);
  });
});

describe("a runtime that misbehaves", () => {
  test("a sandbox that was made without an answer is used, not made twice", async () => {
    using world = new PodWorld();
    await world.start();
    const lost = { type: "fail", code: GrpcCode.UNAVAILABLE, details: "gone", effect: "happens" };
    world.runtime.faults.order("runPodSandbox", lost as never);
    await world.desire([pod("web")]);
    await world.clock.advance(30_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.runtime.sandboxes.size).toBe(1);
  });

  test("a container that was made without an answer gives its number back", async () => {
    using world = new PodWorld();
    await world.start();
    const lost = { type: "fail", code: GrpcCode.UNAVAILABLE, details: "gone", effect: "happens" };
    world.runtime.faults.order("createContainer", lost as never);
    await world.desire([pod("web")]);
    await world.clock.advance(30_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(world.runtime.containers.size).toBe(1);
  });

  test("a name that stays reserved costs an attempt, not the pod", async () => {
    using world = new PodWorld();
    await world.start();
    const details = 'failed to reserve sandbox name "web_default_web-1_0": name is reserved';
    world.runtime.faults.order("runPodSandbox", { type: "fail", code: GrpcCode.UNKNOWN, details });
    await world.desire([pod("web")]);
    await world.clock.advance(30_000);
    expect(world.running()).toEqual(["web/a/0"]);
    const [sandbox] = world.runtime.sandboxes.values();
    expect(sandbox?.config.metadata?.attempt).toBe(1);
  });

  test("a status that lags its exit is not believed", async () => {
    using world = new PodWorld({ statusLagMs: 300 });
    await world.start();
    await world.desire([pod("web")]);
    const [id] = world.ids();
    world.runtime.exit(id ?? "", 1);
    await world.clock.advance(2_000);
    expect(world.running()).toEqual(["web/a/1"]);
  });

  test("a status that lags an exit without a code is waited for", async () => {
    using world = new PodWorld({ statusLagMs: 300, tellsExits: false });
    await world.start();
    await world.desire([pod("web")]);
    const [id] = world.ids();
    world.runtime.exit(id ?? "", 1);
    await world.clock.advance(200);
    expect(world.pods.statuses.status("web-1")?.containerStatuses[0]?.restartCount).toBe(0);
    await world.clock.advance(2_000);
    expect(world.running()).toEqual(["web/a/1"]);
  });

  test("a restart does not wait for the runtime's own record of the exit", async () => {
    using world = new PodWorld({ statusLagMs: 300 });
    await world.start();
    await world.desire([pod("web")]);
    const [id] = world.ids();
    world.runtime.exit(id ?? "", 1);
    await world.clock.settle();
    expect(world.pods.statuses.status("web-1")?.containerStatuses[0]?.restartCount).toBe(1);
  });

  test("an exit that no event told of is found by the relist", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    world.runtime.events.end();
    const [id] = world.ids();
    world.runtime.exit(id ?? "", 1);
    await world.clock.advance(70_000);
    expect(world.running()).toEqual(["web/a/1"]);
  });

  test("a runtime that is away for ten minutes loses no pod and gets none twice", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    const before = world.ids();
    world.runtime.stop();
    await world.desire([pod("web"), pod("db")]);
    await world.clock.advance(600_000);
    world.runtime.start();
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["db/a/0", "web/a/0"]);
    expect(world.ids()).toContain(before[0] ?? "");
  });

  test("a container that was never started is taken away before its sandbox is stopped", async () => {
    using world = new PodWorld();
    await world.start();
    world.runtime.faults.order("startContainer", { type: "hang" });
    await world.desire([pod("web")]);
    await world.restart();
    const before = world.runtime.calls.length;
    await world.desire([]);
    await world.clock.advance(5_000);
    const names = world.runtime.callNames().slice(before);
    expect(names.indexOf("removeContainer")).toBeGreaterThanOrEqual(0);
    expect(names.indexOf("removeContainer")).toBeLessThan(names.indexOf("stopPodSandbox"));
  });

  test("a stop that fails is tried again until the pod is gone", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web")]);
    world.runtime.faults.order(
      "stopContainer",
      { type: "fail", code: GrpcCode.UNKNOWN, details: "ttrpc: closed" },
      { times: 3 },
    );
    await world.desire([]);
    await world.clock.advance(60_000);
    expect(world.runtime.sandboxes.size).toBe(0);
  });

  test("a successor waits for a sandbox that cannot be stopped, but not for ever", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1")]);
    world.runtime.faults.order(
      "stopPodSandbox",
      { type: "fail", code: GrpcCode.UNKNOWN, details: "cni: cannot delete" },
      { times: Number.POSITIVE_INFINITY },
    );
    await world.desire([pod("web", "2")]);
    await world.clock.advance(50_000);
    expect(world.running()).toEqual([]);
    await world.clock.advance(60_000);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("somebody else's pods are never touched", async () => {
    using world = new PodWorld();
    const id = await world.runtime.runPodSandbox({
      config: { metadata: { name: "x", namespace: "default", uid: "u", attempt: 0 } },
    });
    await world.start();
    await world.desire([]);
    await world.clock.advance(400_000);
    expect([...world.runtime.sandboxes.keys()]).toEqual([id]);
  });
});

describe("what stays behind", () => {
  const logs = (world: PodWorld, uid: string) =>
    join(world.directory, "logs", `default_web_${uid}`);
  const write = (world: PodWorld, uid: string, file: string) => {
    mkdirSync(join(logs(world, uid), "a"), { recursive: true });
    writeFileSync(join(logs(world, uid), "a", file), "line\n");
  };

  test("logs of a replaced pod stay until the next replacement", async () => {
    using world = new PodWorld();
    await world.start();
    for (const version of ["1", "2", "3"]) {
      await world.desire([pod("web", version)]);
      write(world, `web-${version}`, "0.log");
      await world.clock.advance(1_000);
    }
    expect(existsSync(logs(world, "web-1"))).toBe(false);
    expect(existsSync(join(logs(world, "web-2"), ".replaced.json"))).toBe(true);
    expect(existsSync(join(logs(world, "web-3"), "a", "0.log"))).toBe(true);
    await world.desire([]);
    await world.clock.advance(1_000);
    expect(existsSync(logs(world, "web-2"))).toBe(false);
    expect(existsSync(logs(world, "web-3"))).toBe(false);
  });

  test("logs of an earlier life do not count for the next", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([pod("web", "1")]);
    write(world, "web-1", "4.log");
    await world.desire([pod("web", "2")]);
    await world.clock.advance(1_000);
    await world.desire([pod("web", "1")]);
    await world.clock.advance(1_000);
    expect(world.running()).toEqual(["web/a/0"]);
  });

  test("a container that the runtime forgot continues the count of its logs", async () => {
    using world = new PodWorld();
    write(world, "web-1", "4.log");
    await world.start();
    await world.desire([pod("web", "1")]);
    expect(world.running()).toEqual(["web/a/5"]);
    expect(IMAGE).toBe("local/busybox:1");
  });
});
