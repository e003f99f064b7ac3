// Performs: keeps what one worker remembers between two syncs of its pod. Lost with the process, but for which
// containers are stopped to be replaced: the rest can be read from the runtime's labels. If the disk cannot be written, the
// stop happens anyway, and only this process knows.

import {
  newestStarted,
  type KilledInstances,
  type ObservedPod,
  type KilledInstance,
  newestContainer,
} from "../api/pod/observed-pod.ts";
import { exitMayBeLast, restartsAfterKill } from "../api/pod/restart-policy.ts";
import { type PodUID, allContainers, type Pod } from "../api/v1/pod.ts";
import type { Store } from "../store/store.ts";
import type { Edges } from "../edges.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { backoffMaxMs } from "../api/pod/pod-annotations.ts";
import type { BackoffPolicy } from "../lib/backoff.ts";
import type { Monotonic } from "../lib/clock.ts";
import { AgentError, reasonOf, messageOf } from "../lib/errors.ts";
import {
  crashLoopPolicy,
  rememberExit,
  rememberKill,
  rememberRestart,
  type RestartMemory,
} from "../runtime/decide/crash-loop-backoff.ts";
import { podRun, type PodRun } from "../runtime/decide/restart-all-containers.ts";
import { GracePeriod } from "../runtime/grace-period.ts";
import type { PodAction } from "../runtime/decide/pod-action.ts";
import type { ReservedAttempts } from "../runtime/decide/action-input.ts";
import type { WaitingFact } from "../status/pod-facts.ts";
import type { KnownConfig } from "./refresh-config.ts";

export interface PodSyncStateOptions extends Pick<Edges, "clock" | "log"> {
  /** The longest pause between two restarts of a crashing container, unless the pod sets one. */
  readonly maxBackoffMs: number;
  readonly uid: PodUID;
  /** Which containers of a pod are stopped to be replaced: the next process must not take their exit codes for theirs. */
  readonly killed: Pick<Store["killed"], "get" | "put" | "settle">;
}

/** One pod at one moment of a sync. */
export interface PodLook {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly syncState: PodSyncState;
}

export class PodSyncState {
  readonly restarts = new Map<string, RestartMemory>();
  readonly reserved: ReservedAttempts = { sandbox: 0, containers: new Map() };
  readonly waiting = new Map<string, WaitingFact>();
  /** When a container of `waiting` is tried again, as far as what it waits for names a time. */
  readonly retries = new Map<string, Monotonic>();
  /** Containers that are being started: one that runs has yet to end its postStart hook. */
  readonly starting = new Set<string>();
  /** Ids of containers whose postStart hook failed. */
  readonly hookFailed = new Set<string>();
  /** Something was done to the pod since it was observed: observe before deciding. */
  unsure = false;
  /** A call failed, and showed nothing in the look after it: observe before deciding. */
  lookFirst = false;
  /** What its containers would read of local objects; undefined = not read yet, or reading failed. */
  config: KnownConfig | undefined;
  /** The container that was stopped because what it reads had changed, until it runs and is ready again. */
  configRestarting: string | undefined;
  /** IDs of containers whose restart was ordered; of this process only. */
  readonly ordered = new Set<string>();
  #activeSince: Monotonic | undefined;

  readonly #options: PodSyncStateOptions;
  /** Of whatever is being stopped while the pod is not yet to end. */
  readonly #graces = new Set<GracePeriod>();
  #podFact: WaitingFact | undefined;

  constructor(options: PodSyncStateOptions) {
    this.#options = options;
    const { uid, killed } = options;
    for (const [container, instance] of killed.get(uid)) this.noteKill(container, instance);
  }

  /** When the pod became active in this boot: by its sandboxes, else at its first sync. Waiting for dependencies is no activity. */
  begin(written?: Monotonic): Monotonic {
    this.#activeSince = written ?? this.#activeSince ?? this.#options.clock.monotonic();
    return this.#activeSince;
  }

  /** Back-off counts from when this process saw the exit: the wall clock of the record may be wrong. */
  noteExits({ pod }: DesiredPod, observed: ObservedPod | undefined): void {
    for (const { name } of allContainers(pod.spec)) {
      const newest = newestContainer(observed, name);
      if (newest?.state !== "Exited") continue;
      const exit = { id: newest.id, seenAt: this.#options.clock.monotonic() };
      this.restarts.set(name, rememberExit(this.restarts.get(name), exit, this.#policy(pod)));
    }
  }

  /** Called before the start, so that a start that fails waits longer too. */
  noteStart({ pod }: DesiredPod, container: string, observed: ObservedPod | undefined): void {
    // A newer one that was only made takes nothing from the end of this one. kubelet: doBackOff
    const ended = newestStarted(observed, container);
    if (ended?.state !== "Exited") return;
    // It did not fail: it starts again because another container of the pod did.
    if (this.run(pod, observed).replaced.has(ended.id)) {
      const memory = this.restarts.get(container);
      this.restarts.set(container, { ...memory, backoff: undefined, exit: undefined });
      return;
    }
    const now = this.#options.clock.monotonic();
    const memory = rememberRestart(this.restarts.get(container), now, this.#policy(pod));
    this.restarts.set(container, memory);
  }

  /** Whether its containers are restarted together. */
  run(pod: Pod, observed: ObservedPod | undefined): PodRun {
    return podRun(pod, observed, Object.fromEntries(this.restarts));
  }

  /** Ids of the instances that the agent ended, or is about to end, so that another takes their place. */
  replaced(pod: Pod, observed: ObservedPod | undefined): readonly string[] {
    const { spec } = pod;
    const run = this.run(pod, observed);
    return allContainers(spec).flatMap((container) => {
      const restarts = restartsAfterKill(spec, container);
      const { killed } = run.restarts[container.name] ?? {};
      const newest = newestContainer(observed, container.name);
      // Its state is unknown: it is replaced whatever its exit code.
      const unknown = restarts && newest?.state === "Unknown" ? [newest.id] : [];
      return killed !== undefined && (killed.always || restarts)
        ? [killed.id, ...unknown]
        : unknown;
    });
  }

  /**
   * Called before the first stop: the next process must know that the containers did not end by themselves. Only those whose
   * restart may depend on the exit code need a row.
   */
  writeKills({ spec }: Pod, killed: KilledInstances): void {
    const { killed: rows, uid, log } = this.#options;
    const needed = allContainers(spec).flatMap((container) => {
      const instance = killed.get(container.name);
      if (instance === undefined || !exitMayBeLast(spec, container)) return [];
      const comesBack = instance.always || restartsAfterKill(spec, container);
      return comesBack ? [[container.name, instance] as const] : [];
    });
    try {
      rows.put(uid, new Map(needed));
    } catch (error) {
      log.warn("cannot store which containers are being replaced", {
        uid,
        error: messageOf(error),
      });
    }
  }

  /** Removes the rows of containers that have a started successor, or that the runtime no longer has. */
  settleKills(observed: ObservedPod | undefined): void {
    const { killed: rows, uid, log } = this.#options;
    const settled = [...rows.get(uid)]
      .filter(([container, { id }]) => newestStarted(observed, container)?.id !== id)
      .map(([container]) => container);
    try {
      rows.settle(uid, settled);
    } catch (error) {
      log.warn("cannot remove the rows of replaced containers", { uid, error: messageOf(error) });
    }
  }

  /** Another instance follows this one, whatever it exits with. */
  noteKill(container: string, killed: KilledInstance): void {
    this.restarts.set(container, rememberKill(this.restarts.get(container), killed));
  }

  /** A healthy container is restarted: it did not fail, so its back-off does not apply to the next instance. */
  noteRestart(container: string, killed: KilledInstance): void {
    this.restarts.set(container, { backoff: undefined, exit: undefined, killed });
  }

  /** The container's name was reserved by a lost call: the start did not happen, and is no failure. */
  takeBackStart(container: string, before: RestartMemory | undefined): void {
    if (before === undefined) this.restarts.delete(container);
    else this.restarts.set(container, before);
  }

  /** Why containers wait, by the newest decision. */
  noteDecision(actions: readonly PodAction[]): void {
    for (const [name, fact] of this.waiting)
      if (fact.reason === "CrashLoopBackOff") this.waiting.delete(name);
    for (const action of actions) {
      if (action.type !== "Wait") continue;
      const delay = this.restarts.get(action.container)?.backoff?.delay ?? 0;
      this.retries.set(action.container, action.until);
      this.waiting.set(action.container, {
        reason: action.reason,
        message: `back-off ${Math.round(delay / 1000)}s restarting failed container ${action.container}`,
      });
    }
  }

  noteFailure(container: string, error: unknown): void {
    this.#noteRetry(container, error);
    this.waiting.set(container, factOf(error));
  }

  /** Something that every container of the pod waits for has failed. */
  notePodFailure({ spec }: Pod, error: unknown): void {
    this.#podFact = factOf(error);
    for (const { name } of allContainers(spec)) {
      this.#noteRetry(name, error);
      this.waiting.set(name, this.#podFact);
    }
  }

  #noteRetry(container: string, error: unknown): void {
    const at = error instanceof AgentError ? error.retryAt : undefined;
    if (at === undefined) this.retries.delete(container);
    else this.retries.set(container, at);
  }

  /** Reasons that one container has of its own stay. */
  forgetPodFailure(): void {
    for (const [name, fact] of this.waiting) if (fact === this.#podFact) this.waiting.delete(name);
  }

  /** A grace period that `shorten` reaches until `release`. */
  grace(seconds: number): GracePeriod {
    const grace = new GracePeriod(seconds);
    this.#graces.add(grace);
    return grace;
  }

  /** Limits what is being stopped. */
  shorten(seconds: number): void {
    for (const grace of this.#graces) grace.shorten(seconds);
  }

  /** Nothing is being stopped any more. */
  releaseGraces(): void {
    this.#graces.clear();
  }

  #policy(pod: Pod): BackoffPolicy {
    return crashLoopPolicy(backoffMaxMs(pod) ?? this.#options.maxBackoffMs);
  }
}

function factOf(error: unknown): WaitingFact {
  return { reason: reasonOf(error, "SyncError"), message: messageOf(error) };
}
