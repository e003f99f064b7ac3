// Dead containers of wanted pods, against a recording runtime and real log files.

import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ObservedPod } from "../../../src/api/pod/observed-pod.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { GarbageCollector } from "../../../src/podworkers/garbage-collector.ts";
import { aDesiredPod, anInstance, anObservedPod, aSandbox } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";
import { makeTempDirectory, type TempDirectory } from "../../harness/temp-directory.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";

const SIGNAL = new AbortController().signal;
const DEFAULTS = CONFIG_DEFAULTS.containerGC;
let temp: TempDirectory | undefined;
afterEach(() => temp?.remove());

class World {
  readonly temp = makeTempDirectory();
  readonly clock = new VirtualClock();
  readonly cri = new FakeRuntime({ clock: this.clock });
  readonly desired = aDesiredPod();
  readonly observed: ObservedPod;
  readonly logs: string;
  readonly collector: GarbageCollector;

  constructor(attempts: readonly number[], containerGC = DEFAULTS) {
    temp = this.temp;
    const { uid, pod } = this.desired;
    const { namespace, name } = pod.metadata;
    const dead = attempts.map((attempt) => anInstance("a", { attempt, state: "Exited" }));
    this.observed = { ...anObservedPod([aSandbox()], dead), uid, namespace, name };
    this.logs = join(this.temp.path, `${namespace}_${name}_${uid}`, "a");
    mkdirSync(this.logs, { recursive: true });
    for (const attempt of attempts) writeFileSync(join(this.logs, `${attempt}.log`), "");
    const log = createLogger({ clock: this.clock, level: "error", write: () => undefined });
    const world = new Map([[uid, this.observed]]);
    this.collector = new GarbageCollector({
      clock: this.clock,
      log,
      files: realFiles(),
      cri: this.cri,
      config: { containerGC, podLogsDir: this.temp.path },
      configs: {
        terminationLog: (_, container, attempt) => join(this.temp.path, `${container}-${attempt}`),
      },
      cache: { get: (of) => world.get(of), all: () => world },
      workers: { desiredPods: () => [this.desired] },
    });
  }

  async collect(): Promise<number | undefined> {
    const { desired, observed } = this;
    const syncState = { unsure: false };
    return this.collector.collect({ desired, observed, syncState });
  }

  get removed(): readonly unknown[] {
    return this.cri.calls
      .filter(({ call }) => call === "removeContainer")
      .map(({ args }) => args[0]);
  }
}

test("a removed container's logs go, rotated ones too, and those of others stay", async () => {
  const world = new World([12, 11, 2, 1]);
  for (const name of ["1.log.20260101-000000", "1.log.20260101-000001.gz"])
    writeFileSync(join(world.logs, name), "");
  writeFileSync(join(world.temp.path, "a-1"), "");
  await world.collect();
  expect(world.removed).toEqual(["a-2", "a-1"]);
  expect(readdirSync(world.logs).toSorted()).toEqual(["11.log", "12.log"]);
  expect(existsSync(join(world.temp.path, "a-1"))).toBe(false);
});

test("what has not been dead for the minimum age stays until then", async () => {
  const world = new World([3, 2, 1, 0], { ...DEFAULTS, minAgeMs: 60_000 });
  const at = await world.collect();
  expect(world.removed).toEqual([]);
  expect(at).toBe(world.clock.monotonic() + 60_000);
  await world.clock.advance(60_000);
  await world.collect();
  expect(world.removed).toEqual(["a-1", "a-0"]);
});

test("when the disk is needed only the newest of each container stays", async () => {
  const world = new World([3, 2, 1], { ...DEFAULTS, minAgeMs: 60_000, maxPerPodContainer: 5 });
  await world.collect();
  expect(world.removed).toEqual([]);
  expect(await world.collector.collectDead(SIGNAL)).toEqual({ containers: 2, sandboxes: 0 });
  expect(world.removed).toEqual(["a-2", "a-1"]);
});

test("its logs go before its record, by which they are found: a crash between the two leaves nothing behind", async () => {
  const world = new World([2, 1, 0]);
  world.cri.faults.order("removeContainer", { type: "hang" });
  void world.collect();
  await world.clock.advance(1_000);
  expect(readdirSync(world.logs).toSorted()).toEqual(["1.log", "2.log"]);
});

test("a runtime that refuses is asked again later", async () => {
  const world = new World([2, 1, 0]);
  world.cri.faults.order("removeContainer", { type: "fail", code: 2, details: "busy" });
  expect(await world.collect()).toBe(world.clock.monotonic() + 60_000);
  world.cri.faults.order("removeContainer", { type: "fail", code: 2, details: "busy" });
  expect(await world.collector.collectDead(SIGNAL)).toEqual({ containers: 0, sandboxes: 0 });
});
