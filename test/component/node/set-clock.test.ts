// The clock's floor on a real database and a machine whose clock is only said to be set.

import { totalChanges } from "../../fakes/in-the-store.ts";
import { afterEach, expect, test } from "bun:test";
import { markClock, settleClock } from "../../../src/node/set-clock.ts";
import { setRealTime } from "../../../src/host/libc.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const BUILT = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;
const EINVAL = 22;
const open: Store[] = [];

afterEach(() => {
  for (const store of open.splice(0)) store[Symbol.dispose]();
});

class Machine {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly steps: number[] = [];
  readonly lines: string[] = [];
  synchronised = false;
  answer = 0;

  constructor(directory: string, wall: number) {
    this.clock = new VirtualClock({ wall });
    this.store = openStore(directory);
    open.push(this.store);
  }

  get options() {
    const { clock, store } = this;
    return {
      clock,
      log: createLogger({ clock, level: "info", write: (line) => void this.lines.push(line) }),
      mark: store.clockMark,
      mayStep: true,
      built: BUILT,
      synchronised: () => this.synchronised,
      set: (wall: number) => {
        this.steps.push(wall);
        if (this.answer === 0) clock.stepWall(wall - clock.now());
        return this.answer;
      },
    };
  }

  /** Something else than the time is written. */
  write(value: string): void {
    this.store.meta.set("something", value);
  }
}

test("a boot in 1970 begins at the build", () => {
  const machine = new Machine(newDirectory(), 0);
  settleClock(machine.options);
  expect(machine.steps).toEqual([BUILT]);
  expect(machine.clock.now()).toBe(BUILT);
  expect(machine.lines.join("")).toContain("stepped forward");
});

interface Start {
  readonly wall: number;
  readonly synchronised?: boolean;
  readonly built?: number;
  readonly marked?: number;
}

test.each<[string, Start, number[]]>([
  ["a moment behind", { wall: BUILT - 1 }, [BUILT]],
  ["at the floor", { wall: BUILT }, []],
  ["ahead of the floor: never back", { wall: BUILT + HOUR }, []],
  ["something keeps it in step", { wall: 0, synchronised: true }, []],
  ["neither build nor mark is known", { wall: 0, built: 0 }, []],
  ["marked before the build", { wall: 0, marked: BUILT - 1 }, [BUILT]],
  ["marked after the build", { wall: 0, marked: BUILT + 1 }, [BUILT + 1]],
])("steps the clock: %s", (_, { wall, synchronised = false, built = BUILT, marked }, steps) => {
  const machine = new Machine(newDirectory(), wall);
  if (marked !== undefined) machine.store.clockMark.write(marked);
  machine.synchronised = synchronised;
  settleClock({ ...machine.options, built });
  expect(machine.steps).toEqual(steps);
});

test("a machine that lets nobody set its clock goes on with it", () => {
  const machine = new Machine(newDirectory(), 0);
  machine.answer = 1;
  settleClock(machine.options);
  expect(machine.clock.now()).toBe(0);
  expect(machine.lines.join("")).toContain('"errno":1');
});

test("without setClock nobody touches it", () => {
  const machine = new Machine(newDirectory(), 0);
  settleClock({ ...machine.options, mayStep: false });
  expect(machine.steps).toEqual([]);
});

test("the time goes to the disk with another write only, hourly, and only while it is right", async () => {
  const machine = new Machine(newDirectory(), BUILT + 10 * HOUR);
  settleClock(machine.options);
  machine.write("unsynchronised");
  expect(machine.store.clockMark.marked).toBeUndefined();
  machine.synchronised = true;
  await machine.clock.advance(HOUR);
  expect(machine.store.clockMark.marked).toBeUndefined();
  machine.write("one");
  expect(machine.store.clockMark.marked).toBe(BUILT + 11 * HOUR);
  await machine.clock.advance(HOUR - 1);
  machine.write("two");
  expect(machine.store.clockMark.marked).toBe(BUILT + 11 * HOUR);
  await machine.clock.advance(1);
  const changes = totalChanges(machine.store.database);
  // The same once more is no write.
  machine.write("two");
  expect(totalChanges(machine.store.database)).toBe(changes);
  machine.write("three");
  expect(totalChanges(machine.store.database)).toBe(changes + 2);
  expect(machine.store.clockMark.marked).toBe(BUILT + 12 * HOUR);
});

test("what was marked is the floor of the next start, and a clean stop marks", async () => {
  const directory = newDirectory();
  const machine = new Machine(directory, BUILT + 10 * HOUR);
  settleClock(machine.options);
  markClock(machine.options);
  expect(machine.store.clockMark.marked).toBeUndefined();
  machine.synchronised = true;
  await machine.clock.advance(5);
  markClock(machine.options);
  open.splice(0)[0]?.[Symbol.dispose]();
  const next = new Machine(directory, 0);
  settleClock(next.options);
  expect(next.steps).toEqual([BUILT + 10 * HOUR + 5]);
});

test("the call is the kernel's, which refuses a second of two milliards of nanoseconds", () => {
  expect(setRealTime(1n, 2_000_000_000n)).toBe(EINVAL);
});
