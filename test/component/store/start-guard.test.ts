// The start guard over a real store: what one process notes, the next one knows.

import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLogger } from "../../../src/lib/logger.ts";
import { podHand, readInHand, type Hand } from "../../../src/store/start-guard/hand.ts";
import { StartGuard } from "../../../src/store/start-guard/start-guard.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
});

const pod = (name: string): Hand => podHand({ uid: `uid-${name}`, namespace: "default", name });
const [WEB, DB] = [pod("web"), pod("db")];

/** One process on `stateDir`. */
class Process {
  readonly clock = new VirtualClock();
  readonly waits: string[] = [];
  readonly stateDir: string;
  readonly store: Store;
  readonly guard: StartGuard;

  constructor(stateDir: string) {
    this.stateDir = stateDir;
    this.store = openStore(stateDir);
    const { clock } = this;
    this.guard = new StartGuard({
      clock,
      log: createLogger({ clock, level: "error", write: () => undefined }),
      hands: this.store.hands,
      onWait: ({ name }) => this.waits.push(name),
      onChange: () => undefined,
    });
    open.push(this.store, this.guard);
  }

  get inHand(): readonly string[] {
    return readInHand(readFileSync(join(this.stateDir, "in-hand"), "utf8")).hands.map(
      ({ name }) => name,
    );
  }

  /** kill -9, and the next one. */
  die(): Process {
    for (const one of open.splice(0).toReversed()) one[Symbol.dispose]();
    return new Process(this.stateDir);
  }

  /** Resolves later, if it does. */
  free(hand: Hand, signal?: AbortSignal): { isFree: boolean | undefined } {
    const answer: { isFree: boolean | undefined } = { isFree: undefined };
    void this.guard.free(hand, signal).then((isFree) => (answer.isFree = isFree));
    return answer;
  }
}

/** The process after so many deaths in each of these hands. */
function afterDeaths(deaths: number, ...hands: readonly Hand[]): Process {
  let process = new Process(newDirectory());
  for (let death = 0; death < deaths; death += 1) {
    for (const hand of hands) process.guard.hold(hand);
    process = process.die();
  }
  return process;
}

describe("what is in hand", () => {
  test("stands in the file while it is held, however often", () => {
    const process = new Process(newDirectory());
    expect(process.inHand).toEqual([]);
    const first = process.guard.hold(WEB);
    const second = process.guard.hold(WEB);
    process.guard.hold(DB).settle();
    expect(process.inHand).toEqual(["default/web"]);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(process.inHand).toEqual(["default/web"]);
    second.settle();
    expect(process.inHand).toEqual([]);
  });

  test("is no death after a clean stop, nor once it was released", () => {
    const process = new Process(newDirectory());
    process.guard.hold(DB)[Symbol.dispose]();
    const next = process.die();
    expect(next.store.hands.diedIn).toEqual([]);
    next.guard.hold(WEB);
    next.guard.stopped();
    expect(next.die().store.hands.deaths(WEB)).toBe(0);
  });

  test("counts one death, also if the next process ends before it has written anything", () => {
    const { stateDir, guard } = new Process(newDirectory());
    guard.hold(WEB);
    const file = join(stateDir, "in-hand");
    const left = readFileSync(file);
    for (const one of open.splice(0)) one[Symbol.dispose]();
    expect(new Process(stateDir).store.hands.deaths(WEB)).toBe(1);
    for (const one of open.splice(0)) one[Symbol.dispose]();
    writeFileSync(file, left);
    expect(new Process(stateDir).store.hands.deaths(WEB)).toBe(1);
  });

  test("does not stop work when it cannot be written", () => {
    const process = new Process(newDirectory());
    rmSync(join(process.stateDir, "in-hand"));
    files.makeDirectory(join(process.stateDir, "in-hand"), 0o700);
    process.guard.hold(WEB).settle();
    expect(process.store.hands.trouble).toContain("in-hand");
    expect(process.die().store.hands.deaths(WEB)).toBe(0);
  });
});

describe("after deaths in one hand", () => {
  test("one death lets nothing wait", () => {
    expect(afterDeaths(1, WEB).guard.waits(WEB)).toBeUndefined();
  });

  test("after two it waits for a minute, is shown, and everything else goes on", async () => {
    const process = afterDeaths(2, WEB);
    const { guard, clock } = process;
    expect(guard.waits(DB)).toBeUndefined();
    expect(guard.conditions()).toEqual([]);
    const web = process.free(WEB);
    expect(process.waits).toEqual(["default/web"]);
    expect(guard.conditions()).toMatchObject([
      { type: "StartGuard", status: "True", reason: "EndedTwice" },
    ]);
    await clock.advance(59_999);
    expect(web.isFree).toBeUndefined();
    await clock.advance(1);
    expect(web.isFree).toBe(true);
    expect(guard.waits(WEB)).toBeUndefined();
    expect(guard.conditions()).toEqual([]);
  });

  test("it is tried soon after MQTT was asked", async () => {
    const judged = afterDeaths(2, WEB);
    const web = judged.free(WEB);
    await judged.clock.advance(3_000);
    judged.guard.subscribed();
    await judged.clock.advance(1_000);
    judged.guard.judged();
    await judged.clock.advance(1_999);
    expect(web.isFree).toBeUndefined();
    await judged.clock.advance(1);
    expect(web.isFree).toBe(true);

    const silent = afterDeaths(2, WEB);
    const again = silent.free(WEB);
    silent.guard.subscribed();
    await silent.clock.advance(14_999);
    expect(again.isFree).toBeUndefined();
    await silent.clock.advance(1);
    expect(again.isFree).toBe(true);
  });

  test("a third death costs five minutes, and work that was done clears the count", async () => {
    const process = afterDeaths(3, WEB);
    process.guard.judged();
    const web = process.free(WEB);
    await process.clock.advance(299_999);
    expect(web.isFree).toBeUndefined();
    await process.clock.advance(1);
    expect(web.isFree).toBe(true);
    process.guard.hold(WEB).settle();
    const next = process.die();
    expect(next.store.hands.deaths(WEB)).toBe(0);
    expect(next.guard.waits(WEB)).toBeUndefined();
  });

  test("work that failed clears nothing", () => {
    const process = afterDeaths(2, WEB);
    process.guard.hold(WEB)[Symbol.dispose]();
    expect(process.die().store.hands.deaths(WEB)).toBe(2);
  });

  test("of two suspects the next death blames one only, and the other gets done", async () => {
    const process = afterDeaths(2, WEB, DB);
    const [web, db] = [process.free(WEB), process.free(DB)];
    await process.clock.advance(60_000);
    expect([web.isFree, db.isFree]).toEqual([true, undefined]);
    process.guard.hold(WEB);
    const next = process.die();
    expect([WEB, DB].map((hand) => next.store.hands.deaths(hand))).toEqual([3, 2]);
    const [later, now] = [next.free(WEB), next.free(DB)];
    await next.clock.advance(60_000);
    expect([later.isFree, now.isFree]).toEqual([undefined, true]);
  });

  test("the next one has its turn when the one before is done, or after a minute", async () => {
    const process = afterDeaths(2, WEB, DB);
    const [web, db] = [process.free(WEB), process.free(DB)];
    await process.clock.advance(60_000);
    expect(web.isFree).toBe(true);
    process.guard.hold(WEB).settle();
    await process.clock.settle();
    expect(db.isFree).toBe(true);

    const slow = afterDeaths(2, WEB, DB);
    const other = [slow.free(WEB), slow.free(DB)].at(1);
    await slow.clock.advance(119_999);
    expect(other?.isFree).toBeUndefined();
    await slow.clock.advance(1);
    expect(other?.isFree).toBe(true);
  });

  test("what is not wanted any more does not hold up what waits behind it", async () => {
    const process = afterDeaths(2, WEB, DB);
    const gone = new AbortController();
    const [web, db] = [process.free(WEB, gone.signal), process.free(DB)];
    gone.abort();
    await process.clock.settle();
    expect(web.isFree).toBe(false);
    expect(
      process.guard
        .conditions()
        .map(({ message }) => message)
        .join(),
    ).toContain("default/db");
    await process.clock.advance(60_000);
    expect(db.isFree).toBe(true);
  });
});
