import { describe, expect, test } from "bun:test";

import { AgentError } from "../../../src/lib/errors.ts";
import { aContainer, anInstance, anObservedPod, aPod, aSandbox, UID } from "../../fakes/a-pod.ts";
import { aProbedPod, ProbeWorld, probesOf, running } from "./probe-world.ts";

const REFUSED = { type: "Refused" } as const;
const UP = { type: "Up" } as const;

describe("a new instance", () => {
  test("is asked exactly after its initial delay, and then at a fixed rate", async () => {
    const world = await ProbeWorld.make();
    const since = world.clock.monotonic();
    world.see(aProbedPod({ readiness: { initialDelaySeconds: 5 } }), [running()]);
    expect(world.said("a-0")).toBe("readiness=Failure");
    await world.clock.advance(26_000);
    expect(world.asked("readiness", since)).toEqual([5, 15, 25]);
    expect(world.said("a-0")).toBe("readiness=Success");
    expect(world.changes).toEqual([UID]);
  });

  test("is known by its initial verdicts before the first answer", async () => {
    const world = await ProbeWorld.make();
    world.see(aProbedPod({ liveness: {}, readiness: {}, startup: {} }), [running()]);
    expect(world.said("a-0")).toBe("liveness=Success readiness=Failure startup=Unknown");
    expect(world.changes).toEqual([]);
  });

  test("shares nothing with the one before", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: { failureThreshold: 2 }, readiness: {} });
    world.behave("liveness", REFUSED);
    world.see(pod, [running(0)]);
    await world.clock.advance(1000);
    world.see(pod, [anInstance("a", { state: "Exited" }), running(1)]);
    expect(world.said("a-0")).toBe("");
    expect(world.said("a-1")).toBe("liveness=Success readiness=Failure");
    // One failure of each: together they would be two.
    await world.clock.advance(1000);
    expect(world.said("a-1")).toBe("liveness=Success readiness=Success");
  });

  test("is the one with the highest attempt, and only while it runs", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ readiness: {} });
    world.see(pod, [running(0), anInstance("a", { attempt: 1, state: "Created" })]);
    expect(world.manager.verdicts(UID)).toEqual({});
    world.see(pod, [running(0), running(1)]);
    expect(Object.keys(world.manager.verdicts(UID))).toEqual(["a-1"]);
    world.see(pod, [anInstance("a", { attempt: 1, state: "Exited" })]);
    expect(world.manager.verdicts(UID)).toEqual({});
    await world.clock.advance(60_000);
    expect(world.edge.asked).toEqual([]);
    expect(world.clock.pending).toBeLessThanOrEqual(1);
  });

  test("of a sidecar is asked, of a plain init container is not", async () => {
    const world = await ProbeWorld.make();
    const probes = probesOf({ readiness: {} });
    const pod = aPod({
      initContainers: [
        aContainer("setup", probes),
        aContainer("proxy", { ...probes, restartPolicy: "Always" }),
      ],
    });
    world.behave("readiness", REFUSED);
    world.see(pod, [running(0, "setup"), running(0, "proxy"), running(0, "a")]);
    await world.clock.advance(1000);
    expect(Object.keys(world.manager.verdicts(UID))).toEqual(["proxy-0"]);
    expect(world.events).toEqual([
      {
        type: "Warning",
        reason: "Unhealthy",
        object: {
          kind: "Pod",
          namespace: "default",
          name: "web",
          uid: UID,
          fieldPath: "spec.initContainers{proxy}",
        },
        message: "Readiness probe failed: dial tcp 10.88.0.2:3: connect: connection refused",
      },
    ]);
  });
});

describe("thresholds", () => {
  test("hold a liveness failure back, and the failed instance is left alone", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: {} });
    world.behave("liveness", REFUSED);
    world.see(pod, [running()]);
    await world.clock.advance(19_000);
    expect(world.said("a-0")).toBe("liveness=Success");
    await world.clock.advance(2000);
    expect(world.said("a-0")).toBe("liveness=Failure");
    expect(world.changes).toEqual([UID]);
    await world.clock.advance(60_000);
    expect(world.edge.asked.length).toBe(3);
    // Only another instance is asked again.
    world.see(pod, [running(1)]);
    await world.clock.advance(1000);
    expect(world.edge.asked.length).toBe(4);
  });

  test("make readiness come and go, and tell of the changes alone", async () => {
    const world = await ProbeWorld.make();
    world.see(aProbedPod({ readiness: { failureThreshold: 1 } }), [running()]);
    const said: string[] = [];
    for (const behaviour of [UP, UP, REFUSED, REFUSED, UP]) {
      world.behave("readiness", behaviour);
      await world.clock.advance(10_000);
      said.push(world.said("a-0"));
    }
    expect(said.map((word) => word.replace("readiness=", ""))).toEqual([
      "Success",
      "Success",
      "Failure",
      "Failure",
      "Success",
    ]);
    expect(world.changes.length).toBe(3);
  });
});

describe("a startup probe", () => {
  test("holds the others back and lets them go at once when it succeeds", async () => {
    const world = await ProbeWorld.make();
    const since = world.clock.monotonic();
    world.behave("startup", REFUSED);
    const pod = aProbedPod({
      startup: { periodSeconds: 2 },
      liveness: {},
      readiness: { initialDelaySeconds: 8 },
    });
    world.see(pod, [running()]);
    await world.clock.advance(3000);
    world.behave("startup", UP);
    await world.clock.advance(20_000);
    expect(world.asked("startup", since)).toEqual([0, 2, 4]);
    expect(world.asked("liveness", since)).toEqual([4.05, 14]);
    expect(world.asked("readiness", since)).toEqual([8, 18]);
    expect(world.said("a-0")).toBe("liveness=Success readiness=Success startup=Success");
  });

  test("that fails condemns the instance, and nothing else is asked of it", async () => {
    const world = await ProbeWorld.make();
    world.behave("startup", REFUSED);
    const pod = aProbedPod({ startup: { periodSeconds: 1 }, readiness: {} });
    world.see(pod, [running()]);
    await world.clock.advance(60_000);
    expect(world.said("a-0")).toBe("readiness=Failure startup=Failure");
    expect(world.edge.asked.length).toBe(3);
    expect(world.clock.pending).toBe(0);
  });
});

describe("a pod that terminates", () => {
  test("is asked for its readiness alone; liveness and startup are content", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: {}, readiness: { failureThreshold: 1 }, startup: {} });
    world.see(pod, [running()]);
    await world.clock.advance(1000);
    const since = world.clock.monotonic();
    world.edge.asked.length = 0;
    for (const kind of ["liveness", "readiness", "startup"] as const) world.behave(kind, REFUSED);
    world.see(pod, [running()], { terminating: true });
    await world.clock.advance(20_000);
    expect(world.said("a-0")).toBe("liveness=Success readiness=Failure startup=Success");
    expect(world.edge.asked.every(({ to }) => to.endsWith(":3"))).toBe(true);
    expect(world.asked("readiness", since).length).toBe(2);
  });

  test("before it has started counts as started, and an answer under way is dropped", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ startup: { failureThreshold: 1 }, readiness: {} });
    world.behave("startup", { ...REFUSED, afterMs: 500 });
    world.see(pod, [running()]);
    await world.clock.advance(100);
    expect(world.edge.open).toBe(1);
    world.see(pod, [running()], { terminating: true });
    expect(world.said("a-0")).toBe("readiness=Failure startup=Success");
    await world.clock.advance(1000);
    expect(world.said("a-0")).toBe("readiness=Success startup=Success");
    expect(world.events).toEqual([]);
  });
});

describe("late answers", () => {
  test("about an instance that has been replaced are dropped", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: { failureThreshold: 1 } });
    world.behave("liveness", { ...REFUSED, afterMs: 500 });
    world.see(pod, [running(0)]);
    await world.clock.advance(100);
    world.behave("liveness", UP);
    world.see(pod, [running(1)]);
    await world.clock.advance(1000);
    expect(world.manager.verdicts(UID)).toEqual({ "a-1": { liveness: "Success" } });
    expect(world.events).toEqual([]);
    expect(world.edge.open).toBe(0);
  });

  test("about a forgotten pod are dropped", async () => {
    const world = await ProbeWorld.make();
    world.behave("readiness", { ...UP, afterMs: 500 });
    world.see(aProbedPod({ readiness: {} }), [running()]);
    await world.clock.advance(100);
    world.manager.forget(UID);
    await world.clock.advance(60_000);
    expect(world.changes).toEqual([]);
    expect(world.manager.verdicts(UID)).toEqual({});
    expect(world.clock.pending).toBe(0);
  });

  test("are counted by pod and result, until the pod is forgotten", async () => {
    const world = await ProbeWorld.make();
    world.behave("readiness", UP);
    world.see(aProbedPod({ readiness: {} }), [running()]);
    await world.clock.advance(60_000);
    const counted = (): readonly (readonly [string | undefined, boolean])[] =>
      world.meter
        .families()
        .flatMap(({ samples }) =>
          samples.map(({ labels, value }) => [labels["result"], value > 0] as const),
        );
    expect(counted()).toEqual([["successful", true]]);
    world.manager.forget(UID);
    expect(counted()).toEqual([]);
  });

  test("after the manager's end are dropped, and no timer is left", async () => {
    const world = await ProbeWorld.make();
    world.behave("readiness", { ...UP, afterMs: 500 });
    world.see(aProbedPod({ readiness: {}, liveness: {} }), [running()]);
    await world.clock.advance(100);
    world.manager[Symbol.dispose]();
    await world.clock.settle();
    expect(world.clock.pending).toBe(0);
    expect(world.edge.open).toBe(0);
    expect(world.changes).toEqual([]);
  });
});

describe("a hostile network", () => {
  test("that is silent costs a time-out and delays nobody else", async () => {
    const world = await ProbeWorld.make();
    const since = world.clock.monotonic();
    world.behave("liveness", { type: "Silent" });
    const pod = aProbedPod({
      liveness: { periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 2 },
      readiness: { periodSeconds: 1 },
    });
    world.see(pod, [running()]);
    await world.clock.advance(5900);
    // Never two at once: the next begins when the one before has ended.
    expect(world.asked("liveness", since)).toEqual([0, 3]);
    expect(world.asked("readiness", since).length).toBe(6);
    await world.clock.advance(200);
    expect(world.said("a-0")).toBe("liveness=Failure readiness=Success");
  });

  test("that never ends a question is given up, and nothing is concluded", async () => {
    const world = await ProbeWorld.make();
    world.behave("liveness", { type: "Stuck" });
    world.see(aProbedPod({ liveness: { failureThreshold: 1 } }), [running()]);
    await world.clock.advance(32_000);
    expect(world.edge.asked.length).toBe(2);
    expect(world.said("a-0")).toBe("liveness=Success");
    expect(world.messages()).toEqual([
      "Unhealthy: Liveness probe errored and resulted in unknown state: the probe did not end",
    ]);
    world.behave("liveness", UP);
    await world.clock.advance(40_000);
    expect(world.said("a-0")).toBe("liveness=Success");
    expect(world.events.length).toBe(2);
  });

  test("whose edge breaks is asked three times, and nothing is concluded", async () => {
    const world = await ProbeWorld.make();
    const error = new Error("out of sockets");
    world.behave("liveness", { type: "Throws", error });
    world.see(aProbedPod({ liveness: { failureThreshold: 1 } }), [running()]);
    await world.clock.advance(1000);
    expect(world.edge.asked.length).toBe(3);
    expect(world.said("a-0")).toBe("liveness=Success");
    expect(world.messages()).toEqual([
      "Unhealthy: Liveness probe errored and resulted in unknown state: out of sockets",
    ]);
  });
});

describe("an http probe", () => {
  const http = (path: string) =>
    ({ type: "httpGet", path, port: 3, scheme: "HTTP", httpHeaders: [] }) as const;

  test("follows redirects on one host within one time-out", async () => {
    const world = await ProbeWorld.make();
    world.edge.otherwise((asked) =>
      asked.type === "Http" && asked.request.path !== "/end"
        ? {
            type: "Http",
            answer: { status: 302, location: asked.request.path === "/" ? "/x" : "/end" },
            afterMs: 400,
          }
        : UP,
    );
    world.see(aProbedPod({ readiness: { handler: http("/") } }), [running()]);
    await world.clock.advance(2000);
    expect(world.said("a-0")).toBe("readiness=Success");
    expect(world.edge.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([1000, 600, 200]);
  });

  test("ends a loop of redirects", async () => {
    const world = await ProbeWorld.make();
    world.behave("readiness", { type: "Http", answer: { status: 302, location: "/" } });
    world.see(aProbedPod({ readiness: { handler: http("/") } }), [running()]);
    await world.clock.advance(1000);
    expect(world.edge.asked.length).toBe(10);
    expect(world.messages()).toEqual([
      'Unhealthy: Readiness probe failed: Get "http://10.88.0.2:3/": stopped after 10 redirects',
    ]);
  });

  test("takes a redirect to another host for a success, and warns", async () => {
    const world = await ProbeWorld.make();
    const answer = { status: 301, location: "http://other/", body: "moved" };
    world.behave("readiness", { type: "Http", answer });
    world.see(aProbedPod({ readiness: { handler: http("/") } }), [running()]);
    await world.clock.advance(1000);
    expect(world.said("a-0")).toBe("readiness=Success");
    expect(world.messages()).toEqual([
      "ProbeWarning: Readiness probe warning: Probe terminated redirects, Response body: moved",
    ]);
  });

  test("says what it asked when nobody answers", async () => {
    const world = await ProbeWorld.make();
    world.behave("readiness", REFUSED);
    world.see(aProbedPod({ readiness: { handler: http("/a") } }), [running()]);
    await world.clock.advance(1000);
    expect(world.messages()).toEqual([
      'Unhealthy: Readiness probe failed: Get "http://10.88.0.2:3/a": dial tcp 10.88.0.2:3: connect: connection refused',
    ]);
  });

  test("for a port that the container does not have concludes nothing", async () => {
    const world = await ProbeWorld.make();
    const handler = { ...http("/"), port: "web" };
    world.see(aProbedPod({ liveness: { handler, failureThreshold: 1 } }), [running()]);
    await world.clock.advance(1000);
    expect(world.said("a-0")).toBe("liveness=Success");
    expect(world.messages()).toEqual([
      'Unhealthy: Liveness probe errored and resulted in unknown state: the container has no port with the name "web"',
    ]);
  });
});

test.each([
  ["SERVING", undefined],
  ["NOT_SERVING", 'service unhealthy (responded with "NOT_SERVING")'],
  [
    "UNIMPLEMENTED",
    "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)",
  ],
  [
    "NOT_FOUND",
    "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
  ],
] as const)("a grpc probe that hears %s", async (health, message) => {
  const world = await ProbeWorld.make();
  world.behave("readiness", { type: "Grpc", health });
  const handler = { type: "grpc", port: 3, service: "s" } as const;
  world.see(aProbedPod({ readiness: { handler } }), [running()]);
  await world.clock.advance(1000);
  expect(world.edge.asked[0]).toMatchObject({ address: { host: "10.88.0.2", service: "s" } });
  expect(world.messages()).toEqual(
    message === undefined ? [] : [`Unhealthy: Readiness probe failed: ${message}`],
  );
});

describe("an exec probe", () => {
  const handler = { type: "exec", command: ["sh", "-c", "check"] } as const;
  const probed = aProbedPod({ liveness: { handler, failureThreshold: 1, timeoutSeconds: 2 } });

  test("asks in the container itself, with its time-out", async () => {
    const asked: unknown[] = [];
    const world = await ProbeWorld.make({
      exec: (id, command, { timeoutSeconds }) => {
        asked.push([id, command, timeoutSeconds]);
        return Promise.resolve({ exitCode: 0, output: "fine" });
      },
    });
    world.see(probed, [running()]);
    await world.clock.advance(1000);
    expect(asked).toEqual([["a-0", ["sh", "-c", "check"], 2]]);
    expect(world.said("a-0")).toBe("liveness=Success");
  });

  test("has $(NAME) of variables with a plain value replaced", async () => {
    const asked: (readonly string[])[] = [];
    const world = await ProbeWorld.make({
      exec: (_id, command) => {
        asked.push(command);
        return Promise.resolve({ exitCode: 0, output: "" });
      },
    });
    const command = ["nc", "$(HOST)", "$$(HOST)", "$(OTHER)", "<$(KEY)>"];
    const key = {
      name: "KEY",
      valueFrom: { type: "fieldRef", fieldPath: "metadata.name" },
    } as const;
    const env = [{ name: "HOST", value: "127.0.0.1" }, key] as const;
    const readiness = { handler: { type: "exec", command } } as const;
    world.see(aProbedPod({ readiness }, { env }), [running()]);
    await world.clock.advance(1000);
    expect(asked).toEqual([["nc", "127.0.0.1", "$(HOST)", "$(OTHER)", "<>"]]);
  });

  test("fails with what the command said, cut to 10 KiB", async () => {
    const output = "x".repeat(20_000);
    const world = await ProbeWorld.make({ exec: () => Promise.resolve({ exitCode: 1, output }) });
    world.see(probed, [running()]);
    await world.clock.advance(1000);
    expect(world.said("a-0")).toBe("liveness=Failure");
    expect(world.messages()).toEqual([
      `Unhealthy: Liveness probe failed: ${"x".repeat(10 * 1024)}`,
    ]);
  });

  const rejects = async (reason: string, afterMs: number): Promise<ProbeWorld> => {
    const world: ProbeWorld = await ProbeWorld.make({
      exec: async () => {
        await world.clock.sleep(afterMs);
        throw new AgentError({ reason, message: "ExecSync: no" });
      },
    });
    world.see(probed, [running()]);
    await world.clock.advance(30_000);
    return world;
  };

  test.each(["Timeout", "DeadlineExceeded"])("fails with %s at its time", async (reason) => {
    const world = await rejects(reason, 2100);
    expect(world.said("a-0")).toBe("liveness=Failure");
    expect(world.messages()).toEqual([
      'Unhealthy: Liveness probe failed: command timed out: "sh -c check" timed out after 2s',
    ]);
  });

  test("fails when the command writes more than the agent reads", async () => {
    const world = await rejects("ResourceExhausted", 0);
    expect(world.said("a-0")).toBe("liveness=Failure");
    expect(world.messages()).toEqual([
      "Unhealthy: Liveness probe failed: the command wrote more than 1 MiB of output; make it write less",
    ]);
  });

  test("concludes nothing from a runtime that does not answer", async () => {
    for (const [reason, afterMs] of [
      ["Unavailable", 0],
      ["DeadlineExceeded", 9000],
    ] as const) {
      const world = await rejects(reason, afterMs);
      expect(world.said("a-0")).toBe("liveness=Success");
      expect(world.messages()[0]).toBe(
        "Unhealthy: Liveness probe errored and resulted in unknown state: ExecSync: no",
      );
    }
  });
});

describe("the address", () => {
  const probed = aProbedPod({ readiness: {} });
  const askedHost = async (world: ProbeWorld): Promise<string | undefined> => {
    await world.clock.advance(1000);
    return world.edge.asked[0]?.to;
  };

  test("is that of the sandbox the instance runs in, though a newer one came up late and empty", async () => {
    const sandboxes = [
      aSandbox({ attempt: 0, ips: ["10.88.0.9", "fd00::9"] }),
      aSandbox({ attempt: 1, ips: ["10.88.0.7", "fd00::7"] }),
    ];
    for (const [sandboxId, to] of [
      ["sandbox-0", "10.88.0.9:3"],
      ["sandbox-1", "10.88.0.7:3"],
    ] as const) {
      const world = await ProbeWorld.make();
      const observed = anObservedPod(sandboxes, [{ ...running(), sandboxId }]);
      world.manager.update(probed, observed, { terminating: false });
      expect(await askedHost(world)).toBe(to);
    }
  });

  test("is the node's on the host's network, and the loopback when it has none", async () => {
    for (const [hostIP, to] of [
      ["192.0.2.7", "192.0.2.7:3"],
      [undefined, "127.0.0.1:3"],
    ] as const) {
      const world = await ProbeWorld.make({ hostIP: () => hostIP });
      const pod = aPod({ ...probed.spec, hostNetwork: true });
      world.see(pod, [running()]);
      expect(await askedHost(world)).toBe(to);
    }
  });

  test("that is not known yet condemns nobody", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: { failureThreshold: 1 } });
    const observed = anObservedPod([aSandbox({ ips: [] })], [running()]);
    world.manager.update(pod, observed, { terminating: false });
    await world.clock.advance(30_000);
    expect(world.edge.asked).toEqual([]);
    expect(world.said("a-0")).toBe("liveness=Success");
  });
});

describe("an agent that starts beside running containers", () => {
  test("spreads its first questions, and repeats them at their own rate", async () => {
    const world = await ProbeWorld.make({ age: 0 });
    const since = world.clock.monotonic();
    const uids = Array.from({ length: 20 }, (_, index) => `uid-${index}`);
    for (const uid of uids) {
      const pod = aProbedPod({ readiness: {} });
      world.see({ ...pod, metadata: { ...pod.metadata, uid } }, [running()]);
    }
    await world.clock.advance(10_000);
    const first = world.asked("readiness", since);
    expect(first.length).toBe(20);
    expect(new Set(first.map((at) => Math.floor(at))).size).toBeGreaterThan(5);
    await world.clock.advance(10_000);
    expect(world.asked("readiness", since).length).toBe(40);
  });

  test("condemns nothing before its initial delay, whatever the wall clock says", async () => {
    const world = await ProbeWorld.make({ age: 0 });
    const since = world.clock.monotonic();
    for (const kind of ["liveness", "readiness", "startup"] as const) world.behave(kind, REFUSED);
    world.clock.stepWall(10 * 365 * 86_400_000);
    const early = { initialDelaySeconds: 60, periodSeconds: 1, failureThreshold: 1 };
    world.see(aProbedPod({ startup: early, liveness: early }), [running()]);
    await world.clock.advance(59_000);
    // It is asked, as a success would be welcome; a failure is not yet one.
    expect(world.asked("startup", since).length).toBeGreaterThan(50);
    expect(world.said("a-0")).toBe("liveness=Success startup=Unknown");
    expect(world.events).toEqual([]);
    await world.clock.advance(2000);
    expect(world.said("a-0")).toBe("liveness=Success startup=Failure");
  });

  test("takes what appears later for new, even in its first seconds", async () => {
    const world = await ProbeWorld.make({ age: 0 });
    const since = world.clock.monotonic();
    const pod = aProbedPod({ readiness: { initialDelaySeconds: 2 } });
    world.manager.update(pod, undefined, { terminating: false });
    world.see(pod, [running()]);
    await world.clock.advance(3000);
    expect(world.asked("readiness", since)).toEqual([2]);
  });
});

describe("verdicts", () => {
  test("are the same object as long as none changes", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ liveness: {}, readiness: {} });
    world.see(pod, [running()]);
    const before = world.manager.verdicts(UID);
    world.see(pod, [running()]);
    expect(world.manager.verdicts(UID)).toBe(before);
    await world.clock.advance(1000);
    const ready = world.manager.verdicts(UID);
    expect(ready).not.toBe(before);
    await world.clock.advance(60_000);
    expect(world.manager.verdicts(UID)).toBe(ready);
    expect(world.manager.verdicts("other")).toEqual({});
  });

  test("and their announcements may lead to updates from within", async () => {
    const world = await ProbeWorld.make();
    const pod = aProbedPod({ readiness: {}, liveness: {} });
    let forgotten = false;
    world.changes.push = (): number => {
      world.manager.forget(UID);
      forgotten = true;
      return 0;
    };
    world.see(pod, [running()]);
    await world.clock.advance(60_000);
    expect(forgotten).toBe(true);
    expect(world.manager.verdicts(UID)).toEqual({});
    expect(world.clock.pending).toBe(0);
  });
});

test("a pod without probes costs nothing", async () => {
  const world = await ProbeWorld.make();
  world.see(aPod(), [running()]);
  await world.clock.advance(60_000);
  expect(world.clock.pending).toBe(0);
  expect(world.manager.verdicts(UID)).toEqual({});
});

test("times of many years do not come early", async () => {
  const world = await ProbeWorld.make();
  const years = 2 ** 31 - 1;
  const pod = aProbedPod({
    liveness: { initialDelaySeconds: years },
    readiness: { periodSeconds: years, timeoutSeconds: years },
  });
  world.behave("readiness", { type: "Silent" });
  world.see(pod, [running()]);
  await world.clock.advance(2 * 3_600_000);
  expect(world.edge.asked.length).toBe(1);
  expect(world.edge.asked[0]?.timeoutMs).toBe(years * 1000);
});
