// What one worker remembers of one life of one pod; gone with the process, for the rest is in the runtime's labels.

import type { DesiredPod } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import type { Clock } from "../lib/clock.ts";
import type { PodAction } from "../runtime/actions.ts";
import { rememberExit, rememberRestart, type RestartMemory } from "../runtime/container-restart.ts";
import { newestContainer } from "../runtime/actions.ts";
import type { ReservedAttempts } from "../runtime/pod-runtime.ts";
import type { BackoffPolicy } from "../lib/backoff.ts";
import { reasonOf, messageOf } from "../lib/errors.ts";
import type { WaitingFact } from "../status/facts.ts";

export class PodLife {
  readonly restarts = new Map<string, RestartMemory>();
  readonly reserved: ReservedAttempts = { sandbox: 0, containers: new Map() };
  readonly waiting = new Map<string, WaitingFact>();
  /** Something was done to the pod since the last look at it: look before deciding. */
  unsure = false;

  readonly #policy: BackoffPolicy;
  readonly #clock: Clock;

  constructor(policy: BackoffPolicy, clock: Clock) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /** Back-off counts from when this process saw the exit, not from what a clock wrote on it. */
  noteExits(desired: DesiredPod, observed: ObservedPod | undefined): void {
    for (const { name } of desired.pod.spec.containers) {
      const newest = newestContainer(observed, name);
      if (newest?.state !== "Exited") continue;
      const exit = { id: newest.id, seenAt: this.#clock.monotonic() };
      this.restarts.set(name, rememberExit(this.restarts.get(name), exit, this.#policy));
    }
  }

  /** Called before the start, so that a start that fails waits longer too. */
  noteStart(container: string, observed: ObservedPod | undefined): void {
    if (newestContainer(observed, container)?.state !== "Exited") return;
    const now = this.#clock.monotonic();
    this.restarts.set(container, rememberRestart(this.restarts.get(container), now, this.#policy));
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

  noteFailure(containers: readonly string[], error: unknown): void {
    const fact = { reason: reasonOf(error, "SyncError"), message: messageOf(error) };
    for (const name of containers) this.waiting.set(name, fact);
  }
}
