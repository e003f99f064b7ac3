// Who keeps a pod from being updated, with a real database and real files.

import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { UpdateHolds } from "../../../src/rollout/update-holds.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { ObservedContainer } from "../../../src/api/pod/observed-pod.ts";
import { DEFAULT_POLICY } from "../../../src/api/pod/update-policy.ts";
import {
  MAINTENANCE_WINDOWS,
  type MaintenanceWindow,
} from "../../../src/api/window/maintenance-window.ts";
import { Findings } from "../../../src/api/decode/field-errors.ts";
import { ClockFloor } from "../../../src/lib/clock.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { Store } from "../../../src/store/store.ts";
import { emptyDirPath } from "../../../src/volume/volume-paths.ts";
import { aContainer, aDesiredPod, aPod, anInstance, anObservedPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const DAY_S = 86_400;
const HOUR_MS = 3_600_000;

function podOf(uid: string, annotations: Readonly<Record<string, string>>): DesiredPod {
  const base = aPod({ containers: [aContainer("app")] });
  const pod = { ...base, metadata: { ...base.metadata, uid, annotations } };
  return aDesiredPod(pod, { source: "mqtt:node", uid });
}

/** One node with one pod that runs, and a newer one that is wanted. */
class World {
  readonly clock = new VirtualClock();
  readonly temp = makeTempDirectory();
  readonly old = podOf("old-uid", { "agent/update-lock": "lock" });
  readonly path = `${emptyDirPath(this.temp.path, this.old.uid, "lock")}/app`;
  wanted = podOf("new-uid", {});
  container: Partial<ObservedContainer> = { id: "first", state: "Running", createdAt: 0 };
  nodeWindows: readonly MaintenanceWindow[] = [];
  clockSynchronised = true;
  areImagesHere = true;
  store = this.#open();
  holds = this.#boot();

  /** The same disk, another process. */
  restart(): void {
    this.store[Symbol.dispose]();
    this.store = this.#open();
    this.holds = this.#boot();
  }

  why(maxSeconds = DAY_S): string | undefined {
    return this.holds.ofUpdate(this.wanted, { ...DEFAULT_POLICY, maxLockSeconds: maxSeconds }).hold;
  }

  lock(): void {
    mkdirSync(dirname(this.path), { recursive: true });
    writeFileSync(this.path, "");
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
    this.temp.remove();
  }

  #open(): Store {
    const random = { next: () => 0.5, hex: (bytes: number) => "ab".repeat(bytes) };
    return Store.open({ stateDir: this.temp.path, files: realFiles(), random });
  }

  #boot(): UpdateHolds {
    const { clock } = this;
    const pods = {
      workers: { shown: () => this.old },
      cache: { get: () => anObservedPod([], [anInstance("app", this.container)]) },
    };
    const { path: stateDir } = this.temp;
    return new UpdateHolds({
      clock,
      files: realFiles(),
      stateDir,
      rows: this.store.holds,
      pods,
      maintenanceWindows: this.nodeWindows,
      clockSynchronised: () => this.clockSynchronised,
      clockFloor: new ClockFloor(0),
      areImagesHere: () => this.areImagesHere,
    });
  }
}

let world: World | undefined;
afterEach(() => {
  world?.[Symbol.dispose]();
  world = undefined;
});
const begin = (): World => (world = new World());

describe("an operator's hold", () => {
  test("of a pod survives a restart, and ends when it is released", () => {
    const one = begin();
    expect(one.why()).toBeUndefined();
    one.holds.hold("default/web");
    one.restart();
    expect(one.why()).toStartWith("held since ");
    one.holds.release("default/web", one.wanted);
    one.restart();
    expect(one.why()).toBeUndefined();
  });

  test("of the node holds every pod", () => {
    const one = begin();
    one.holds.hold(undefined);
    one.restart();
    expect(one.why()).toStartWith("all updates of this node are held since ");
    one.holds.release("default/web", one.wanted);
    expect(one.why()).toStartWith("all updates");
    one.holds.release(undefined, undefined);
    expect(one.why()).toBeUndefined();
  });
});

test("a pod's own wish counts until it is overruled, for that revision only, over restarts", () => {
  const one = begin();
  one.wanted = podOf("new-uid", { "agent/hold-upgrade": "true" });
  expect(one.why()).toBe("held by its annotation agent/hold-upgrade; agent release ends it");
  one.holds.release("default/web", one.wanted);
  one.restart();
  expect(one.why()).toBeUndefined();
  one.wanted = podOf("newer-uid", { "agent/hold-upgrade": "true" });
  expect(one.why()).toStartWith("held by its annotation");
});

describe("an application's lock", () => {
  test("holds while the container runs that made it, and names it with its age", async () => {
    const one = begin();
    expect(one.why()).toBeUndefined();
    one.lock();
    expect(one.why()).toBe("locked by container app for less than a minute");
    expect(one.holds.of(one.wanted, DEFAULT_POLICY).holdReviewAt).toBe(
      one.clock.monotonic() + 5_000,
    );
    await one.clock.advance(2 * HOUR_MS);
    expect(one.why()).toBe("locked by container app for 2 h");
    rmSync(one.path);
    expect(one.why()).toBeUndefined();
  });

  test("that a container left behind does not count for the next one", () => {
    const one = begin();
    one.lock();
    one.why();
    one.container = { id: "first", state: "Exited", createdAt: 0 };
    expect(one.why()).toBeUndefined();
    one.container = { id: "second", state: "Running", createdAt: Date.now() };
    expect(one.why()).toBeUndefined();
    // Not even for a process that sees it for the first time.
    one.clock.stepWall(Date.now() + 120_000 - one.clock.now());
    one.container = { id: "second", state: "Running", createdAt: Date.now() + 60_000 };
    one.restart();
    expect(one.why()).toBeUndefined();
  });

  test("that was not seen before its container ended does not count for one that was made at once", () => {
    const one = begin();
    one.lock();
    utimesSync(one.path, 100, 100);
    one.container = { id: "second", state: "Running", createdAt: 100_001 };
    expect(one.why()).toBeUndefined();
    // The very first thing that a container does may be to lock.
    one.container = { id: "second", state: "Running", createdAt: 99_990 };
    expect(one.why()).toStartWith("locked by container app");
  });

  test("ends by itself after maxLockSeconds", async () => {
    const one = begin();
    one.lock();
    expect(one.why(3_600)).toBeDefined();
    await one.clock.advance(HOUR_MS);
    expect(one.why(3_600)).toBeUndefined();
    expect(one.why(0)).toBeUndefined();
  });

  test("that was made before the clock was set is as old as this process knows it", async () => {
    const one = begin();
    one.lock();
    one.why();
    one.clock.stepWall(50 * 365 * 24 * HOUR_MS);
    await one.clock.advance(HOUR_MS);
    expect(one.why(DAY_S)).toBe("locked by container app for 1 h");
  });

  test("that is touched again counts anew", async () => {
    const one = begin();
    one.lock();
    one.why();
    await one.clock.advance(HOUR_MS);
    utimesSync(one.path, 60, 60);
    expect(one.why()).toBe("locked by container app for less than a minute");
  });

  test("is a plain file and nothing else", () => {
    const one = begin();
    mkdirSync(one.path, { recursive: true });
    expect(one.why()).toBeUndefined();
  });
});

describe("maintenance windows", () => {
  const windowsOf = (...written: readonly object[]): readonly MaintenanceWindow[] =>
    MAINTENANCE_WINDOWS.read({ findings: new Findings(), path: [], value: written }) ?? [];
  // The clock begins at 08:00.
  const NIGHT = windowsOf({ schedule: "0 2 * * *", duration: "1h" });
  const policy = (maintenanceWindows?: readonly MaintenanceWindow[], urgent = false) => ({
    ...DEFAULT_POLICY,
    urgent,
    ...(maintenanceWindows === undefined ? {} : { maintenanceWindows }),
  });
  const OPENS =
    "the update waits for its maintenance window, which opens at 2026-11-22T02:00:00Z; agent release does not wait";

  test("of the pod outweigh those of its document, and these those of the node; urgent outweighs all", () => {
    const one = begin();
    const why = (...args: Parameters<typeof policy>): string | undefined =>
      one.holds.ofUpdate(one.wanted, policy(...args)).hold;
    expect(why()).toBeUndefined();
    expect(why(NIGHT)).toBe(OPENS);
    one.nodeWindows = NIGHT;
    one.restart();
    expect(why()).toBe(OPENS);
    expect(why([])).toBeUndefined();
    expect(why(NIGHT, true)).toBeUndefined();
    one.wanted = podOf("new-uid", { "agent/maintenance-windows": "[]" });
    expect(why(NIGHT)).toBeUndefined();
    const noon = '[{"schedule": "0 12 * * *", "duration": "1h"}]';
    one.wanted = podOf("new-uid", { "agent/maintenance-windows": noon });
    expect(why([])).toContain("opens at 2026-11-21T12:00:00Z");
  });

  test("are asked for again when they open, and at least each minute, because the clock may jump", async () => {
    const one = begin();
    const reviewIn = (): number =>
      (one.holds.ofUpdate(one.wanted, policy(NIGHT)).holdReviewAt ?? 0) - one.clock.monotonic();
    expect(reviewIn()).toBe(60_000);
    one.clock.stepWall(18 * HOUR_MS - 20_000);
    expect(reviewIn()).toBe(20_000);
    await one.clock.advance(20_000);
    expect(one.holds.ofUpdate(one.wanted, policy(NIGHT)).hold).toBeUndefined();
  });

  test("go by the time since boot once the clock was synchronised, and wait before that", async () => {
    const one = begin();
    const why = (): string | undefined => one.holds.ofUpdate(one.wanted, policy(NIGHT)).hold;
    one.clockSynchronised = false;
    expect(why()).toContain("the clock is not synchronised");
    one.clockSynchronised = true;
    expect(why()).toBe(OPENS);
    one.clockSynchronised = false;
    one.clock.stepWall(-50 * 365 * 24 * HOUR_MS);
    await one.clock.advance(17 * HOUR_MS);
    expect(why()).toBe(OPENS);
    await one.clock.advance(HOUR_MS);
    expect(why()).toBeUndefined();
    // Another process knows nothing of that.
    one.restart();
    expect(why()).toContain("the clock is not synchronised");
  });

  test("do not count for an update that was released, for this update only, over restarts", () => {
    const one = begin();
    const why = (): string | undefined => one.holds.ofUpdate(one.wanted, policy(NIGHT)).hold;
    expect(why()).toBe(OPENS);
    one.holds.release("default/web", one.wanted);
    one.restart();
    expect(why()).toBeUndefined();
    expect(one.holds.mayDownload(one.wanted, policy(NIGHT))).toBe(true);
    one.wanted = { ...one.wanted, sourceRef: "generation 9" };
    expect(why()).toBe(OPENS);
  });

  test("are not opened by the release of a hold", () => {
    const one = begin();
    const why = (): string | undefined => one.holds.ofUpdate(one.wanted, policy(NIGHT)).hold;
    one.holds.hold("default/web");
    expect(why()).toStartWith("held since");
    one.holds.release("default/web", one.wanted);
    expect(why()).toBe(OPENS);
  });

  test("of the download hold nothing whose images are here, and keep the others from being fetched", () => {
    const one = begin();
    const download = windowsOf({ schedule: "0 2 * * *", duration: "1h", for: ["download"] });
    one.areImagesHere = false;
    expect(one.holds.ofUpdate(one.wanted, policy(download)).hold).toStartWith("the download waits");
    expect(one.holds.mayDownload(one.wanted, policy(download))).toBe(false);
    one.areImagesHere = true;
    expect(one.holds.ofUpdate(one.wanted, policy(download)).hold).toBeUndefined();
  });

  test("keep a pod that is no longer named, by its own annotation too", () => {
    const one = begin();
    expect(one.holds.ofRunning(one.old, policy())).toBeUndefined();
    expect(one.holds.ofRunning(one.old, policy(NIGHT))).toContain("opens at 2026-11-22T02:00:00Z");
    const free = podOf("old-uid", { "agent/maintenance-windows": "[]" });
    expect(one.holds.ofRunning(free, policy(NIGHT))).toBeUndefined();
  });
});
