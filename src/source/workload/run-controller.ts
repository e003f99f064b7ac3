// Performs: runs Jobs and the schedules of CronJobs: steps their states, stores them, and adds their pods to the snapshots
// of the sources that declare them. kubernetes: job controller, cronjob controller

import type { Edges } from "../../edges.ts";
import type { DesiredPod, Rejection, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import { normal, warning, type EventContent, type RecordEvent } from "../../api/v1/events.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import { runKey, type DesiredCronJob, type DesiredRun } from "../../api/workload/desired-job.ts";
import {
  readStoredCron,
  readStoredJob,
  writeStoredCron,
  writeStoredJob,
} from "../../api/workload/stored-runs.ts";
import { Alarm } from "../../lib/alarm.ts";
import { earliest, type Monotonic } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { manifestPath } from "../../api/pod/desired-pod.ts";
import type { RunRow, Runs } from "../../store/runs.ts";
import { withoutUndefined } from "../../lib/json.ts";
import { newestKnown } from "./cron-decision.ts";
import { noticeOf } from "./run-notices.ts";
import { NEW_CRON, scheduleOf, stepCron, type CronState } from "./cron-state.ts";
import {
  jobDueAt,
  newJob,
  stepJob,
  type JobPod,
  type JobState,
  type PodOutcome,
} from "./job-state.ts";
import { nextRun } from "../../api/workload/next-run.ts";
import { RunPods, type RunningJob } from "./run-pods.ts";
import { jobUIDOf } from "../../api/workload/job-pod.ts";

export interface RunControllerOptions {
  readonly edges: Pick<Edges, "clock" | "bootId" | "log" | "sha256" | "clockSynchronised"> & {
    readonly store: { readonly runs: Pick<Runs, "get" | "of" | "put" | "forget"> };
  };
  readonly record: RecordEvent;
  /** How a pod does; one that is not known has not ended. */
  readonly outcomeOf: (uid: PodUID) => PodOutcome;
  /** Whether the runtime has anything of the pod, or its status is known. */
  readonly isThere: (uid: PodUID) => boolean;
  /** `reconcile` is due. */
  readonly onDue: () => void;
}

/** Between two looks at the wall clock, which may have been set: a schedule is late by no more. */
const LOOK_MS = 30_000;
/** Between two tries to store what the disk did not take. */
const RETRY_MS = 10_000;

interface KnownRun {
  readonly desired: DesiredRun;
  /** Of a Job. */
  readonly job?: JobState;
  /** Of a CronJob. */
  readonly cron?: CronState;
  /** Why nothing starts now, or did not start; shown with the object. */
  readonly notice?: EventContent;
}

export class RunController implements Disposable {
  readonly #options: RunControllerOptions;
  readonly #pods: RunPods;
  readonly #known = new Map<string, KnownRun>();
  readonly #alarm: Alarm;
  /** Pods that have not ended. */
  #active: ReadonlySet<PodUID> = new Set();
  #isOwed = false;

  constructor(options: RunControllerOptions) {
    this.#options = options;
    this.#pods = new RunPods(options.edges.sha256);
    this.#alarm = new Alarm(options.edges.clock, options.onDue);
  }

  /** Whether what runs next depends on the status of this pod. */
  concerns(uid: PodUID): boolean {
    return this.#active.has(uid);
  }

  /** The snapshot with the pods of its Jobs, as of the last `reconcile`. */
  expand(snapshot: SourceSnapshot): SourceSnapshot {
    const { runs = [] } = snapshot;
    if (runs.length === 0) return snapshot;
    const known = runs.map((desired) => this.#knownOf(desired));
    const pods = known.flatMap((one) => this.#podsOf(one));
    const notices = known.flatMap((one) => shownNotice(one));
    if (pods.length === 0 && notices.length === 0) return snapshot;
    return {
      ...snapshot,
      pods: [...snapshot.pods, ...pods],
      rejected: [...snapshot.rejected, ...notices],
    };
  }

  /** Steps everything once: to be called when the runtime and all sources are known. True = `expand` adds other pods. */
  reconcile(snapshots: readonly SourceSnapshot[]): boolean {
    this.#forgetGone(snapshots);
    const declared = snapshots.flatMap(({ runs = [] }) => runs);
    this.#isOwed = false;
    if (declared.length === 0 && this.#known.size === 0) return false;
    const keys = new Set(declared.map(keyOf));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    for (const desired of declared) this.#step(this.#knownOf(desired));
    this.#pods.sweep();
    const states = [...this.#known.values()];
    const active = states.flatMap((one) =>
      this.#jobsOf(one).flatMap(({ job, state }) =>
        state.pods
          .filter((pod) => pod.ended === undefined)
          .flatMap((pod) => this.#pods.of(one.desired, job, pod)?.uid ?? []),
      ),
    );
    this.#active = new Set(active);
    this.#alarm.set(this.#dueAt());
    return true;
  }

  [Symbol.dispose](): void {
    this.#alarm[Symbol.dispose]();
  }

  /** As known, or as stored. */
  #knownOf(desired: DesiredRun): KnownRun {
    const before = this.#known.get(keyOf(desired));
    const state = before === undefined ? this.#stored(desired) : before;
    const known = { ...state, desired };
    if (desired.kind === "CronJob") return { ...known, cron: known.cron ?? NEW_CRON };
    // Another spec is another Job, which has run nothing yet.
    const isSame = this.#uids.get(keyOf(desired)) === desired.uid;
    const fresh = newJob(this.#options.edges.bootId);
    return { desired, job: isSame ? (known.job ?? fresh) : fresh };
  }

  /** Of the Jobs whose states are known. */
  readonly #uids = new Map<string, string>();

  #stored(desired: DesiredRun): Omit<KnownRun, "desired"> {
    const text = this.#options.edges.store.runs.get(desired.source, runKey(desired));
    if (text === undefined) return {};
    if (desired.kind === "CronJob") {
      const cron = readStoredCron(text);
      return cron === undefined ? {} : { cron: { ...cron, runs: cron.runs.flatMap(asRun) } };
    }
    const stored = readStoredJob(text);
    if (stored?.state === undefined) return {};
    this.#uids.set(keyOf(desired), stored.uid);
    return { job: stored.state };
  }

  /** What is no longer declared by a source that has synced has run nothing if it is declared again. */
  #forgetGone(snapshots: readonly SourceSnapshot[]): void {
    const { store, log } = this.#options.edges;
    for (const { source, ready, runs = [] } of snapshots) {
      if (!ready) continue;
      const names = new Set(runs.map(runKey));
      const gone = store.runs.of(source).filter(({ name }) => !names.has(name));
      if (gone.length === 0) continue;
      try {
        store.runs.forget(gone);
      } catch (error) {
        log.warn("cannot forget a Job that is gone", { source, error: messageOf(error) });
      }
      for (const { name } of gone) {
        this.#known.delete(`${source} ${name}`);
        this.#uids.delete(`${source} ${name}`);
      }
    }
  }

  #step(before: KnownRun): void {
    const next =
      before.desired.kind === "CronJob"
        ? this.#stepCron(before, before.desired)
        : this.#stepJob(before);
    const key = keyOf(before.desired);
    const isChanged = next.job !== before.job || next.cron !== before.cron || !this.#known.has(key);
    if (isChanged && !this.#store(next)) {
      // Nothing starts that would be forgotten.
      this.#isOwed = true;
      this.#known.set(key, {
        ...before,
        notice: warning(
          "StorageUnavailable",
          "its state cannot be stored; nothing starts until it can",
        ),
      });
      return;
    }
    if (next.desired.kind === "Job") this.#uids.set(key, next.desired.uid);
    this.#announce(before, next);
    this.#known.set(key, next);
  }

  #stepJob(known: KnownRun): KnownRun {
    const { desired, job } = known;
    if (desired.kind !== "Job" || job === undefined) return known;
    return { ...known, job: this.#steppedJob(desired, desired, job) };
  }

  #steppedJob(desired: DesiredRun, job: RunningJob, state: JobState): JobState {
    const { edges, outcomeOf } = this.#options;
    const facts = {
      now: edges.clock.monotonic(),
      bootId: edges.bootId,
      outcome: (pod: JobPod): PodOutcome => {
        const uid = this.#pods.of(desired, job, pod)?.uid;
        return uid === undefined ? UNKNOWN_POD : outcomeOf(uid);
      },
    };
    return stepJob(job.spec, state, facts);
  }

  #stepCron(known: KnownRun, desired: DesiredCronJob): KnownRun {
    const { edges } = this.#options;
    const before = known.cron ?? NEW_CRON;
    const stepped = before.runs.map((run) => {
      const state = this.#steppedJob(desired, run, run.state);
      return state === run.state ? run : { ...run, state };
    });
    const isSame = stepped.every((run, index) => run === before.runs[index]);
    const facts = {
      now: edges.clock.now(),
      isTrusted: edges.clockSynchronised(),
      bootId: edges.bootId,
      uidOf: (name: string) => this.#runUID(desired, name),
    };
    const { state, decision } = stepCron(
      desired,
      isSame ? before : { ...before, runs: stepped },
      facts,
    );
    const started = decision.type === "Start" ? state.runs.at(-1) : undefined;
    if (started === undefined) return { desired, cron: state, ...noticeOf(decision, known.notice) };
    // Its first pods begin with it.
    const first = { ...started, state: this.#steppedJob(desired, started, started.state) };
    const cron = { ...state, runs: [...state.runs.slice(0, -1), first] };
    return { desired, cron, ...noticeOf(decision, known.notice) };
  }

  #runUID({ namespace, source }: DesiredCronJob, name: string): string {
    return jobUIDOf({ namespace, name, spec: { source } }, this.#options.edges.sha256);
  }

  /** False = the disk takes nothing. */
  #store(next: KnownRun): boolean {
    const { store, log } = this.#options.edges;
    const { source } = next.desired;
    const name = runKey(next.desired);
    try {
      store.runs.put([{ source, name, state: textOf(next) }]);
      return true;
    } catch (error) {
      log.error("cannot store what has run", { source, name, error: messageOf(error) });
      return false;
    }
  }

  #jobsOf({
    desired,
    job,
    cron,
  }: KnownRun): readonly { readonly job: RunningJob; readonly state: JobState }[] {
    if (desired.kind === "Job") return job === undefined ? [] : [{ job: desired, state: job }];
    return (cron?.runs ?? []).map((run) => ({ job: run, state: run.state }));
  }

  #podsOf(known: KnownRun): readonly DesiredPod[] {
    return this.#jobsOf(known).flatMap(({ job, state }) =>
      state.pods.flatMap((pod) => {
        const desired = this.#pods.of(known.desired, job, pod);
        if (desired === undefined || pod.ended === undefined) return desired ?? [];
        // A record for as long as something of it is there; it never runs again.
        return this.#options.isThere(desired.uid) ? [desired] : [];
      }),
    );
  }

  #dueAt(): Monotonic | undefined {
    const now = this.#options.edges.clock.monotonic();
    // What could not be stored is still due, and would be tried without a pause.
    if (this.#isOwed) return now + RETRY_MS;
    const due = [...this.#known.values()].map((known) => {
      const jobs = this.#jobsOf(known).map(({ job, state }) => jobDueAt(job.spec, state));
      return earliest([...jobs, this.#cronDueAt(known)]);
    });
    const at = earliest(due);
    return at === undefined ? undefined : Math.max(now, at);
  }

  /** When the wall clock is looked at again. */
  #cronDueAt({ desired, cron = NEW_CRON }: KnownRun): Monotonic | undefined {
    if (desired.kind !== "CronJob" || desired.cron.suspend) return undefined;
    const { clock } = this.#options.edges;
    const now = clock.now();
    const { schedule, timeZone: zone } = desired.cron;
    const timetable = { schedule: scheduleOf(schedule), origin: newestKnown(cron) };
    const next = nextRun({ ...timetable, ...withoutUndefined({ zone }) }, now, now + LOOK_MS);
    return clock.monotonic() + (next === undefined ? LOOK_MS : next - now);
  }

  #announce(before: KnownRun, next: KnownRun): void {
    const { notice } = next;
    if (notice !== undefined && notice.message !== before.notice?.message)
      this.#tell(next.desired, notice);
    const ended = new Set(
      this.#jobsOf(before).flatMap(({ job, state }) => (state.end === undefined ? [] : [job.uid])),
    );
    for (const { job, state } of this.#jobsOf(next)) {
      if (state.end === undefined || ended.has(job.uid)) continue;
      const { type, reason, message } = state.end;
      const content =
        type === "Complete"
          ? normal("Completed", `Job ${job.name} completed`)
          : warning(reason, `Job ${job.name}: ${message}`);
      this.#tell(next.desired, content);
    }
    const known = new Set(before.cron?.runs.map(({ uid }) => uid));
    for (const run of next.cron?.runs ?? [])
      if (!known.has(run.uid))
        this.#tell(next.desired, normal("SuccessfulCreate", `Created job ${run.name}`));
  }

  #tell({ kind, namespace, name }: DesiredRun, content: EventContent): void {
    this.#options.record({ ...content, object: { kind, namespace, name } });
  }
}

const UNKNOWN_POD: PodOutcome = { type: "Failed", exits: [], conditions: [] };

function keyOf(desired: DesiredRun): string {
  return `${desired.source} ${runKey(desired)}`;
}

function asRun<R extends { readonly spec?: unknown; readonly state?: unknown }>(
  run: R,
): readonly (R & {
  readonly spec: NonNullable<R["spec"]>;
  readonly state: NonNullable<R["state"]>;
})[] {
  const { spec, state } = run;
  return spec === undefined || spec === null || state === undefined || state === null
    ? []
    : [{ ...run, spec, state }];
}

function textOf({ desired, job, cron }: KnownRun): RunRow["state"] {
  if (desired.kind === "CronJob") return writeStoredCron(cron ?? NEW_CRON);
  return writeStoredJob({ uid: desired.uid, ...(job === undefined ? {} : { state: job }) });
}

/** What `get pods` shows under the table, and the node reports. */
function shownNotice({ desired, notice }: KnownRun): readonly Rejection[] {
  if (notice === undefined) return [];
  const { kind, namespace, name, source, sourceRef } = desired;
  const ref = manifestPath(sourceRef);
  return [
    { source, ref, kind, namespace, name, path: "", code: "NotStarted", message: notice.message },
  ];
}
