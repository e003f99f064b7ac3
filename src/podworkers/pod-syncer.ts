// Performs: one sync of one pod: observe, decide, publish, act, observe again, publish. kubelet: syncPod, SyncPod

import type { Edges } from "../edges.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { containerEvent, podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { podName, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import { computePodActions, neverAgain } from "../runtime/decide/pod-actions.ts";
import { isComingBack } from "../runtime/decide/running-restart.ts";
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
import type { PodSyncState } from "./pod-sync-state.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";

export interface PodSyncerOptions extends Pick<Edges, "clock" | "bootId"> {
  readonly performer: ActionPerformer;
  readonly garbage: GarbageCollector;
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
  /** Something was done: more may follow, so decide again. */
  readonly progressed: boolean;
  /** A time at which the decision changes by itself. */
  readonly wakeAt: Monotonic | undefined;
  /** The first of several. */
  readonly error: unknown;
}

export class PodSyncer {
  readonly #options: PodSyncerOptions;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
  }

  /** `signal` ends waiting and stops between two actions; a call under way is never cut off. */
  async sync(
    desired: DesiredPod,
    syncState: PodSyncState,
    signal: AbortSignal,
  ): Promise<SyncOutcome> {
    const observed = await this.#observe(desired.uid, syncState);
    syncState.noteExits(desired, observed);
    // Also a sandbox that a call made whose answer was lost.
    if (usableSandbox(desired.pod, observed) !== undefined) syncState.forgetPodFailure();
    this.#judgeSandbox(desired, syncState, observed);
    const deadline = this.#judgeDeadline(desired, syncState, observed);
    const lookAgain = this.#lookAtConfig(desired, syncState, observed);
    const actions = this.#decide(desired, syncState, observed);
    syncState.noteDecision(actions);
    this.#recordBackOffs(desired.pod, actions);
    this.#publish(desired, syncState, observed);
    const wakeAt = earliest(actions, deadline, lookAgain);
    const work = actions.filter(({ type }) => type !== "Wait");
    if (work.length === 0) {
      const again = await this.#options.garbage.collect(desired, observed, syncState);
      return { progressed: false, wakeAt: wakeAt ?? again, error: undefined };
    }
    const onHook = (): void => void this.#publishFresh(desired, syncState);
    const input = { desired, observed, syncState, signal, onHook };
    const error = await this.#options.performer.perform(work, input);
    const after = await this.#observe(desired.uid, syncState);
    syncState.noteExits(desired, after);
    this.#publish(desired, syncState, after);
    // A call that failed may have taken effect: the retry observes the pod first.
    if (error !== undefined) syncState.unsure = true;
    return { progressed: error === undefined, wakeAt, error };
  }

  #publish(desired: DesiredPod, syncState: PodSyncState, observed: ObservedPod | undefined): void {
    const { failures, publisher } = this.#options;
    const failure = failures.get(desired.uid);
    const facts: PodFacts = {
      waiting: Object.fromEntries(syncState.waiting),
      replaced: syncState.replaced(desired.pod, observed),
      starting: [...syncState.starting],
    };
    if (failure === undefined) return publisher.publish(desired, observed, facts);
    const { reason: podReason, message: podMessage } = failure;
    publisher.publish(desired, observed, { ...facts, failed: true, podReason, podMessage });
  }

  /** Publishes the status as of the last observation. */
  publishCached(desired: DesiredPod, syncState: PodSyncState): void {
    this.#publish(desired, syncState, this.#options.cache.get(desired.uid));
  }

  async #publishFresh(desired: DesiredPod, syncState: PodSyncState): Promise<void> {
    try {
      this.#publish(desired, syncState, await this.#options.lifecycle.look(desired.uid));
    } catch {
      // Nothing depends on it: the sync observes the pod by itself when it is done.
    }
  }

  #decide(
    desired: DesiredPod,
    syncState: PodSyncState,
    observed: ObservedPod | undefined,
  ): readonly PodAction[] {
    const { clock, failures, prober } = this.#options;
    const failed = killReasonOf(failures.get(desired.uid));
    const context: ActionContext = {
      now: clock.monotonic(),
      restarts: Object.fromEntries(syncState.restarts),
      probes: prober.verdicts(desired.uid),
      hookFailed: syncState.hookFailed,
      hashes: desired.containerHashes,
      configDigests: syncState.config?.digests ?? {},
      ordered: syncState.ordered,
      ...(syncState.configRestarting === undefined
        ? {}
        : { configRestarting: syncState.configRestarting }),
      ...(failed === undefined ? {} : { failed }),
    };
    if (!isComingBack(desired.pod, observed, context)) syncState.configRestarting = undefined;
    return computePodActions(desired.pod, observed, context);
  }

  /** When to retry, if its volumes could not be refreshed. */
  #lookAtConfig(
    desired: DesiredPod,
    syncState: PodSyncState,
    observed: ObservedPod | undefined,
  ): Monotonic | undefined {
    const hasVolumes = usableSandbox(desired.pod, observed) !== undefined;
    const { known, again } = this.#options.config.look(desired, syncState.config, hasVolumes);
    syncState.config = known;
    return again;
  }

  /** A pod whose containers may run only once lost its sandbox before all of them had ended. */
  #judgeSandbox(
    { uid, pod }: DesiredPod,
    syncState: PodSyncState,
    observed: ObservedPod | undefined,
  ): void {
    const { failures, record } = this.#options;
    if (observed?.sandboxes[0]?.state !== "NotReady" || !neverAgain(pod, observed)) return;
    if (isFinished(pod, observed, Object.fromEntries(syncState.restarts))) return;
    if (failures.get(uid) !== undefined) return;
    failures.put(uid, SANDBOX_LOST);
    record(podEvent(pod.metadata, { type: "Warning", ...SANDBOX_LOST }));
  }

  /** When the pod exceeds activeDeadlineSeconds; undefined = never, or it has finished. */
  #judgeDeadline(
    { uid, pod }: DesiredPod,
    syncState: PodSyncState,
    observed: ObservedPod | undefined,
  ): Monotonic | undefined {
    const { bootId, clock, failures, record } = this.#options;
    const since = syncState.begin(activeSince(observed, bootId));
    const at = deadlineOf(pod.spec, since);
    if (at === undefined || failures.get(uid) !== undefined) return undefined;
    if (isFinished(pod, observed, Object.fromEntries(syncState.restarts))) return undefined;
    if (clock.monotonic() < at) return at;
    failures.put(uid, DEADLINE_EXCEEDED);
    record(podEvent(pod.metadata, { type: "Normal", ...DEADLINE_EXCEEDED }));
    return undefined;
  }

  #recordBackOffs(pod: Pod, actions: readonly PodAction[]): void {
    for (const action of actions) {
      if (action.type !== "Wait") continue;
      const { container } = action;
      const message = `Back-off restarting failed container ${container} in pod ${podName(pod)}`;
      const event = { type: "Warning", reason: "BackOff", message } as const;
      this.#options.record(containerEvent(pod, container, event));
    }
  }

  async #observe(uid: PodUID, syncState: PodSyncState): Promise<ObservedPod | undefined> {
    const { cache, lifecycle } = this.#options;
    const observed = syncState.unsure ? await lifecycle.look(uid) : cache.get(uid);
    syncState.unsure = false;
    syncState.settleKills(observed);
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

/** When the error says that a retry makes sense. */
export function retryTime(error: unknown): Monotonic | undefined {
  return error instanceof AgentError ? error.retryAt : undefined;
}
