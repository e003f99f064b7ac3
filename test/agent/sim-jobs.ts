// Jobs and a CronJob on a whole agent through random days: time, kills, reboots, a wall clock that is set and loses its
// trust, a full disk, a runtime that loses what has ended, files written again. A model that knows nothing of the agent's
// own states judges each start.

import type { Program } from "../fakes/fake-cri-world.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { cronJob, job, JobWorld } from "./job-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Of the schedule, in minutes: it is due at every full multiple. */
const EVERY = 20;
const COMPLETIONS = 4;
const BACKOFF_LIMIT = 3;
/** A clock that is off by less never looks as if the last start had been wrong. */
const MAX_OFF_MINUTES = 11 * 60;
const ACTS = 30;

/** Acts and failures of one seed, and what the model says against them; undefined = nothing. */
export async function simulateJobs(
  seed: number,
): Promise<{ readonly violation: string | undefined }> {
  using world = new JobWorld();
  const dice = new Mulberry32(seed);
  const model = new JobModel(world);
  world.programOf = (pod) => model.begins(pod, dice);
  const objects = [
    job("work", {
      spec: { completions: COMPLETIONS, parallelism: 2, backoffLimit: BACKOFF_LIMIT },
    }),
    cronJob("tick", `*/${EVERY} * * * *`, { concurrencyPolicy: "Allow" }),
  ];
  world.write("jobs", ...objects);
  await world.start();
  let off = 0;
  for (let turn = 0; turn < ACTS && model.violation === undefined; turn += 1) {
    const act = dice.pick([
      "pass",
      "pass",
      "pass",
      "kill",
      "reboot",
      "jump",
      "trust",
      "disk",
      "lose",
      "write",
    ]);
    if (act === "pass") await world.passes(Math.ceil(dice.next() * 4 * 3600));
    // An agent that cannot open its database does not start.
    if (act === "kill" || act === "reboot") world.diskFull = false;
    if (act === "kill") await world.restart();
    if (act === "reboot") {
      model.reboots();
      await world.reboot();
    }
    if (act === "jump") {
      const to = Math.round((dice.next() * 2 - 1) * MAX_OFF_MINUTES);
      world.jump(to - off);
      off = to;
    }
    if (act === "trust") world.machine.clockSynchronised = dice.chance(0.6);
    if (act === "disk") world.diskFull = dice.chance(0.4);
    if (act === "lose") {
      // What has just ended is recorded first.
      world.diskFull = false;
      await world.passes(30);
      await world.kill();
      if (world.machine.runtime.running().length === 0) world.loseEnded();
      await world.start();
    }
    if (act === "write") world.write("jobs", ...objects);
    await world.passes(45);
  }
  await calm(world, model, off);
  const [trouble] = world.troubles;
  return { violation: model.violation ?? trouble };
}

/** Nothing troubles it any more: the schedule is kept, and the Job comes to its end. */
async function calm(world: JobWorld, model: JobModel, off: number): Promise<void> {
  world.diskFull = false;
  world.machine.clockSynchronised = true;
  // Behind the newest start no minute is due.
  world.jump(MAX_OFF_MINUTES * 2 - off);
  await world.minutes(EVERY + 1);
  const from = world.machine.clock.now();
  await world.minutes(2 * 60 + 40);
  model.judgeCalm(from, world.machine.clock.now() - 2 * MINUTE);
}

class JobModel {
  violation: string | undefined;
  readonly #world: JobWorld;
  readonly #ticks = new Set<number>();
  readonly #workers = new Set<string>();
  /** Of those of the Job that run: how they end, and when. */
  readonly #running = new Map<string, { readonly endsAt: number; readonly exitCode: number }>();
  #succeeded = 0;
  #failed = 0;

  constructor(world: JobWorld) {
    this.#world = world;
  }

  /** A container starts. */
  begins(pod: string, dice: Mulberry32): Program {
    const tick = /^tick-(\d+)-0$/.exec(pod)?.[1];
    if (tick !== undefined) this.#judgeTick(Number(tick));
    else this.#judgeWorker(pod);
    const exitsAfterMs = 1000 + Math.floor(dice.next() * 100_000);
    const exitCode = tick === undefined && dice.chance(0.2) ? 1 : 0;
    if (tick === undefined)
      this.#running.set(pod, {
        endsAt: this.#world.machine.clock.monotonic() + exitsAfterMs,
        exitCode,
      });
    return { exitsAfterMs, exitCode };
  }

  /** What runs is killed: a failure. */
  reboots(): void {
    this.#settle();
    this.#failed += this.#running.size;
    this.#running.clear();
  }

  judgeCalm(from: number, to: number): void {
    this.#settle();
    for (let minute = Math.ceil(from / MINUTE); minute * MINUTE <= to; minute += 1)
      if (minute % EVERY === 0 && !this.#ticks.has(minute))
        this.#accuse(`minute ${minute} did not run`);
    const isOver = this.#succeeded >= COMPLETIONS || this.#failed > BACKOFF_LIMIT;
    if (!isOver)
      this.#accuse(
        `the Job has come to no end: ${this.#succeeded} succeeded, ${this.#failed} failed`,
      );
  }

  #judgeTick(minute: number): void {
    const { machine } = this.#world;
    const now = machine.clock.now();
    if (!machine.clockSynchronised) this.#accuse(`minute ${minute} runs by a clock without trust`);
    if (minute % EVERY !== 0) this.#accuse(`minute ${minute} is not due`);
    if (this.#ticks.has(minute)) this.#accuse(`minute ${minute} runs twice`);
    if (minute * MINUTE > now) this.#accuse(`minute ${minute} runs before its time`);
    if (now - minute * MINUTE > EVERY * MINUTE + HOUR / 60)
      this.#accuse(`minute ${minute} runs although later ones were due`);
    this.#ticks.add(minute);
  }

  #judgeWorker(pod: string): void {
    this.#settle();
    if (this.#workers.has(pod)) this.#accuse(`${pod} runs twice`);
    this.#workers.add(pod);
    if (this.#running.size >= 2) this.#accuse(`${pod} runs beside two others`);
    if (this.#succeeded >= COMPLETIONS) this.#accuse(`${pod} runs after the Job has completed`);
    if (this.#failed > BACKOFF_LIMIT) this.#accuse(`${pod} runs after the Job has failed`);
  }

  #settle(): void {
    const now = this.#world.machine.clock.monotonic();
    for (const [pod, { endsAt, exitCode }] of this.#running) {
      if (endsAt > now) continue;
      this.#running.delete(pod);
      if (exitCode === 0) this.#succeeded += 1;
      else this.#failed += 1;
    }
  }

  #accuse(text: string): void {
    const wall = new Date(this.#world.machine.clock.now()).toISOString();
    this.violation ??= `${wall} ${text}`;
  }
}
