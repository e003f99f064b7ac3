import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../src/api/v1/pod-spec.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import { GracePeriod } from "../../../src/runtime/grace-period.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { KillWorld, outcome, type KillWorldOptions } from "./kill-world.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";

const DAY_S = 86_400;
const STUBBORN = { stopsAfterMs: Number.POSITIVE_INFINITY };
const exec = { type: "exec", command: ["bye"] } as const;
const sidecar = { restartPolicy: "Always" } as const;
const web = aContainer("web");

/** web beside two sidecars: proxy starts first. */
const threeOf = (more: Partial<PodSpec> = {}): Pod =>
  aPod({
    initContainers: [aContainer("proxy", sidecar), aContainer("logs", sidecar)],
    containers: [web],
    ...more,
  });

const withHook = (spec: Partial<PodSpec> = {}): Pod =>
  aPod({ containers: [aContainer("web", { lifecycle: { preStop: exec } })], ...spec });

interface Ending extends KillWorldOptions {
  readonly pod: Pod;
  /** Whether the spec is still known at the end; default true. */
  readonly known?: boolean;
  readonly grace?: number;
  /** Virtual seconds for which the end is watched; default 200. */
  readonly forSeconds?: number;
  readonly before?: (world: KillWorld) => void;
  readonly meanwhile?: (grace: GracePeriod, world: KillWorld) => Promise<void>;
}

async function end(ending: Ending): Promise<{ world: KillWorld; result: unknown }> {
  const world = await KillWorld.of(ending.pod, ending);
  const grace = new GracePeriod(ending.grace);
  ending.before?.(world);
  const pod = ending.known === false ? undefined : ending.pod;
  const result = outcome(world.killer().stopPod(await world.look(), { pod, grace }));
  await ending.meanwhile?.(grace, world);
  await world.clock.advance((ending.forSeconds ?? 200) * 1000);
  return { world, result: await Promise.race([result, Promise.resolve("still under way")]) };
}

describe("the order of a pod's end", () => {
  test("all app containers are told at once, each takes its own time, then the sandbox goes", async () => {
    const { world, result } = await end({
      pod: aPod({ containers: [web, aContainer("db")] }),
      programs: { web: { stopsAfterMs: 3000 }, db: { stopsAfterMs: 5000 } },
    });
    expect(world.story).toEqual([
      "0 stopContainer db 30",
      "0 stopContainer web 30",
      "3 exit web",
      "5 exit db",
      "5 stopPodSandbox",
    ]);
    expect(result).toBe("done");
    expect(world.said()).toEqual([
      "Killing spec.containers{db} Stopping container db",
      "Killing spec.containers{web} Stopping container web",
    ]);
    expect(world.clock.pending).toBe(0);
  });

  const inTurn = [
    "0 stopContainer web 30",
    "2 exit web",
    "2 stopContainer logs 28",
    "3.5 exit logs",
    "3.5 stopContainer proxy 27",
    "3.5 exit proxy",
    "3.5 stopPodSandbox",
  ];
  const programs = { web: { stopsAfterMs: 2000 }, logs: { stopsAfterMs: 1500 } };

  test("sidecars stop last and in reverse order, on the same budget", async () => {
    const { world } = await end({ pod: threeOf(), programs });
    expect(world.story).toEqual(inTurn);
    expect(world.said()).toContain("Killing spec.initContainers{proxy} Stopping container proxy");
  });

  test("so they do when the spec is forgotten", async () => {
    expect((await end({ pod: threeOf(), programs, known: false })).world.story).toEqual(inTurn);
  });

  test("a sidecar outlives an init container that runs", async () => {
    const initContainers = [aContainer("proxy", sidecar), aContainer("setup")];
    const { world } = await end({
      pod: aPod({ initContainers, containers: [web] }),
      unstarted: ["web"],
      programs: { setup: { stopsAfterMs: 1000 } },
    });
    expect(world.story).toEqual([
      "0 removeContainer web",
      "0 stopContainer setup 30",
      "1 exit setup",
      "1 stopContainer proxy 29",
      "1 exit proxy",
      "1 stopPodSandbox",
    ]);
  });

  test("sidecars still come after an app that has to be killed", async () => {
    const programs = { web: STUBBORN, logs: STUBBORN };
    const { world, result } = await end({ pod: threeOf(), programs });
    expect(world.story).toEqual([
      "0 stopContainer web 30",
      "30 exit web",
      "30 stopContainer logs 2",
      "32 exit logs",
      "32 stopContainer proxy 2",
      "32 exit proxy",
      "32 stopPodSandbox",
    ]);
    expect(result).toBe("done");
  });

  test("without grace nobody waits for anybody and no hook runs", async () => {
    const lifecycle = { preStop: exec };
    const { world } = await end({
      pod: threeOf({ containers: [aContainer("web", { lifecycle })] }),
      grace: 0,
      programs: { web: STUBBORN },
    });
    expect(world.story.slice(0, 3)).toEqual([
      "0 stopContainer web 0",
      "0 exit web",
      "0 stopContainer logs 0",
    ]);
    expect(world.story).not.toContain("0 execSync web");
    expect(world.story.at(-1)).toBe("0 stopPodSandbox");
  });

  test("each container's own grace counts when nobody asks for another", async () => {
    const { world } = await end({ pod: aPod({ terminationGracePeriodSeconds: 7 }), known: false });
    expect(world.story[0]).toBe("0 stopContainer a 7");
  });
});

describe("preStop hooks", () => {
  test("run at once, a sidecar's too; what they take is gone from the budget", async () => {
    const lifecycle = { preStop: exec };
    const { world } = await end({
      pod: threeOf({
        initContainers: [aContainer("proxy", { ...sidecar, lifecycle })],
        containers: [aContainer("web", { lifecycle })],
      }),
      latencyMs: { execSync: 10_000 },
      programs: { web: { stopsAfterMs: 1000 } },
    });
    expect(world.story).toEqual([
      "0 execSync web",
      "0 execSync proxy",
      "10 stopContainer web 20",
      "11 exit web",
      "11 stopContainer proxy 19",
      "11 exit proxy",
      "11 stopPodSandbox",
    ]);
  });

  test("run from what is written on the container when the spec is forgotten", async () => {
    const preStop = {
      type: "httpGet",
      path: "/bye",
      port: "admin",
      scheme: "HTTP",
      httpHeaders: [],
    } as const;
    const ports = [{ name: "admin", containerPort: 9000, protocol: "TCP" }] as const;
    const pod = aPod({ containers: [aContainer("web", { lifecycle: { preStop }, ports })] });
    const { world } = await end({ pod, known: false });
    expect(world.requests).toMatchObject([{ host: "10.88.0.1", port: 9000, path: "/bye" }]);
    expect(world.story[0]).toBe("0 stopContainer web 30");
  });

  test("that take the whole grace period are cut off, and the stop has two seconds", async () => {
    const { world } = await end({
      pod: withHook(),
      programs: { web: STUBBORN },
      before: ({ runtime }) => runtime.faults.order("execSync", { type: "hang" }),
    });
    expect(world.story).toEqual([
      "0 execSync web",
      "30 stopContainer web 2",
      "32 exit web",
      "32 stopPodSandbox",
    ]);
    expect(world.said()).toEqual([
      "Killing spec.containers{web} Stopping container web",
      "FailedPreStopHook spec.containers{web} PreStopHook did not end within the grace period",
    ]);
    expect(world.clock.pending).toBe(0);
  });

  test("leave no more than the whole grace period, if that is shorter than two seconds", async () => {
    const { world } = await end({
      pod: withHook(),
      grace: 1,
      latencyMs: { execSync: 60_000 },
      programs: { web: STUBBORN },
    });
    expect(world.story.slice(0, 3)).toEqual([
      "0 execSync web",
      "1 stopContainer web 1",
      "2 exit web",
    ]);
  });

  test("that fail are an event, which keeps what they said to itself, and stop nothing", async () => {
    const { world, result } = await end({
      pod: withHook(),
      exec: () => ({ exitCode: 3, stderr: "the password is x" }),
    });
    expect(result).toBe("done");
    expect(world.story[1]).toBe("0 stopContainer web 30");
    expect(world.events[1]).toEqual({
      type: "Warning",
      reason: "FailedPreStopHook",
      message: "PreStopHook failed",
      object: {
        kind: "Pod",
        namespace: "default",
        name: "web",
        uid: "6f0c3a52-0000-8000-8000-000000000001",
        fieldPath: "spec.containers{web}",
      },
    });
    expect(world.lines.join("")).toContain("exit code 3: the password is x");
  });

  test("are not asked of a container that nobody knows anything of", async () => {
    const world = await KillWorld.of(withHook());
    world.runtime.lose(world.idOf("web"));
    const order = { pod: undefined, grace: new GracePeriod(30) };
    await world.killer().stopPod(await world.look(), order);
    expect(world.story).toEqual(["0 stopContainer web 30", "0 stopPodSandbox"]);
  });
});

describe("a grace period that is shortened", () => {
  const after = (seconds: number, to: number) => async (grace: GracePeriod, world: KillWorld) => {
    await world.clock.advance(seconds * 1000);
    grace.shorten(to);
  };

  test("stops sooner what is being stopped", async () => {
    const { world, result } = await end({
      pod: aPod({ containers: [web] }),
      grace: 3600,
      programs: { web: STUBBORN },
      meanwhile: after(100, 5),
    });
    expect(world.story).toEqual([
      "0 stopContainer web 3600",
      "100 stopContainer web 5",
      "105 exit web",
      "105 stopPodSandbox",
    ]);
    expect(result).toBe("done");
  });

  test("cuts a hook short, and its container still gets its two seconds", async () => {
    const { world } = await end({
      pod: withHook(),
      grace: 3600,
      latencyMs: { execSync: 1_800_000 },
      programs: { web: STUBBORN },
      meanwhile: after(10, 4),
    });
    expect(world.story).toEqual([
      "0 execSync web",
      "14 stopContainer web 2",
      "16 exit web",
      "16 stopPodSandbox",
    ]);
  });

  test("to nothing ends everything at once, also who waits for his turn", async () => {
    const { world } = await end({
      pod: threeOf(),
      grace: 3600,
      programs: { web: STUBBORN, logs: STUBBORN, proxy: STUBBORN },
      meanwhile: after(10, 0),
    });
    expect(world.story[0]).toBe("0 stopContainer web 3600");
    expect(world.story.slice(1).every((line) => line.startsWith("10 "))).toBe(true);
    expect(world.story).toContain("10 stopContainer web 0");
    expect(world.story).toContain("10 stopContainer proxy 0");
    expect(world.story.at(-1)).toBe("10 stopPodSandbox");
  });

  const unchanged: Record<string, [number, number]> = {
    "a longer one is none": [10, 60],
    "one that would end later than the old one changes nothing": [25, 20],
  };
  test.each(Object.entries(unchanged))("%s", async (_, [at, to]) => {
    const { world } = await end({
      pod: aPod({ containers: [web] }),
      grace: 30,
      programs: { web: STUBBORN },
      meanwhile: after(at, to),
    });
    expect(world.story).toEqual(["0 stopContainer web 30", "30 exit web", "30 stopPodSandbox"]);
  });

  test("is never longer than what is written on a container", async () => {
    const { world } = await end({
      pod: aPod({ containers: [web], terminationGracePeriodSeconds: 4 }),
      known: false,
      programs: { web: STUBBORN },
      meanwhile: after(1, 20),
    });
    expect(world.story.slice(0, 2)).toEqual(["0 stopContainer web 4", "4 exit web"]);
  });

  test("again and again: the shortest holds", async () => {
    const { world } = await end({
      pod: aPod({ containers: [web] }),
      grace: 1000,
      programs: { web: STUBBORN },
      meanwhile: async (grace, { clock }) => {
        await clock.settle();
        grace.shorten(500);
        await clock.advance(100_000);
        grace.shorten(450);
        grace.shorten(50);
        grace.shorten(70);
      },
    });
    expect(world.story).toEqual([
      "0 stopContainer web 1000",
      "0 stopContainer web 500",
      "100 stopContainer web 50",
      "150 exit web",
      "150 stopPodSandbox",
    ]);
  });

  test("gets through to a runtime that does not answer the first call", async () => {
    const { world, result } = await end({
      pod: aPod({ containers: [web] }),
      grace: 3600,
      meanwhile: async (grace, { clock, runtime }) => {
        await clock.settle();
        runtime.faults.order("stopContainer", { type: "hang" }, { times: Infinity });
        await clock.advance(10_000);
        grace.shorten(5);
      },
      programs: { web: STUBBORN },
    });
    // The newest call's deadline counts: 10 + 5 + 120.
    expect(String(result)).toContain("no answer within 125 s");
    expect(world.story).toEqual(["0 stopContainer web 3600", "10 stopContainer web 5"]);
  });
});

test("a grace period of months is granted", async () => {
  const { world, result } = await end({
    pod: threeOf(),
    grace: 100 * DAY_S,
    programs: { web: { stopsAfterMs: 60 * DAY_S * 1000 } },
    forSeconds: 61 * DAY_S,
  });
  expect(world.story.slice(0, 3)).toEqual([
    `0 stopContainer web ${100 * DAY_S}`,
    `${60 * DAY_S} exit web`,
    `${60 * DAY_S} stopContainer logs ${40 * DAY_S}`,
  ]);
  expect(result).toBe("done");
});

describe("a runtime that fails", () => {
  test("one container that cannot be stopped holds up no other; the pod is not gone", async () => {
    const pod = threeOf({ containers: [web, aContainer("db")] });
    const world = await KillWorld.of(pod, { programs: { db: { stopsAfterMs: 9000 } } });
    const ofWeb = { when: ([id]: readonly unknown[]) => id === world.idOf("web") };
    world.runtime.faults.order("stopContainer", { type: "hang" }, ofWeb);
    const grace = new GracePeriod(30);
    const result = outcome(world.killer().stopPod(await world.look(), { pod, grace }));
    await world.clock.advance(200_000);
    expect(await result).toMatchObject({
      reason: "KillPodError",
      message: "StopContainer: no answer within 150 s",
    });
    expect(world.story).toEqual([
      "0 stopContainer db 30",
      "0 stopContainer web 30",
      "9 exit db",
      "33 stopContainer logs 2",
      "33 exit logs",
      "33 stopContainer proxy 2",
      "33 exit proxy",
    ]);
    expect(world.clock.pending).toBe(0);
  });

  test("a sidecar does not go before a container that could not be stopped; the next try ends both", async () => {
    const lifecycle = { preStop: exec };
    const initContainers = [aContainer("proxy", { ...sidecar, lifecycle })];
    const pod = threeOf({ initContainers });
    const world = await KillWorld.of(pod);
    world.runtime.faults.order("stopContainer", {
      type: "fail",
      code: GrpcCode.UNKNOWN,
      details: "busy",
    });
    const killer = world.killer();
    const stop = async (): Promise<unknown> =>
      outcome(killer.stopPod(await world.look(), { pod, grace: new GracePeriod(30) }));
    expect(await stop()).toMatchObject({ reason: "KillPodError", message: "StopContainer: busy" });
    expect(world.story).toEqual(["0 execSync proxy", "0 stopContainer web 30"]);
    expect(await stop()).toBe("done");
    // Neither the hook nor the event comes twice.
    expect(world.story.slice(2)).toEqual([
      "0 stopContainer web 30",
      "0 exit web",
      "0 stopContainer proxy 30",
      "0 exit proxy",
      "0 stopPodSandbox",
    ]);
    expect(world.said()).toEqual([
      "Killing spec.containers{web} Stopping container web",
      "Killing spec.initContainers{proxy} Stopping container proxy",
    ]);
  });

  test("a sandbox that does not stop is an error", async () => {
    const world = await KillWorld.of(aPod());
    const fault = { type: "fail", code: GrpcCode.UNKNOWN, details: "no network" } as const;
    world.runtime.faults.order("stopPodSandbox", fault);
    const order = { pod: aPod(), grace: new GracePeriod(30) };
    const result = await outcome(world.killer().stopPod(await world.look(), order));
    expect(result).toMatchObject({
      reason: "KillPodError",
      message: "StopPodSandbox: no network",
    });
  });

  test("after a crash of the agent another one ends the pod from what the runtime tells", async () => {
    const pod = withHook();
    const world = await KillWorld.of(pod, { programs: { web: STUBBORN } });
    world.runtime.faults.order("execSync", { type: "hang" });
    const grace = new GracePeriod(30);
    const first = outcome(world.killer().stopPod(await world.look(), { pod, grace }));
    await world.clock.advance(10_000);
    // Nobody waits for the first any more; its hook is still cut off by its own budget.
    const second = outcome(
      world
        .killer()
        .stopPod(await world.look(), { pod: undefined, grace: new GracePeriod(undefined) }),
    );
    await world.clock.advance(100_000);
    expect(world.story.slice(0, 3)).toEqual([
      "0 execSync web",
      "10 execSync web",
      "10 stopContainer web 30",
    ]);
    expect([await first, await second]).toEqual(["done", "done"]);
  });
});

describe("one container", () => {
  test("is stopped with its hook, on its own grace, and the event says why", async () => {
    const pod = withHook({ terminationGracePeriodSeconds: 60 });
    const world = await KillWorld.of(pod, {
      latencyMs: { execSync: 2000 },
      programs: { web: { stopsAfterMs: 1000 } },
    });
    const message = "Container web failed liveness probe, will be restarted";
    const order = { pod, grace: new GracePeriod(10), reason: "LivenessProbe", message };
    const result = outcome(
      world.killer().stopContainer(await world.look(), await world.container("web"), order),
    );
    await world.clock.advance(5000);
    expect(await result).toBe("done");
    expect(world.story).toEqual(["0 execSync web", "2 stopContainer web 8", "3 exit web"]);
    expect(world.said()).toEqual([`Killing spec.containers{web} ${message}`]);
    expect(world.clock.pending).toBe(0);
  });

  test("that never started is removed, and one that is dead is left alone", async () => {
    const pod = aPod({ containers: [web, aContainer("db")] });
    const world = await KillWorld.of(pod, { unstarted: ["db"] });
    world.runtime.exit(world.idOf("web"), 1);
    const observed = await world.look();
    const order = { pod, grace: new GracePeriod(30), reason: "NotInSpec" };
    for (const container of observed.containers)
      await world.killer().stopContainer(observed, container, order);
    expect(world.story).toEqual(["0 exit web", "0 removeContainer db"]);
    expect(world.said()).toEqual([]);
  });

  test("that cannot be stopped is an error in Kubernetes' words", async () => {
    const world = await KillWorld.of(aPod({ containers: [web] }));
    const fault = { type: "fail", code: GrpcCode.UNKNOWN, details: "busy" } as const;
    world.runtime.faults.order("stopContainer", fault);
    const order = { pod: undefined, grace: new GracePeriod(undefined), reason: "Finished" };
    const stop = world
      .killer()
      .stopContainer(await world.look(), await world.container("web"), order);
    expect(await outcome(stop)).toMatchObject({
      reason: "KillContainerError",
      message: 'container "web" cannot be stopped: StopContainer: busy',
    });
  });
});
