// Maintenance windows on the whole agent in virtual time: what waits and what does not, and days with reboots, kills, and a
// clock that jumps while it is not synchronised.

import { describe, expect, test } from "bun:test";

import { GrpcCode } from "../../src/lib/grpc-code.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { AnswerStage, aSpec, DB, documentOf, LATE, NEXT, WEB } from "./answer-stage.ts";
import { IMAGE } from "./pod-world.ts";
import type { SimSpec } from "./sim-specs.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NIGHT = { schedule: "0 2 * * *", duration: "2h", grace: "20m" };
const POLICY = {
  minReadySeconds: 5,
  progressDeadlineSeconds: 60,
  maintenanceWindows: [NIGHT],
};
const NO_ROUTE = "failed to do request: dial tcp 192.0.2.1:443: connect: no route to host";
const OPENS = "the update waits for its maintenance window, which opens at 2026-11-22T02:00:00Z";

/** Since the last call. */
function pulls(stage: AnswerStage): boolean {
  const { calls } = stage.world.machine.runtime;
  return calls.splice(0).some(({ call }) => call === "pullImage");
}

const names = (stage: AnswerStage): readonly string[] =>
  stage.running().map((one) => one.replace(/ .*$/, ""));

async function publish(
  stage: AnswerStage,
  generation: number,
  pods: readonly SimSpec[],
  policy: object = {},
): Promise<void> {
  await stage.publish(documentOf(generation, pods, { policy: { ...POLICY, ...policy } }));
}

/** Generation 1 runs; it was installed outside of any window, in the hour before the first one. */
async function installed(specs: readonly SimSpec[] = []): Promise<AnswerStage> {
  const stage = new AnswerStage({ specs });
  setWall(stage, "2026-11-22T01:30:00Z");
  await stage.start();
  await publish(stage, 1, [WEB]);
  expect(stage.answer).toMatchObject({ generation: 1, phase: "Healthy", code: 200 });
  return stage;
}

function setWall(stage: AnswerStage, time: string): void {
  const { clock } = stage.world.machine;
  clock.stepWall(Date.parse(time) - clock.now());
}

async function until(stage: AnswerStage, time: string): Promise<void> {
  await stage.pass(Date.parse(time) - stage.world.machine.clock.now());
}

describe("an update that arrives outside of its window", () => {
  test("waits, is answered 423 with the next opening, and goes on when it opens", async () => {
    using stage = await installed();
    const before = stage.running();
    await publish(stage, 2, [NEXT]);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Held", code: 423 });
    expect(stage.answer?.message).toContain(OPENS);
    expect(stage.agent.facts.events().map(({ reason }) => reason)).toContain("UpdateHeld");
    await stage.stays({ generation: 2, phase: "Held", code: 423 });
    await until(stage, "2026-11-22T01:59:00Z");
    expect(stage.running()).toEqual(before);
    await until(stage, "2026-11-22T02:03:00Z");
    expect(names(stage)).toEqual(["web-2"]);
    await stage.stays({ generation: 2, phase: "Healthy", code: 200 });
  });

  test("goes at once if it is urgent, if its document has no windows, or if its pod has none", async () => {
    using stage = await installed();
    await publish(stage, 2, [NEXT], { urgent: true });
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Healthy" });
    await publish(stage, 3, [WEB], { maintenanceWindows: [] });
    expect(stage.answer).toMatchObject({ generation: 3, phase: "Healthy" });
    await publish(stage, 4, [NEXT]);
    expect(stage.answer).toMatchObject({ generation: 4, phase: "Held" });
  });

  test("goes at once when it is released, and only this one", async () => {
    using stage = await installed();
    await publish(stage, 2, [NEXT]);
    stage.agent.facts.changeHold("release", { namespace: "default", name: "web" });
    await stage.pass(MINUTE);
    await stage.stays({ generation: 2, phase: "Healthy", code: 200 });
    await publish(stage, 3, [WEB]);
    expect(stage.answer).toMatchObject({ generation: 3, phase: "Held", code: 423 });
  });

  test("does not keep a pod from its first start, nor a booted device from what it ran", async () => {
    using stage = await installed();
    await publish(stage, 2, [NEXT, DB]);
    expect(names(stage)).toEqual(["db-1", "web-1"]);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Held" });
    stage.world.machine.clockSynchronised = false;
    await stage.act({ type: "Reboot" }, 0);
    await stage.act({ type: "Start" }, 2 * MINUTE);
    expect(names(stage)).toEqual(["db-1", "web-1"]);
    expect(stage.answer?.message).toContain("the clock is not synchronised");
  });

  test("also keeps a pod that the document no longer names, until the window opens", async () => {
    using stage = await installed();
    await publish(stage, 2, [WEB, DB]);
    await publish(stage, 3, [DB]);
    expect(names(stage)).toEqual(["db-1", "web-1"]);
    expect(stage.answer).toMatchObject({ generation: 3, phase: "Held", code: 423 });
    await until(stage, "2026-11-22T02:03:00Z");
    expect(names(stage)).toEqual(["db-1"]);
    expect(stage.answer).toMatchObject({ generation: 3, phase: "Healthy", code: 200 });
  });
});

describe("the end of a window", () => {
  const CRASHES = aSpec("web", 4, IMAGE, {
    program: { stopsAfterMs: 0, exitsAfterMs: 50, exitCode: 3 },
  });
  const PROBED = aSpec("web", 5, IMAGE, {
    probes: [
      {
        type: "readiness",
        failureThreshold: 3,
        grace: undefined,
        written: { exec: { command: ["probe", "readiness"] }, periodSeconds: 1 },
      },
    ],
  });

  test("ends no trial, and delays no rollback", async () => {
    using stage = await installed([PROBED]);
    setWall(stage, "2026-11-22T03:58:00Z");
    await stage.act({ type: "Health", name: "web", healthy: false }, 0);
    await publish(stage, 2, [PROBED], { progressDeadlineSeconds: 3600 });
    expect(names(stage)).toEqual(["web-5"]);
    await until(stage, "2026-11-22T04:40:00Z");
    expect(names(stage)).toEqual(["web-5"]);
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await until(stage, "2026-11-22T05:05:00Z");
    expect(names(stage)).toEqual(["web-1"]);
    await stage.stays({ generation: 2, phase: "RolledBack", code: 424 });
  });

  test("lets a rollback of a crashing pod happen at once", async () => {
    using stage = await installed([CRASHES]);
    setWall(stage, "2026-11-22T03:59:00Z");
    await publish(stage, 2, [CRASHES]);
    await until(stage, "2026-11-22T04:05:00Z");
    expect(names(stage)).toEqual(["web-1"]);
    expect(stage.answer).toMatchObject({ generation: 2, phase: "RolledBack", code: 424 });
  });

  test("and its grace interrupt what still waits for its image, until the next one", async () => {
    using stage = await installed();
    await stage.act({ type: "Images", there: false }, 0);
    await stage.act({ type: "Images", there: true }, 0);
    const { faults } = stage.world.machine.runtime;
    const noRoute = { type: "fail", code: GrpcCode.UNKNOWN, details: NO_ROUTE } as const;
    faults.order("pullImage", noRoute, { times: Number.POSITIVE_INFINITY });
    setWall(stage, "2026-11-22T03:55:00Z");
    await publish(stage, 2, [LATE]);
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await until(stage, "2026-11-22T04:15:00Z");
    expect(stage.answer).toMatchObject({ generation: 2, code: 202 });
    await until(stage, "2026-11-22T04:22:00Z");
    expect(stage.answer).toMatchObject({ generation: 2, phase: "Held", code: 423 });
    faults.clear("pullImage");
    pulls(stage);
    await stage.pass(HOUR);
    expect(pulls(stage)).toBe(false);
    setWall(stage, "2026-11-23T01:50:00Z");
    await stage.pass(2 * MINUTE);
    expect(names(stage)).toEqual(["web-1"]);
    await until(stage, "2026-11-23T02:10:00Z");
    expect(names(stage)).toEqual(["web-3"]);
  });
});

describe("windows of one step", () => {
  test("for the update alone let its images come before, and at once", async () => {
    using stage = await installed();
    await stage.act({ type: "Images", there: false }, 0);
    await publish(stage, 2, [LATE], { maintenanceWindows: [{ ...NIGHT, for: ["update"] }] });
    expect(stage.answer).toMatchObject({ phase: "Held", code: 423 });
    await stage.act({ type: "Images", there: true }, 10 * MINUTE);
    expect(pulls(stage)).toBe(true);
  });

  test("for the download alone let it begin when its images are here", async () => {
    using stage = await installed();
    await stage.act({ type: "Images", there: false }, 0);
    await stage.act({ type: "Images", there: true }, 0);
    await publish(stage, 2, [LATE], { maintenanceWindows: [{ ...NIGHT, for: ["download"] }] });
    expect(stage.answer?.message).toContain("the download waits for its maintenance window");
    await until(stage, "2026-11-22T01:59:00Z");
    expect([pulls(stage), names(stage)]).toEqual([false, ["web-1"]]);
    await until(stage, "2026-11-22T02:03:00Z");
    expect([pulls(stage), names(stage)]).toEqual([true, ["web-3"]]);
    setWall(stage, "2026-11-22T05:00:00Z");
    // What is here needs no download.
    await publish(stage, 3, [NEXT], { maintenanceWindows: [{ ...NIGHT, for: ["download"] }] });
    await stage.pass(2 * MINUTE);
    expect(names(stage)).toEqual(["web-2"]);
  });
});

/** What the clock of a device does: it jumps only while it is not synchronised, and is right when it is. */
class WrongClock {
  readonly #stage: AnswerStage;
  #ahead = 0;

  constructor(stage: AnswerStage) {
    this.#stage = stage;
  }

  get isTrue(): boolean {
    return this.#stage.world.machine.clockSynchronised;
  }

  now(): number {
    return this.#stage.world.machine.clock.now() - this.#ahead;
  }

  lose(jumpMs: number): void {
    this.#stage.world.machine.clockSynchronised = false;
    this.#stage.world.machine.clock.stepWall(jumpMs);
    this.#ahead += jumpMs;
  }

  find(): void {
    this.#stage.world.machine.clock.stepWall(-this.#ahead);
    this.#ahead = 0;
    this.#stage.world.machine.clockSynchronised = true;
  }
}

const EVERY_SIX_HOURS = { schedule: "0 */6 * * *", duration: "30m", grace: "10m" };

/** By the true time: whether a window, with its grace, has been open since `from`. */
function couldBegin(from: number, to: number): boolean {
  for (let at = from; at <= to; at += MINUTE) {
    const [hours, minutes] = [new Date(at).getUTCHours(), new Date(at).getUTCMinutes()];
    if (hours % 6 === 0 && minutes <= 44) return true;
  }
  return false;
}

const STEP = 10 * MINUTE;
const PODS = [WEB, NEXT];
const HOURS = Number(process.env["AGENT_WINDOW_HOURS"] ?? 30);

/** Twelve of a hundred steps bring something. */
async function disturb(stage: AnswerStage, clock: WrongClock, dice: Mulberry32): Promise<void> {
  if (dice.next() < 0.03) {
    await stage.act({ type: "Reboot" }, 0);
    await stage.act({ type: "Start" }, 0);
  }
  if (dice.next() < 0.03) await stage.restart();
  if (clock.isTrue && dice.next() < 0.06) clock.lose((dice.next() - 0.5) * 400 * 24 * HOUR);
  else if (!clock.isTrue && dice.next() < 0.2) clock.find();
}

test.each([1, 2, 3])(
  "over days of jumps, reboots and kills no update begins outside of its window, and each comes in one (seed %i)",
  async (seed) => {
    using stage = await installed();
    const dice = new Mulberry32(seed);
    const clock = new WrongClock(stage);
    const policy = { maintenanceWindows: [EVERY_SIX_HOURS] };
    let generation = 1;
    let before = names(stage);
    let since = clock.now();
    let changes = 0;
    for (let step = 0; step < (HOURS * HOUR) / STEP; step += 1) {
      if (dice.next() < 0.08) {
        generation += 1;
        await publish(stage, generation, [PODS[generation % 2] ?? WEB], policy);
      }
      await disturb(stage, clock, dice);
      await stage.pass(STEP);
      const now = names(stage);
      if (now.length > 0 && now.join() !== before.join()) {
        changes += 1;
        const at = new Date(clock.now()).toISOString();
        expect([at, couldBegin(since, clock.now())]).toEqual([at, true]);
        before = now;
      }
      since = clock.now();
    }
    expect(changes).toBeGreaterThan(0);
    clock.find();
    generation += 1;
    await publish(stage, generation, [PODS[generation % 2] ?? WEB], policy);
    await stage.pass(7 * HOUR);
    expect(stage.answer).toMatchObject({ generation, phase: "Healthy", code: 200 });
  },
  180_000,
);
