import { describe, expect, test } from "bun:test";
import { RuntimeWatch } from "../../src/pleg/runtime-watch.ts";
import { NO_FEATURES } from "../../src/runtime/cri-config/features.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { VirtualClock } from "../fakes/fake-clock.ts";
import { FakeRuntime } from "../fakes/fake-runtime.ts";
import { steadyRandom } from "./pod-world.ts";

interface Watched {
  readonly clock: VirtualClock;
  readonly runtime: FakeRuntime;
  /** Seconds since the start, and the problem. */
  readonly told: (readonly [second: number, problem: string | undefined])[];
  readonly watch: RuntimeWatch;
  readonly stop: () => Promise<void>;
}

function watched(isThere: boolean, podCIDR?: string): Watched {
  const clock = new VirtualClock();
  const start = clock.monotonic();
  const runtime = new FakeRuntime({ clock });
  if (!isThere) runtime.stop();
  const told: Watched["told"] = [];
  const watch = new RuntimeWatch({
    cri: runtime,
    clock,
    random: steadyRandom,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    config: {
      containerRuntimeEndpoint: "unix:///run/fake.sock",
      cgroupDriver: "cgroupfs",
      ...(podCIDR === undefined ? {} : { podCIDR }),
    },
    onFirst: () => Promise.resolve(),
    onReturn: () => undefined,
    onHealth: (problem) => void told.push([(clock.monotonic() - start) / 1_000, problem]),
  });
  const stop = new AbortController();
  const running = watch.run(stop.signal);
  return {
    clock,
    runtime,
    told,
    watch,
    stop: () => {
      stop.abort();
      return running;
    },
  };
}

test("a runtime that answers is no news", async () => {
  const { clock, told, stop } = watched(true);
  await clock.advance(600_000);
  expect(told).toEqual([]);
  await stop();
});

test("half a minute of silence is told once, and so is its end", async () => {
  const { clock, runtime, told, watch, stop } = watched(true);
  await clock.advance(5_000);
  runtime.stop();
  await clock.advance(120_000);
  expect(told).toHaveLength(1);
  const [[second, problem] = [0, undefined]] = told;
  expect(second).toBeGreaterThan(30);
  expect(second).toBeLessThan(33);
  expect(problem).toBeString();
  expect(watch.unhealthy()).toBe(`container runtime: ${problem}`);
  runtime.start();
  await clock.advance(5_000);
  expect(told.slice(1)).toEqual([[expect.any(Number), undefined]]);
  await clock.advance(600_000);
  expect(told).toHaveLength(2);
  await stop();
});

test("what the runtime can is known with its first answer, and anew when it was restarted with more", async () => {
  const { clock, runtime, watch, stop } = watched(true);
  runtime.abilities = { config: { enableSelinux: true } };
  expect(watch.features).toEqual(NO_FEATURES);
  await clock.advance(1_000);
  expect(watch.features).toMatchObject({ selinux: true, supplementalGroupsPolicy: false });
  runtime.stop();
  await clock.advance(1_000);
  runtime.abilities = {
    runtimeHandlers: [
      { name: "", features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
    ],
    features: { supplementalGroupsPolicy: true },
  };
  runtime.start();
  await clock.advance(20_000);
  expect(watch.features).toMatchObject({ selinux: false, supplementalGroupsPolicy: true });
  expect(watch.features.handlers.get("")).toEqual({
    userNamespaces: true,
    recursiveReadOnly: true,
  });
  await stop();
});

test("a short restart of the runtime is no news", async () => {
  const { clock, runtime, told, stop } = watched(true);
  await clock.advance(5_000);
  runtime.stop();
  await clock.advance(15_000);
  runtime.start();
  await clock.advance(60_000);
  expect(told).toEqual([]);
  await stop();
});

test("a runtime that is not there at the start is told after half a minute", async () => {
  const { clock, told, stop } = watched(false);
  await clock.advance(29_000);
  expect(told).toEqual([]);
  await clock.advance(5_000);
  expect(told.map(([, problem]) => typeof problem)).toEqual(["string"]);
  await stop();
});

describe("the address range of pods", () => {
  const ranges = ({ runtime }: Watched): readonly unknown[] =>
    runtime.calls.flatMap(({ call, args }) => (call === "updateRuntimeConfig" ? args : []));

  test("is told to the runtime once, and again when it was away", async () => {
    const own = watched(true, "10.88.0.0/16");
    await own.clock.advance(600_000);
    expect(ranges(own)).toEqual(["10.88.0.0/16"]);
    own.runtime.stop();
    await own.clock.advance(30_000);
    own.runtime.start();
    await own.clock.advance(600_000);
    expect(ranges(own).slice(1)).toContain("10.88.0.0/16");
    expect(own.runtime.podCIDR).toBe("10.88.0.0/16");
    await own.stop();
  });

  test("is told again when the runtime does not take it, which keeps no pod from starting", async () => {
    const own = watched(true, "10.88.0.0/16");
    const failure = { type: "fail", code: GrpcCode.UNKNOWN, details: "no template" } as const;
    own.runtime.faults.order("updateRuntimeConfig", failure, { times: 3 });
    await own.clock.advance(5_000);
    expect(own.watch.unhealthy()).toBeUndefined();
    await own.clock.advance(60_000);
    expect(ranges(own)).toHaveLength(4);
    expect(own.runtime.podCIDR).toBe("10.88.0.0/16");
    await own.stop();
  });

  test("is not told when it is not configured", async () => {
    const own = watched(true);
    await own.clock.advance(60_000);
    expect(ranges(own)).toEqual([]);
    await own.stop();
  });
});
