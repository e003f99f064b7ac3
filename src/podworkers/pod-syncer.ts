// Performs: knows what one sync of one pod consists of: look, decide, say, do, look again, say. kubelet: syncPod,
// SyncPod

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { containerEvent, podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { podName, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import { computePodActions, neverAgain } from "../runtime/decide/pod-actions.ts";
import { isComingBack } from "../runtime/decide/config-restart.ts";
import { isFinished, usableSandbox } from "../runtime/observe/newest.ts";
import type { ActionContext, KillReason, PodAction } from "../runtime/decide/pod-action.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { ProbeManager } from "../prober/probe-manager.ts";
import type { PodFacts } from "../status/facts.ts";
import type { StatusPublisher } from "./publish-status.ts";
import type { ConfigChanges } from "./config-changes.ts";
import { activeSince, deadlineOf, DEADLINE_EXCEEDED } from "./deadline.ts";
import type { GarbageCollector } from "./garbage-collector.ts";
import type { ActionPerformer } from "./perform-actions.ts";
import type { PodLife } from "./pod-life.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";

export interface PodSyncerOptions {
  readonly performer: ActionPerformer;
  readonly garbage: GarbageCollector;
  readonly clock: Clock;
  readonly bootId: string;
  readonly record: RecordEvent;
  readonly cache: Pick<PodCache, "get">;
  readonly lifecycle: Pick<PodLifecycle, "look">;
  readonly prober: Pick<ProbeManager, "verdicts">;
  readonly failures: PodFailures;
  readonly config: ConfigChanges;
  readonly publisher: StatusPublisher;
}

/** The rows of pods that have failed as a whole. */
export interface PodFailures {
  get(uid: PodUID): PodFailure | undefined;
  /** On the disk when it returns. */
  put(uid: PodUID, failure: PodFailure): void;
}

/** What a sync leaves to be done. */
export interface SyncOutcome {
  /** Something was done: decide again, it may not have been all. */
  readonly progressed: boolean;
  /** A time at which the decision changes by itself. */
  readonly wakeAt: Monotonic | undefined;
  /** What went wrong, the first of several. */
  readonly error: unknown;
}

export class PodSyncer {
  readonly #options: PodSyncerOptions;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
  }

  /** `signal` ends waiting and stops between two actions; a call under way is never cut off. */
  async sync(desired: DesiredPod, life: PodLife, signal: AbortSignal): Promise<SyncOutcome> {
    const observed = await this.#observe(desired.uid, life);
    life.noteExits(desired, observed);
    // Also one that an unanswered call made after all.
    if (usableSandbox(desired.pod, observed) !== undefined) life.forgetPodFailure();
    this.#judgeSandbox(desired, life, observed);
    const deadline = this.#judgeDeadline(desired, life, observed);
    const lookAgain = this.#lookAtConfig(desired, life, observed);
    const actions = this.#decide(desired, life, observed);
    life.noteDecision(actions);
    this.#sayWaits(desired.pod, actions);
    this.say(desired, life, observed);
    const wakeAt = earliest(actions, deadline, lookAgain);
    const work = actions.filter(({ type }) => type !== "Wait");
    if (work.length === 0) {
      const again = await this.#options.garbage.collect(desired, observed, life);
      return { progressed: false, wakeAt: wakeAt ?? again, error: undefined };
    }
    const onHook = (): void => void this.#sayAnew(desired, life);
    const input = { desired, observed, life, signal, onHook };
    const error = await this.#options.performer.perform(work, input);
    const after = await this.#observe(desired.uid, life);
    life.noteExits(desired, after);
    this.say(desired, life, after);
    // What failed may come true after all until it is tried again: that begins with another look (law 15).
    if (error !== undefined) life.unsure = true;
    return { progressed: error === undefined, wakeAt, error };
  }

  /** Publishes what is true now. */
  say(desired: DesiredPod, life: PodLife, observed: ObservedPod | undefined): void {
    const { failures, publisher } = this.#options;
    const failure = failures.get(desired.uid);
    const facts: PodFacts = {
      waiting: Object.fromEntries(life.waiting),
      replaced: life.replaced(desired.pod, observed),
      starting: [...life.starting],
    };
    if (failure === undefined) return publisher.publish(desired, observed, facts);
    const { reason: podReason, message: podMessage } = failure;
    publisher.publish(desired, observed, { ...facts, failed: true, podReason, podMessage });
  }

  /** Publishes what was true at the last look. */
  sayKnown(desired: DesiredPod, life: PodLife): void {
    this.say(desired, life, this.#options.cache.get(desired.uid));
  }

  async #sayAnew(desired: DesiredPod, life: PodLife): Promise<void> {
    try {
      this.say(desired, life, await this.#options.lifecycle.look(desired.uid));
    } catch {
      // Nothing depends on it: the sync looks for itself when it is done.
    }
  }

  #decide(
    desired: DesiredPod,
    life: PodLife,
    observed: ObservedPod | undefined,
  ): readonly PodAction[] {
    const { clock, failures, prober } = this.#options;
    const failed = killReasonOf(failures.get(desired.uid));
    const context: ActionContext = {
      now: clock.monotonic(),
      restarts: Object.fromEntries(life.restarts),
      probes: prober.verdicts(desired.uid),
      hookFailed: life.hookFailed,
      hashes: desired.containerHashes,
      configDigests: life.config?.digests ?? {},
      ordered: life.ordered,
      ...(life.configRestarting === undefined ? {} : { configRestarting: life.configRestarting }),
      ...(failed === undefined ? {} : { failed }),
    };
    if (!isComingBack(desired.pod, observed, context)) life.configRestarting = undefined;
    return computePodActions(desired.pod, observed, context);
  }

  /** When to look again, if its volumes could not follow. */
  #lookAtConfig(
    desired: DesiredPod,
    life: PodLife,
    observed: ObservedPod | undefined,
  ): Monotonic | undefined {
    const hasVolumes = usableSandbox(desired.pod, observed) !== undefined;
    const { known, again } = this.#options.config.look(desired, life.config, hasVolumes);
    life.config = known;
    return again;
  }

  /** A pod whose containers may run only once lost its sandbox before all of them had ended. */
  #judgeSandbox({ uid, pod }: DesiredPod, life: PodLife, observed: ObservedPod | undefined): void {
    const { failures, record } = this.#options;
    if (observed?.sandboxes[0]?.state !== "NotReady" || !neverAgain(pod, observed)) return;
    if (isFinished(pod, observed, Object.fromEntries(life.restarts))) return;
    if (failures.get(uid) !== undefined) return;
    failures.put(uid, SANDBOX_LOST);
    record(podEvent(pod.metadata, { type: "Warning", ...SANDBOX_LOST }));
  }

  /** When the pod's time is over, if it may be at all; a pod that has finished is beyond it. */
  #judgeDeadline(
    { uid, pod }: DesiredPod,
    life: PodLife,
    observed: ObservedPod | undefined,
  ): Monotonic | undefined {
    const { bootId, clock, failures, record } = this.#options;
    const since = life.begin(activeSince(observed, bootId));
    const at = deadlineOf(pod.spec, since);
    if (at === undefined || failures.get(uid) !== undefined) return undefined;
    if (isFinished(pod, observed, Object.fromEntries(life.restarts))) return undefined;
    if (clock.monotonic() < at) return at;
    failures.put(uid, DEADLINE_EXCEEDED);
    record(podEvent(pod.metadata, { type: "Normal", ...DEADLINE_EXCEEDED }));
    return undefined;
  }

  #sayWaits(pod: Pod, actions: readonly PodAction[]): void {
    for (const action of actions) {
      if (action.type !== "Wait") continue;
      const { container } = action;
      const message = `Back-off restarting failed container ${container} in pod ${podName(pod)}`;
      const event = { type: "Warning", reason: "BackOff", message } as const;
      this.#options.record(containerEvent(pod, container, event));
    }
  }

  async #observe(uid: PodUID, life: PodLife): Promise<ObservedPod | undefined> {
    const { cache, lifecycle } = this.#options;
    const observed = life.unsure ? await lifecycle.look(uid) : cache.get(uid);
    life.unsure = false;
    life.settleKills(observed);
    return observed;
  }
}

const SANDBOX_LOST: PodFailure = {
  reason: "SandboxLost",
  message: "The pod's sandbox is gone, and its containers may run only once",
};

function killReasonOf(failure: PodFailure | undefined): KillReason | undefined {
  if (failure === undefined) return undefined;
  return failure.reason === DEADLINE_EXCEEDED.reason ? "DeadlineExceeded" : "SandboxChanged";
}

function earliest(
  actions: readonly PodAction[],
  ...others: readonly (Monotonic | undefined)[]
): Monotonic | undefined {
  const waits = actions.filter((action) => action.type === "Wait").map(({ until }) => until);
  const times = [...waits, ...others.filter((time) => time !== undefined)];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** When an error asks to be tried again, if it says so. */
export function retryTime(error: unknown): Monotonic | undefined {
  return error instanceof AgentError ? error.retryAt : undefined;
}
