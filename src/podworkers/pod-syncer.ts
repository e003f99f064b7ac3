// Performs: one sync of one pod: observe, decide, publish, act, observe again, publish. kubelet: syncPod, SyncPod

import type { Edges } from "../edges.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { containerEvent, podEvent, type EventType, type RecordEvent } from "../api/v1/events.ts";
import { podName, type Pod } from "../api/v1/pod.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import { computePodActions, neverAgain } from "../runtime/decide/compute-pod-actions.ts";
import { isComingBack } from "../runtime/decide/restart-on-config-change.ts";
import { isFinished, usableSandbox } from "../runtime/observe/newest.ts";
import type { ActionContext, KillReason, PodAction } from "../runtime/decide/pod-action.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { ProbeManager } from "../prober/probe-manager.ts";
import type { PodFacts } from "../status/pod-facts.ts";
import type { StatusPublisher } from "./publish-status.ts";
import { lookAtConfig, type PodObjects } from "./refresh-config.ts";
import { activeSince, deadlineOf, DEADLINE_EXCEEDED } from "./active-deadline.ts";
import type { GarbageCollector } from "./garbage-collector.ts";
import type { Store } from "../store/store.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { ActionPerformer } from "./perform-actions.ts";
import type { PodLook, PodSyncState } from "./pod-sync-state.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";

interface PodSyncerOptions extends Pick<Edges, "clock" | "log" | "bootId"> {
  readonly garbage: Pick<GarbageCollector, "collect">;
  readonly performer: ActionPerformer;
  readonly record: RecordEvent;
  readonly cache: Pick<PodCache, "get">;
  readonly lifecycle: Pick<PodLifecycle, "look">;
  readonly prober: Pick<ProbeManager, "verdicts">;
  /** The rows of pods that have failed as a whole. */
  readonly failures: Pick<Store["failures"], "get" | "put">;
  readonly objects: PodObjects;
  readonly publisher: StatusPublisher;
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
    const isCached = isKnown(syncState);
    const look = await this.#observe(desired, syncState);
    // Also a sandbox that a call made whose answer was lost.
    if (usableSandbox(desired.pod, look.observed) !== undefined) syncState.forgetPodFailure();
    this.#judgeSandbox(look);
    const deadline = this.#judgeDeadline(look);
    const lookAgain = this.#lookAtConfig(look);
    const actions = this.#decide(look);
    if (isCached && actions.some(({ type }) => type === "KillContainer")) {
      // The cache may lack the exit of the container, above all while the runtime is away. A container that has ended with 0
      // and is noted as killed would run again. kubelet: no sync while the runtime does not answer
      syncState.lookFirst = true;
      return this.sync(desired, syncState, signal);
    }
    syncState.noteDecision(actions);
    this.#recordBackOffs(desired.pod, actions);
    this.#publish(look);
    const waits = actions.filter((action) => action.type === "Wait").map(({ until }) => until);
    const wakeAt = earliest([...waits, deadline, lookAgain]);
    const work = actions.filter(({ type }) => type !== "Wait");
    if (work.length === 0) {
      const again = await this.#options.garbage.collect(look);
      return { progressed: false, wakeAt: wakeAt ?? again, error: undefined };
    }
    const onHook = (): void => void this.#publishFresh(desired, syncState);
    const life = withoutUndefined({ startTime: this.#options.publisher.startTime(desired.uid) });
    // Not from the cache: it lacks what this sync has started, and the end of that.
    const isOver = async (): Promise<boolean> =>
      this.#isOver({ ...look, observed: await this.#options.lifecycle.look(desired.uid) });
    const input = { ...look, ...life, signal, onHook, isOver };
    const error = await this.#options.performer.perform(work, input);
    this.#publish(await this.#observe(desired, syncState));
    // A call that failed may take effect after this look: the retry observes the pod first.
    syncState.lookFirst = error !== undefined;
    return { progressed: error === undefined, wakeAt, error };
  }

  #publish({ desired, syncState, observed }: PodLook): void {
    const { failures, publisher } = this.#options;
    const failure = failures.get(desired.uid);
    const facts: PodFacts = {
      waiting: Object.fromEntries(syncState.waiting),
      replaced: syncState.replaced(desired.pod, observed),
      starting: [...syncState.starting],
      restartingAll: syncState.run(desired.pod, observed).sources.length > 0,
    };
    if (failure === undefined) return publisher.publish(desired, observed, facts);
    const { reason: podReason, message: podMessage } = failure;
    publisher.publish(desired, observed, { ...facts, failed: true, podReason, podMessage });
  }

  /** Publishes the status as of the last observation. */
  publishCached(desired: DesiredPod, syncState: PodSyncState): void {
    this.#publish({ desired, syncState, observed: this.#options.cache.get(desired.uid) });
  }

  async #publishFresh(desired: DesiredPod, syncState: PodSyncState): Promise<void> {
    try {
      const observed = await this.#options.lifecycle.look(desired.uid);
      this.#publish({ desired, syncState, observed });
    } catch {
      // Nothing depends on it: the sync observes the pod by itself when it is done.
    }
  }

  #decide({ desired, syncState, observed }: PodLook): readonly PodAction[] {
    const { clock, failures, prober } = this.#options;
    const { configRestarting } = syncState;
    const failed = desired.ended === true ? "Finished" : killReasonOf(failures.get(desired.uid));
    const context: ActionContext = {
      now: clock.monotonic(),
      restarts: Object.fromEntries(syncState.restarts),
      probes: prober.verdicts(desired.uid),
      hookFailed: syncState.hookFailed,
      hashes: desired.containerHashes,
      configDigests: syncState.config?.digests ?? {},
      ordered: syncState.ordered,
      ...withoutUndefined({ configRestarting, failed }),
    };
    if (!isComingBack(desired.pod, observed, context)) syncState.configRestarting = undefined;
    return computePodActions(desired.pod, observed, context);
  }

  /** When to retry, if its volumes could not be refreshed. */
  #lookAtConfig({ desired, syncState, observed }: PodLook): Monotonic | undefined {
    const hasVolumes = usableSandbox(desired.pod, observed) !== undefined;
    const before = syncState.config;
    const { known, again } = lookAtConfig(desired, { ...this.#options, before, hasVolumes });
    syncState.config = known;
    return again;
  }

  /** A pod whose containers may run only once lost its sandbox before all of them had ended. */
  #judgeSandbox(look: PodLook): void {
    const { desired, observed, syncState } = look;
    const isLost = observed?.sandboxes[0]?.state === "NotReady";
    const restarts = Object.fromEntries(syncState.restarts);
    if (!isLost || !neverAgain(desired.pod, observed, restarts) || this.#isOver(look)) return;
    this.#fail(desired, SANDBOX_LOST, "Warning");
  }

  /** When the pod exceeds activeDeadlineSeconds; undefined = never, or it has finished. */
  #judgeDeadline(look: PodLook): Monotonic | undefined {
    const { desired, syncState, observed } = look;
    const { bootId, clock } = this.#options;
    const since = syncState.begin(activeSince(observed, bootId));
    const at = deadlineOf(desired.pod.spec, since);
    if (at === undefined || this.#isOver(look)) return undefined;
    if (clock.monotonic() < at) return at;
    this.#fail(desired, DEADLINE_EXCEEDED, "Normal");
    return undefined;
  }

  /** Finished, or failed as a whole. */
  #isOver({ desired: { uid, pod }, syncState, observed }: PodLook): boolean {
    if (this.#options.failures.get(uid) !== undefined) return true;
    return isFinished(pod, observed, Object.fromEntries(syncState.restarts));
  }

  #fail({ uid, pod }: DesiredPod, failure: PodFailure, type: EventType): void {
    const { failures, record } = this.#options;
    failures.put(uid, failure);
    record(podEvent(pod.metadata, { type, ...failure }));
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

  /**
   * After calls of unknown effect for a pod of which nothing is known, it asks the runtime: if they came to nothing, the
   * node's decision since then counts.
   */
  async settle(desired: DesiredPod, syncState: PodSyncState): Promise<void> {
    if (!syncState.unsure || this.#options.cache.get(desired.uid) !== undefined) return;
    await this.#observe(desired, syncState);
    // Until its turn comes, a late call may still take effect.
    syncState.lookFirst = true;
  }

  async #observe(desired: DesiredPod, syncState: PodSyncState): Promise<PodLook> {
    const { cache, lifecycle } = this.#options;
    const { uid } = desired;
    const observed = isKnown(syncState) ? cache.get(uid) : await lifecycle.look(uid);
    syncState.unsure = false;
    syncState.lookFirst = false;
    syncState.settleKills(observed);
    syncState.noteExits(desired, observed);
    return { desired, syncState, observed };
  }
}

/** Whether the newest look at the pod is as good as another one. */
function isKnown({ unsure, lookFirst }: PodSyncState): boolean {
  return !unsure && !lookFirst;
}

const SANDBOX_LOST: PodFailure = {
  reason: "SandboxLost",
  message: "The pod's sandbox is gone, and its containers may run only once",
};

function killReasonOf(failure: PodFailure | undefined): KillReason | undefined {
  if (failure === undefined) return undefined;
  return failure.reason === DEADLINE_EXCEEDED.reason ? "DeadlineExceeded" : "SandboxChanged";
}

/** When a retry makes sense, if the error contains it. */
export function retryTime(error: unknown): Monotonic | undefined {
  return error instanceof AgentError ? error.retryAt : undefined;
}
