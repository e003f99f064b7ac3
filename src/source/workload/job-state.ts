// A Job from its first pod to its end: what has run, what runs, what follows. The state is stored before any pod that it
// names starts, so that what has ended never runs again. kubernetes: job controller, syncJob, manageJob

import { failureAction, type FailedPod } from "../../api/workload/pod-failure-policy.ts";
import type { JobEnd, JobPod, JobState } from "../../api/workload/stored-runs.ts";
import { MAX_PARALLEL, type JobSpec } from "../../api/workload/job.ts";
import { earliest, type Monotonic } from "../../lib/clock.ts";
import { memberOf } from "../../lib/json.ts";
import { addIndex, firstIndexes, sizeOf } from "./index-ranges.ts";

/** Of one Job that has begun. Times count within one boot. */
export type { JobEnd, JobPod, JobState };

export type PodOutcome =
  | { readonly type: "Active"; readonly restarts: number }
  | { readonly type: "Succeeded" }
  | ({ readonly type: "Failed" } & FailedPod);

export interface JobFacts {
  readonly now: Monotonic;
  readonly bootId: string;
  readonly outcome: (pod: JobPod) => PodOutcome;
}

/** Ended pods of a Job that are kept for their logs. */
export const MAX_KEPT = 5;
const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 600_000;

export function newJob(bootId: string): JobState {
  return { next: 0, succeeded: 0, failed: 0, streak: 0, done: "", pods: [], bootId };
}

/** The next state; the same object if nothing changes. A fixed point: stepping again changes nothing. */
export function stepJob(spec: JobSpec, before: JobState, facts: JobFacts): JobState {
  const state = inThisBoot(before, facts);
  if (state.end !== undefined) return expire(spec, state, facts);
  const counted = countEnded(spec, state, facts);
  const end = counted.end ?? endOf(spec, counted, facts);
  if (end !== undefined) return finish(counted, end, facts);
  if (spec.suspend) return suspended(counted);
  return startPods(spec, counted, facts);
}

/** When the next step may change something by time alone; undefined = never. */
export function jobDueAt(spec: JobSpec, state: JobState): Monotonic | undefined {
  const { since, end, retryAt, expired } = state;
  const after = (seconds: number | undefined): Monotonic | undefined =>
    seconds === undefined || since === undefined ? undefined : since + seconds * 1000;
  if (end !== undefined) return expired === true ? undefined : after(spec.ttlSecondsAfterFinished);
  return earliest([after(spec.activeDeadlineSeconds), retryAt]);
}

/** Monotonic times mean nothing after a reboot: they begin anew. */
function inThisBoot(state: JobState, { bootId, now }: JobFacts): JobState {
  if (state.bootId === bootId) return state;
  const { retryAt: _retryAt, since, ...rest } = state;
  return { ...rest, bootId, ...(since === undefined ? {} : { since: now }) };
}

function expire(spec: JobSpec, state: JobState, { now }: JobFacts): JobState {
  const due = jobDueAt(spec, state);
  return due === undefined || now < due ? state : { ...state, pods: [], expired: true };
}

/** Takes down what has ended since. */
function countEnded(spec: JobSpec, before: JobState, facts: JobFacts): JobState {
  let state = before;
  for (const pod of before.pods) {
    if (pod.ended !== undefined) continue;
    const outcome = facts.outcome(pod);
    switch (outcome.type) {
      case "Active":
        break;
      case "Succeeded":
        state = withSuccess(state, pod);
        break;
      case "Failed":
        state = withFailure(spec, state, { pod, outcome, now: facts.now });
        break;
    }
  }
  return state;
}

function withSuccess(state: JobState, pod: JobPod): JobState {
  const { retryAt: _retryAt, ...rest } = state;
  const done = pod.index === undefined ? state.done : addIndex(state.done, pod.index);
  const succeeded = state.succeeded + 1;
  return { ...rest, done, succeeded, streak: 0, pods: ended(state.pods, pod, "Succeeded") };
}

interface Failure {
  readonly pod: JobPod;
  readonly outcome: FailedPod;
  readonly now: Monotonic;
}

function withFailure(spec: JobSpec, state: JobState, { pod, outcome, now }: Failure): JobState {
  const pods = ended(state.pods, pod, "Failed");
  const action = failureAction(spec.podFailurePolicy, outcome);
  const streak = state.streak + 1;
  const delay = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(streak - 1, 10));
  // A failure that does not count is no reason to try again at once: it may fail without end.
  const later = { ...state, pods, streak, retryAt: now + delay };
  if (action === "Ignore") return later;
  const counted = { ...later, failed: state.failed + 1 };
  if (action === "Count") return counted;
  const codes = outcome.exits.map(
    ({ container, exitCode }) => `${container} exited with ${exitCode}`,
  );
  const message = `a rule of podFailurePolicy fails the Job: ${codes.join(", ")}`;
  return { ...counted, end: { type: "Failed", reason: "PodFailurePolicy", message } };
}

function ended(
  pods: readonly JobPod[],
  one: JobPod,
  how: NonNullable<JobPod["ended"]>,
): readonly JobPod[] {
  return withoutOld(pods.map((pod) => (pod.suffix === one.suffix ? { ...pod, ended: how } : pod)));
}

/** Keeps the newest of those that have ended. */
function withoutOld(pods: readonly JobPod[]): readonly JobPod[] {
  const over = pods.filter((pod) => pod.ended !== undefined);
  const old = new Set(over.slice(0, Math.max(0, over.length - MAX_KEPT)));
  return pods.filter((pod) => !old.has(pod));
}

function activeOf({ pods }: JobState): readonly JobPod[] {
  return pods.filter((pod) => pod.ended === undefined);
}

function endOf(spec: JobSpec, state: JobState, facts: JobFacts): JobEnd | undefined {
  const { backoffLimit, suspend, activeDeadlineSeconds: seconds } = spec;
  const active = activeOf(state);
  const restarts = restartsOf(spec, active, facts);
  const isPast = restarts > 0 && restarts >= backoffLimit;
  if (state.failed > backoffLimit || isPast)
    return failedEnd("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  const since = suspend ? undefined : state.since;
  if (seconds !== undefined && since !== undefined && facts.now >= since + seconds * 1000)
    return failedEnd("DeadlineExceeded", "Job was active longer than specified deadline");
  if (active.length > 0 || !isComplete(spec, state)) return undefined;
  return { type: "Complete", reason: "CompletionsReached", message: "all pods have succeeded" };
}

/** With `Never` only sidecars restart, which are no failures of the Job. kubernetes: pastBackoffLimitOnFailure */
function restartsOf(spec: JobSpec, active: readonly JobPod[], { outcome }: JobFacts): number {
  if (memberOf(spec.template?.["spec"], "restartPolicy") !== "OnFailure") return 0;
  return active.reduce((sum, pod) => {
    const now = outcome(pod);
    return sum + (now.type === "Active" ? now.restarts : 0);
  }, 0);
}

function failedEnd(reason: string, message: string): JobEnd {
  return { type: "Failed", reason, message };
}

function isComplete(spec: JobSpec, state: JobState): boolean {
  const wanted = completionsOf(spec);
  if (wanted === undefined) return state.succeeded > 0;
  return successes(spec, state) >= wanted;
}

/** undefined = one success is enough, of whichever pod: a work queue. */
function completionsOf({ completions, parallelism }: JobSpec): number | undefined {
  return completions ?? (parallelism === undefined ? 1 : undefined);
}

function successes({ completionMode }: JobSpec, { done, succeeded }: JobState): number {
  return completionMode === "Indexed" ? sizeOf(done) : succeeded;
}

/** What still runs stops. */
function finish(state: JobState, end: JobEnd, { now }: JobFacts): JobState {
  const { retryAt: _retryAt, ...rest } = state;
  const pods =
    end.type === "Failed" ? state.pods.filter((pod) => pod.ended !== undefined) : state.pods;
  return { ...rest, end, since: now, pods };
}

/** Pods that stop for this are no failures; the deadline begins with the next start. */
function suspended(state: JobState): JobState {
  if (activeOf(state).length === 0 && state.since === undefined) return state;
  const { since: _since, retryAt: _retryAt, ...rest } = state;
  return { ...rest, pods: state.pods.filter((pod) => pod.ended !== undefined) };
}

function startPods(spec: JobSpec, state: JobState, { now }: JobFacts): JobState {
  const active = activeOf(state);
  const wanted = wantedActive(spec, state, active.length);
  if (active.length > wanted) {
    const extra = new Set(active.slice(wanted));
    return { ...state, pods: state.pods.filter((pod) => !extra.has(pod)) };
  }
  const started = state.since === undefined ? { ...state, since: now } : state;
  const missing = wanted - active.length;
  const { retryAt, ...rest } = started;
  if (missing === 0) return retryAt === undefined ? started : rest;
  if (retryAt !== undefined && now < retryAt) return started;
  const fresh = newPods(spec, state, missing);
  return { ...rest, next: state.next + fresh.length, pods: [...state.pods, ...fresh] };
}

function wantedActive(spec: JobSpec, state: JobState, active: number): number {
  const parallel = Math.min(spec.parallelism ?? 1, MAX_PARALLEL);
  const wanted = completionsOf(spec);
  // Of a work queue no pod starts after the first success.
  if (wanted === undefined) return state.succeeded > 0 ? Math.min(active, parallel) : parallel;
  return Math.min(Math.max(0, wanted - successes(spec, state)), parallel);
}

function newPods(spec: JobSpec, state: JobState, missing: number): readonly JobPod[] {
  if (spec.completionMode !== "Indexed")
    return Array.from({ length: missing }, (_, place) => ({ suffix: String(state.next + place) }));
  const running = activeOf(state).flatMap(({ index }) => (index === undefined ? [] : [index]));
  const indexes = firstIndexes(state.done, {
    below: spec.completions ?? 0,
    without: new Set(running),
    count: missing,
  });
  return indexes.map((index, place) => ({ suffix: `${index}-${state.next + place}`, index }));
}
