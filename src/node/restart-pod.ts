// Performs: restarts the running containers of a pod, or one of them, and waits for their next instances.

import {
  newestContainer,
  type ObservedContainer,
  type ObservedPod,
} from "../api/pod/observed-pod.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import type { Pods } from "../podworkers/pods.ts";
import { restartable } from "../runtime/decide/restart-on-config-change.ts";

export interface RestartedContainer {
  readonly name: string;
  readonly restartCount: number;
}

export type RestartOutcome =
  | { readonly type: "Restarted"; readonly containers: readonly RestartedContainer[] }
  | { readonly type: "UnknownContainer"; readonly names: readonly string[] }
  | { readonly type: "NotRunning" | "Terminating" | "Gone" }
  /** These containers did not start again in time. */
  | { readonly type: "Timeout"; readonly waiting: readonly string[] };

export interface RestartOptions {
  readonly pods: Pick<Pods, "cache" | "workers">;
  readonly clock: Clock;
  /** undefined = all that may restart. */
  readonly container: string | undefined;
  readonly signal: AbortSignal;
  /** The containers that are about to be stopped. */
  readonly onBegin: (containers: readonly string[]) => void;
}

/** Time for pull and start, beside the grace periods. */
const RESTART_MS = 120_000;
const LOOK_MS = 500;

/** The order ends when `signal` aborts: containers that have not been stopped stay. */
export async function restartPod(
  { pod }: DesiredPod,
  options: RestartOptions,
): Promise<RestartOutcome> {
  const { pods, clock, container, signal, onBegin } = options;
  const { cache, workers } = pods;
  const names = restartable(pod).map((one) => one.name);
  if (container !== undefined && !names.includes(container))
    return { type: "UnknownContainer", names };
  const { uid } = pod.metadata;
  const wanted = container === undefined ? names : [container];
  const grace = pod.spec.terminationGracePeriodSeconds * 1_000 * wanted.length;
  const until = clock.monotonic() + grace + RESTART_MS;
  const before = await settledPod(uid, until, options);
  const running = wanted.flatMap((one) => runningOf(before, one) ?? []);
  if (running.length === 0) return { type: "NotRunning" };
  const ids = running.map(({ id }) => id);
  if (workers.get(uid)?.orderRestart(ids) !== true) return { type: "Terminating" };
  onBegin(running.map((one) => one.name));
  try {
    while (!signal.aborted && clock.monotonic() < until) {
      const now = cache.get(uid);
      if (now === undefined) return { type: "Gone" };
      const successors = running.flatMap((one) => successorOf(now, one) ?? []);
      if (successors.length === running.length) {
        const containers = successors.map(({ name, attempt }) => ({ name, restartCount: attempt }));
        return { type: "Restarted", containers };
      }
      await clock.sleep(LOOK_MS, signal);
    }
    const waiting = running.filter((one) => successorOf(cache.get(uid), one) === undefined);
    return { type: "Timeout", waiting: waiting.map((one) => one.name) };
  } finally {
    workers.get(uid)?.withdrawRestart(ids);
  }
}

/** What its worker has started just now, and is not known yet, would count as the next instance of what is known to run. */
async function settledPod(
  uid: PodUID,
  until: Monotonic,
  { pods: { cache, workers }, clock, signal }: RestartOptions,
): Promise<ObservedPod | undefined> {
  while (workers.get(uid)?.isUnsure === true && !signal.aborted && clock.monotonic() < until)
    await clock.sleep(LOOK_MS, signal);
  return cache.get(uid);
}

function runningOf(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  const newest = newestContainer(pod, name);
  return newest?.state === "Running" ? newest : undefined;
}

/** The next instance, if it was started. */
function successorOf(
  pod: ObservedPod | undefined,
  { id, name }: ObservedContainer,
): ObservedContainer | undefined {
  const newest = newestContainer(pod, name);
  const isOther = newest !== undefined && newest.id !== id && newest.state !== "Created";
  // An instance whose start failed was not started.
  return isOther && newest.startedAt > 0 ? newest : undefined;
}

/** Why nothing was restarted, or not everything: a sentence with what to do. */
export function restartRefusal(outcome: Exclude<RestartOutcome, { type: "Restarted" }>): string {
  switch (outcome.type) {
    case "UnknownContainer":
      return `the container must be one of ${outcome.names.join(", ")}`;
    case "NotRunning":
      return "no container of the pod runs, so there is none to restart";
    case "Terminating":
      return "the pod waits for its turn or is being stopped";
    case "Gone":
      return "the pod was removed meanwhile";
    case "Timeout":
      return `not restarted in time: ${outcome.waiting.join(", ")}; the verb explain shows why`;
  }
}
