// Performs: what one worker remembers of one life of one pod; gone with the process but for what `KillMarks` writes
// down, for the rest is in the runtime's labels.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ObservedPod, KilledInstance, KilledInstances } from "../api/pod/observed-pod.ts";
import { backoffMaxMs } from "../api/pod/pod-annotations.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import { restartsAfterKill } from "../api/pod/restart-policy.ts";
import type { BackoffPolicy } from "../lib/backoff.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { reasonOf, messageOf } from "../lib/errors.ts";
import {
  crashLoopPolicy,
  rememberExit,
  rememberKill,
  rememberRestart,
  type RestartMemory,
} from "../runtime/decide/container-restart.ts";
import { GracePeriod } from "../runtime/grace-period.ts";
import { newestContainer } from "../api/pod/newest-observed.ts";
import type { PodAction } from "../runtime/decide/pod-action.ts";
import type { ReservedAttempts } from "../runtime/decide/action-input.ts";
import type { WaitingFact } from "../status/facts.ts";
import type { KnownConfig } from "./config-changes.ts";
import type { KillMarks } from "./kill-marks.ts";

export interface PodLifeOptions {
  /** The longest pause between two restarts of a crashing container, unless the pod says so. */
  readonly maxBackoffMs: number;
  readonly clock: Clock;
  readonly kills: KillMarks;
}

export class PodLife {
  readonly restarts = new Map<string, RestartMemory>();
  readonly reserved: ReservedAttempts = { sandbox: 0, containers: new Map() };
  readonly waiting = new Map<string, WaitingFact>();
  /** Containers that are being started: one that runs has yet to end its postStart hook. */
  readonly starting = new Set<string>();
  /** Ids of containers whose postStart hook failed. */
  readonly hookFailed = new Set<string>();
  /** Something was done to the pod since the last look at it: look before deciding. */
  unsure = false;
  /** What its containers would read of local objects; undefined = not looked yet, or in vain. */
  config: KnownConfig | undefined;
  /** The container that was ended because what it reads had changed, until it runs well again. */
  configRestarting: string | undefined;
  /** Ids of containers that somebody has ordered to start anew; of this process only. */
  readonly ordered = new Set<string>();
  #activeSince: Monotonic | undefined;

  readonly #maxBackoffMs: number;
  readonly #clock: Clock;
  readonly #kills: KillMarks;
  /** Of whatever is being stopped while the pod is not yet to end. */
  readonly #graces = new Set<GracePeriod>();
  #podFact: WaitingFact | undefined;

  constructor({ maxBackoffMs, clock, kills }: PodLifeOptions) {
    this.#maxBackoffMs = maxBackoffMs;
    this.#clock = clock;
    this.#kills = kills;
    for (const [container, killed] of kills.known) this.noteKill(container, killed);
  }

  /** When the pod began in this boot: as its sandboxes tell, else with its first sync. Waiting for others is no activity. */
  begin(written?: Monotonic): Monotonic {
    this.#activeSince = written ?? this.#activeSince ?? this.#clock.monotonic();
    return this.#activeSince;
  }

  /** Back-off counts from when this process saw the exit, not from what a clock wrote on it. */
  noteExits({ pod }: DesiredPod, observed: ObservedPod | undefined): void {
    for (const { name } of allContainers(pod.spec)) {
      const newest = newestContainer(observed, name);
      if (newest?.state !== "Exited") continue;
      const exit = { id: newest.id, seenAt: this.#clock.monotonic() };
      this.restarts.set(name, rememberExit(this.restarts.get(name), exit, this.#policy(pod)));
    }
  }

  /** Called before the start, so that a start that fails waits longer too. */
  noteStart({ pod }: DesiredPod, container: string, observed: ObservedPod | undefined): void {
    if (newestContainer(observed, container)?.state !== "Exited") return;
    const now = this.#clock.monotonic();
    const memory = rememberRestart(this.restarts.get(container), now, this.#policy(pod));
    this.restarts.set(container, memory);
  }

  /** Ids of the instances that the agent ended, or is about to end, so that another takes their place. */
  replaced({ spec }: Pod, observed: ObservedPod | undefined): readonly string[] {
    return allContainers(spec).flatMap((container) => {
      const restarts = restartsAfterKill(spec, container);
      const killed = this.restarts.get(container.name)?.killed;
      const newest = newestContainer(observed, container.name);
      // Nobody can say what runs in it: it is ended whatever its restart policy says of exit codes.
      const unknown = restarts && newest?.state === "Unknown" ? [newest.id] : [];
      return killed !== undefined && (killed.always || restarts)
        ? [killed.id, ...unknown]
        : unknown;
    });
  }

  /** Before they are ended, for the process after this one (law 16). */
  writeKills(pod: Pod, killed: KilledInstances): void {
    this.#kills.write(pod, killed);
  }

  /** Whatever is written of instances that others have followed goes. */
  settleKills(observed: ObservedPod | undefined): void {
    this.#kills.settle(observed);
  }

  /** Another instance follows this one, whatever it exits with. */
  noteKill(container: string, killed: KilledInstance): void {
    this.restarts.set(container, rememberKill(this.restarts.get(container), killed));
  }

  /** It did nothing wrong: whatever it waited for before does not count against the next one. */
  noteConfigChange(container: string, id: string): void {
    const killed = { id, always: false };
    this.restarts.set(container, { backoff: undefined, exit: undefined, killed });
    this.configRestarting = container;
  }

  /** Somebody wants it anew, whatever the restart policy says, and at once. */
  noteOrder(container: string, id: string): void {
    const killed = { id, always: true };
    this.restarts.set(container, { backoff: undefined, exit: undefined, killed });
  }

  /** The container's name was taken: that start never was, and counts as nobody's failure (law 15). */
  takeBackStart(container: string, before: RestartMemory | undefined): void {
    if (before === undefined) this.restarts.delete(container);
    else this.restarts.set(container, before);
  }

  /** Why containers wait, as the newest decision sees it. */
  noteDecision(actions: readonly PodAction[]): void {
    for (const [name, fact] of this.waiting)
      if (fact.reason === "CrashLoopBackOff") this.waiting.delete(name);
    for (const action of actions) {
      if (action.type !== "Wait") continue;
      const delay = this.restarts.get(action.container)?.backoff?.delay ?? 0;
      this.waiting.set(action.container, {
        reason: action.reason,
        message: `back-off ${Math.round(delay / 1000)}s restarting failed container ${action.container}`,
      });
    }
  }

  noteFailure(container: string, error: unknown): void {
    this.waiting.set(container, factOf(error));
  }

  /** Something that every container of the pod waits for has failed. */
  notePodFailure({ spec }: Pod, error: unknown): void {
    this.#podFact = factOf(error);
    for (const { name } of allContainers(spec)) this.waiting.set(name, this.#podFact);
  }

  /** It is there now; what keeps a container for reasons of its own goes on to. */
  forgetPodFailure(): void {
    for (const [name, fact] of this.waiting) if (fact === this.#podFact) this.waiting.delete(name);
  }

  /** A grace period that `shorten` reaches until `release`. */
  grace(seconds: number): GracePeriod {
    const grace = new GracePeriod(seconds);
    this.#graces.add(grace);
    return grace;
  }

  /** What is being stopped may take no longer than this any more. */
  shorten(seconds: number): void {
    for (const grace of this.#graces) grace.shorten(seconds);
  }

  /** Nothing is being stopped any more. */
  releaseGraces(): void {
    this.#graces.clear();
  }

  #policy(pod: Pod): BackoffPolicy {
    return crashLoopPolicy(backoffMaxMs(pod) ?? this.#maxBackoffMs);
  }
}

function factOf(error: unknown): WaitingFact {
  return { reason: reasonOf(error, "SyncError"), message: messageOf(error) };
}
