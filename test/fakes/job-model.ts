// What Kubernetes documents of Jobs and CronJobs, as a model that sees only which containers start and when. It knows
// nothing of the agent's own states.

import type { Clock } from "../../src/lib/clock.ts";
import type { Program } from "./fake-cri-world.ts";
import type { Mulberry32 } from "./mulberry32.ts";

const MINUTE = 60_000;
/** Between the moment of a decision and the container that runs. */
const SLACK_MS = MINUTE;

/** What the model may know of the machine. */
export interface JobMachine {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly clockSynchronised: boolean;
}

export interface JobTerms {
  readonly completions: number;
  readonly parallelism: number;
  readonly backoffLimit: number;
  /** Its pods have an index each. */
  readonly indexed?: boolean;
  /** Its pods restart in place, and are not judged by number. */
  readonly restarts?: boolean;
  /** Of a program, longest, ms. */
  readonly lastsMs: number;
  /** Of an end with 1. */
  readonly failure: number;
}

export interface CronTerms {
  /** Due at every full multiple, minutes. */
  readonly every: number;
  readonly concurrencyPolicy: "Allow" | "Forbid" | "Replace";
  readonly startingDeadlineSeconds?: number;
  readonly job: JobTerms;
}

interface RunningPod {
  readonly endsAt: number;
  readonly exitCode: number;
  readonly index: string | undefined;
}

/** One Job, declared or of a minute. */
class OneJob {
  readonly terms: JobTerms;
  readonly pods = new Set<string>();
  readonly running = new Map<string, RunningPod>();
  readonly done = new Set<string>();
  succeeded = 0;
  failed = 0;
  /** Another one of its CronJob has taken its place. */
  isReplaced = false;

  constructor(terms: JobTerms) {
    this.terms = terms;
  }

  get isOver(): boolean {
    return this.succeeded >= this.terms.completions || this.failed > this.terms.backoffLimit;
  }

  /** What has ended by now, counted. */
  settle(now: number): void {
    for (const [pod, { endsAt, exitCode, index }] of this.running) {
      if (endsAt > now) continue;
      this.running.delete(pod);
      if (exitCode !== 0) this.failed += 1;
      else if (index === undefined || !this.done.has(index)) this.succeeded += 1;
      if (exitCode === 0 && index !== undefined) this.done.add(index);
    }
  }

  /** The machine goes down under what runs. */
  reboots(now: number): void {
    this.settle(now);
    // What restarts in place goes on.
    if (this.terms.restarts !== true) this.failed += this.running.size;
    this.running.clear();
  }
}

export class JobModel {
  violation: string | undefined;
  readonly #machine: JobMachine;
  readonly #jobs: ReadonlyMap<string, OneJob>;
  readonly #crons: ReadonlyMap<string, CronTerms>;
  /** Of CronJobs, by `name-minute`. */
  readonly #runs = new Map<string, OneJob>();
  /** Jobs whose pods may not start. */
  readonly #suspended = new Set<string>();

  constructor(
    machine: JobMachine,
    jobs: Readonly<Record<string, JobTerms>>,
    crons: Readonly<Record<string, CronTerms>>,
  ) {
    this.#machine = machine;
    this.#jobs = new Map(Object.entries(jobs).map(([name, terms]) => [name, new OneJob(terms)]));
    this.#crons = new Map(Object.entries(crons));
  }

  /** A pod is wanted from now on; where this is not seen, it begins at once. */
  decides(pod: string): void {
    const [name = "", ...numbers] = pod.split("-");
    if (!this.#jobs.has(name)) this.#ofMinute(name, numbers);
  }

  /** A container starts. */
  begins(pod: string, dice: Mulberry32): Program {
    const [name = "", ...numbers] = pod.split("-");
    const declared = this.#jobs.get(name);
    const job = declared ?? this.#ofMinute(name, numbers);
    if (job === undefined) {
      this.#accuse(`${pod} belongs to nothing that is declared`);
      return {};
    }
    const now = this.#now();
    job.settle(now);
    this.#judge(pod, job, job.terms.indexed === true ? numbers[0] : undefined);
    if (this.#suspended.has(name)) this.#accuse(`${pod} starts while ${name} is suspended`);
    const exitsAfterMs = 1000 + Math.floor(dice.next() * job.terms.lastsMs);
    const exitCode = dice.chance(job.terms.failure) ? 1 : 0;
    const index = job.terms.indexed === true ? numbers[0] : undefined;
    job.pods.add(pod);
    job.running.set(pod, { endsAt: now + exitsAfterMs, exitCode, index });
    return { exitsAfterMs, exitCode };
  }

  reboots(): void {
    for (const job of this.#all()) job.reboots(this.#now());
  }

  /** What runs of it has stopped, and is no failure. */
  suspends(name: string): void {
    this.#suspended.add(name);
    const job = this.#jobs.get(name);
    job?.settle(this.#now());
    job?.running.clear();
  }

  resumes(name: string): void {
    this.#suspended.delete(name);
  }

  /** After a time in which nothing was in the way, `from` and `to` in wall-clock ms. */
  judgeCalm(from: number, to: number): void {
    for (const job of this.#all()) job.settle(this.#now());
    for (const [name, { every, concurrencyPolicy }] of this.#crons) {
      const first = Math.ceil(from / MINUTE / every) * every;
      const due = Array.from({ length: 1000 }, (_, count) => first + count * every).filter(
        (minute) => minute * MINUTE <= to,
      );
      const missing = due.filter((minute) => !this.#runs.has(`${name}-${minute}`));
      const isKept = concurrencyPolicy === "Forbid" ? due.length > missing.length : !missing.length;
      if (!isKept) this.#accuse(`${name}: minute ${missing[0]} did not run`);
    }
    for (const [name, { isOver, succeeded, failed, terms }] of this.#jobs)
      if (!isOver && terms.restarts !== true)
        this.#accuse(`${name} has come to no end: ${succeeded} succeeded, ${failed} failed`);
  }

  #judge(pod: string, job: OneJob, index: string | undefined): void {
    const { terms, running, succeeded, failed } = job;
    if (terms.restarts === true) running.delete(pod);
    else if (job.pods.has(pod)) this.#accuse(`${pod} runs twice`);
    if (running.size >= terms.parallelism)
      this.#accuse(`${pod} runs beside ${running.size} others`);
    if (job.isReplaced) this.#accuse(`${pod} runs after its Job was replaced`);
    if (succeeded >= terms.completions) this.#accuse(`${pod} runs after the Job has completed`);
    if (terms.restarts !== true && failed > terms.backoffLimit)
      this.#accuse(`${pod} runs after the Job has failed`);
    if (index === undefined) return;
    if (job.done.has(index)) this.#accuse(`${pod} runs after its index has succeeded`);
    if ([...running.values()].some((other) => other.index === index))
      this.#accuse(`${pod} runs beside another one of its index`);
  }

  /** The Job of `tick-29921580-0`; its first pod begins it. */
  #ofMinute(name: string, [minute = "", pod]: readonly string[]): OneJob | undefined {
    const cron = this.#crons.get(name);
    if (cron === undefined || pod === undefined) return undefined;
    const known = this.#runs.get(`${name}-${minute}`);
    if (known !== undefined) return known;
    if (pod !== "0") this.#accuse(`${name}-${minute}-${pod} is the first pod of its Job`);
    this.#judgeMinute(name, Number(minute), cron);
    const job = new OneJob(cron.job);
    this.#runs.set(`${name}-${minute}`, job);
    return job;
  }

  #judgeMinute(name: string, minute: number, cron: CronTerms): void {
    const machine = this.#machine;
    const { every, concurrencyPolicy, startingDeadlineSeconds: deadline = Infinity } = cron;
    const late = machine.clock.now() - minute * MINUTE;
    const run = `${name}: minute ${minute}`;
    if (!machine.clockSynchronised) this.#accuse(`${run} runs by a clock without trust`);
    if (minute % every !== 0) this.#accuse(`${run} is not due`);
    if (late < 0) this.#accuse(`${run} runs before its time`);
    if (late > every * MINUTE + SLACK_MS) this.#accuse(`${run} runs although later ones were due`);
    if (late > deadline * 1000 + SLACK_MS) this.#accuse(`${run} runs after its deadline`);
    const others = [...this.#runs].filter(([key]) => key.startsWith(`${name}-`));
    for (const [key, other] of others) {
      other.settle(this.#now());
      if (other.running.size === 0) continue;
      if (concurrencyPolicy === "Forbid") this.#accuse(`${run} runs beside ${key}`);
    }
    if (concurrencyPolicy !== "Replace") return;
    for (const [, other] of others) {
      other.isReplaced = true;
      other.running.clear();
    }
  }

  #all(): readonly OneJob[] {
    return [...this.#jobs.values(), ...this.#runs.values()];
  }

  #now(): number {
    return this.#machine.clock.monotonic();
  }

  #accuse(text: string): void {
    const wall = new Date(this.#machine.clock.now()).toISOString();
    this.violation ??= `${wall} ${text}`;
  }
}
