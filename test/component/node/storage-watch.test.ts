// The check after an unclean stop and the budget of writes, on a virtual clock.

import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NewEvent } from "../../../src/api/v1/events.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Meter } from "../../../src/lib/meter.ts";
import { StorageWatch } from "../../../src/node/storage/storage-watch.ts";
import { DAILY_BUDGET_BYTES } from "../../../src/node/storage/write-budget.ts";
import { RunMarker, type LastStop } from "../../../src/store/run-marker.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const SECOND = 1_000;
const HOUR = 3_600_000;

const report = (...files: readonly string[]): string =>
  JSON.stringify({
    items: files.map((file) => ({ part: "image", file, what: "it is torn", outcome: "Found" })),
  });

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function aWatch({
  lastStop,
  meter = new Meter(),
  isSettled = true,
}: {
  readonly lastStop: LastStop;
  readonly meter?: Meter;
  readonly isSettled?: boolean;
}) {
  const clock = new VirtualClock();
  const events: NewEvent[] = [];
  const lines: string[] = [];
  const world = {
    isSettled,
    answer: (): string => report(),
    written: 0 as number | undefined,
    checks: 0,
    changes: 0,
  };
  const watch = new StorageWatch({
    edges: {
      clock,
      log: createLogger({ clock, level: "info", write: (line) => lines.push(line) }),
      meter,
      storage: {
        lastStop,
        check: async () => {
          world.checks += 1;
          return world.answer();
        },
        written: () => world.written,
      },
    },
    nodeName: "pi",
    record: (event) => void events.push(event),
    isSettled: () => world.isSettled,
    onChange: () => void (world.changes += 1),
  });
  const stop = new AbortController();
  stops.push(stop);
  void watch.run(stop.signal);
  const reasons = (): readonly string[] => events.map(({ reason }) => reason);
  return { clock, events, reasons, lines, world, watch, stop };
}

describe("after an unclean stop", () => {
  test("nothing is checked when the stop was clean", async () => {
    const { clock, world, reasons } = aWatch({ lastStop: "Clean" });
    await clock.advance(2 * HOUR);
    expect([world.checks, reasons()]).toEqual([0, []]);
  });

  test("a check follows half a minute after the pods have their workers, and no earlier", async () => {
    const { clock, world, events, reasons, watch } = aWatch({
      lastStop: "PowerCut",
      isSettled: false,
    });
    await clock.advance(300 * SECOND);
    expect([world.checks, reasons()]).toEqual([0, ["UncleanStop"]]);
    expect(events[0]?.message).toContain("the machine went off or was reset");
    world.isSettled = true;
    await clock.advance(25 * SECOND);
    expect(world.checks).toBe(0);
    await clock.advance(10 * SECOND);
    expect([world.checks, reasons()]).toEqual([1, ["UncleanStop", "StorageChecked"]]);
    expect(watch.conditions()).toEqual([]);
    await clock.advance(5 * HOUR);
    expect(world.checks).toBe(1);
  });

  test("a node whose pods never start is checked as well", async () => {
    const { clock, world } = aWatch({ lastStop: "Killed", isSettled: false });
    await clock.advance(700 * SECOND);
    expect(world.checks).toBe(1);
  });

  test("damage is an event and a condition, looked for again each hour until it is gone", async () => {
    const { clock, world, events, reasons, watch } = aWatch({ lastStop: "Killed" });
    world.answer = () => report("/blob");
    await clock.advance(60 * SECOND);
    expect(reasons()).toEqual(["UncleanStop", "StorageDamaged"]);
    expect(events[1]).toMatchObject({ type: "Warning", object: { kind: "Node", name: "pi" } });
    expect(watch.conditions()).toMatchObject([{ type: "StorageDamaged", status: "True" }]);
    expect(world.changes).toBe(1);
    await clock.advance(HOUR);
    expect([world.checks, reasons().length, world.changes]).toEqual([2, 2, 1]);
    world.answer = () => report();
    await clock.advance(HOUR);
    expect(reasons()).toEqual(["UncleanStop", "StorageDamaged", "StorageChecked"]);
    expect([watch.conditions(), world.changes]).toEqual([[], 2]);
    await clock.advance(9 * HOUR);
    expect(world.checks).toBe(3);
  });

  test.each([
    ["no report", () => "Segmentation fault"],
    [
      "an error",
      () => {
        throw new Error("no such program");
      },
    ],
  ])("a check that ends with %s is a warning, tried again, and ends nothing", async (_, answer) => {
    const { clock, world, lines, watch } = aWatch({ lastStop: "Killed" });
    world.answer = answer;
    await clock.advance(60 * SECOND);
    expect(lines.join("")).toContain("the light check after an unclean stop has failed");
    expect(watch.conditions()).toEqual([]);
    world.answer = () => report();
    await clock.advance(HOUR);
    expect(world.checks).toBe(2);
  });
});

describe("the budget of writes", () => {
  test("is an event and a condition once, and over a day later", async () => {
    const meter = new Meter();
    const { clock, world, reasons, watch } = aWatch({ lastStop: "Clean", meter });
    await clock.advance(120 * SECOND);
    world.written = DAILY_BUDGET_BYTES + 4096;
    meter.count("agent_written_bytes_total", { class: "database" }, 7e8);
    await clock.advance(60 * SECOND);
    world.written += 5e6;
    await clock.advance(5 * HOUR);
    expect(reasons()).toEqual(["WritesOverBudget"]);
    expect(watch.conditions()[0]?.message).toContain("database 668 MiB");
    expect(meter.sum("agent_storage_written_bytes_total")).toBe(world.written);
    expect(world.changes).toBe(1);
    await clock.advance(25 * HOUR);
    expect([watch.conditions(), world.changes]).toEqual([[], 2]);
  });
});

describe("the marker of a run", () => {
  const files = realFiles();
  const start = (stateDir: string, bootId: string): RunMarker =>
    new RunMarker({ stateDir, files, bootId });

  test("tells a clean stop, a kill and a power cut apart", () => {
    const stateDir = newDirectory();
    const first = start(stateDir, "boot-1");
    expect(first.lastStop).toBe("Clean");
    expect(start(stateDir, "boot-1").lastStop).toBe("Killed");
    const afterPower = start(stateDir, "boot-2");
    expect(afterPower.lastStop).toBe("PowerCut");
    afterPower.stopped();
    expect(existsSync(join(stateDir, "running"))).toBe(false);
    expect(start(stateDir, "boot-3").lastStop).toBe("Clean");
  });

  test("that is torn or unreadable counts as a power cut", () => {
    const stateDir = newDirectory();
    writeFileSync(join(stateDir, "running"), "");
    expect(start(stateDir, "boot-1").lastStop).toBe("PowerCut");
    writeFileSync(join(stateDir, "running"), "x".repeat(9000));
    expect(start(stateDir, "boot-1").lastStop).toBe("PowerCut");
  });

  test("that cannot be written is a trouble and no failure", () => {
    const stateDir = join(newDirectory(), "missing");
    const marker = start(stateDir, "boot-1");
    expect(marker.lastStop).toBe("Clean");
    expect(marker.trouble).toContain("running");
    marker.stopped();
  });
});
