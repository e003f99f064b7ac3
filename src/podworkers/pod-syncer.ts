// Knows what one sync of one pod consists of: look, decide, say, do, look again, say. kubelet: syncPod, SyncPod

import type { DesiredPod } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import type { Pod, PodUID } from "../api/pod.ts";
import { podName } from "../api/pod.ts";
import type { CriClient } from "../cri/cri-client.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { computePodActions, usableSandbox, type PodAction } from "../runtime/actions.ts";
import { planGarbage } from "../runtime/garbage.ts";
import type { PodRuntime, SandboxRef } from "../runtime/pod-runtime.ts";
import type { PodFacts } from "../status/facts.ts";
import type { PodLife } from "./pod-life.ts";

export interface PodSyncerOptions {
  readonly cri: CriClient;
  readonly runtime: PodRuntime;
  readonly clock: Clock;
  readonly log: Logger;
  /** The cached look, and a fresh one. */
  readonly cached: (uid: PodUID) => ObservedPod | undefined;
  readonly look: (uid: PodUID) => Promise<ObservedPod | undefined>;
  /** Volume name → host path; throws AgentError in Kubernetes' words. */
  readonly setUpVolumes: (pod: Pod) => ReadonlyMap<string, string>;
  /** Rejects with `NetworkNotReady` while pods cannot get an address. */
  readonly requireNetwork: () => Promise<void>;
  readonly publish: (
    desired: DesiredPod,
    observed: ObservedPod | undefined,
    facts: PodFacts,
  ) => void;
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

const GARBAGE_AGAIN_MS = 60_000;

export class PodSyncer {
  readonly #options: PodSyncerOptions;

  constructor(options: PodSyncerOptions) {
    this.#options = options;
  }

  /** `signal` ends waiting and stops between two actions; a call under way is never cut off. */
  async sync(desired: DesiredPod, life: PodLife, signal: AbortSignal): Promise<SyncOutcome> {
    const observed = await this.#observe(desired.uid, life);
    life.noteExits(desired, observed);
    const actions = computePodActions(desired.pod, observed, {
      now: this.#options.clock.monotonic(),
      restarts: Object.fromEntries(life.restarts),
    });
    life.noteDecision(actions);
    this.say(desired, life, observed);
    const wakeAt = earliest(actions);
    const work = actions.filter(({ type }) => type !== "Wait");
    if (work.length === 0) {
      const again = await this.#collectGarbage(desired, observed, life);
      return { progressed: false, wakeAt: wakeAt ?? again, error: undefined };
    }
    const error = await this.#perform(work, { desired, observed, life, signal });
    const after = await this.#observe(desired.uid, life);
    life.noteExits(desired, after);
    this.say(desired, life, after);
    return { progressed: error === undefined, wakeAt, error };
  }

  /** Publishes what is true now. */
  say(desired: DesiredPod, life: PodLife, observed: ObservedPod | undefined): void {
    this.#options.publish(desired, observed, { waiting: Object.fromEntries(life.waiting) });
  }

  async #observe(uid: PodUID, life: PodLife): Promise<ObservedPod | undefined> {
    if (!life.unsure) return this.#options.cached(uid);
    const observed = await this.#options.look(uid);
    life.unsure = false;
    return observed;
  }

  /** In order; a failed start does not keep the other containers from starting, anything else ends the sync. */
  async #perform(work: readonly PodAction[], input: PerformInput): Promise<unknown> {
    const { desired, observed, life, signal } = input;
    let volumes: ReadonlyMap<string, string> = new Map();
    let sandbox: SandboxRef | undefined = usableSandbox(desired.pod, observed);
    const images = this.#options.runtime.fetchImages(work, desired, signal);
    let firstError: unknown;
    for (const action of work) {
      if (signal.aborted) break;
      const restarts = new Map(life.restarts);
      try {
        volumes = await this.#ready(action, desired, volumes);
        if (action.type === "StartContainer") life.noteStart(action.container, observed);
        life.unsure = true;
        const { reserved } = life;
        const all = { desired, observed, sandbox, volumes, images, reserved, signal };
        sandbox = (await this.#options.runtime.perform(action, all)) ?? sandbox;
        if (action.type === "StartContainer") life.waiting.delete(action.container);
      } catch (error) {
        if (signal.aborted) break;
        firstError ??= error;
        if (action.type === "StartContainer" && reasonOf(error, "") === "NameReserved")
          life.takeBackStart(action.container, restarts.get(action.container));
        life.noteFailure(affected(action, desired), error);
        if (action.type !== "StartContainer") break;
      }
    }
    return firstError;
  }

  /** Whatever an action needs on the host before the runtime is asked. */
  async #ready(
    action: PodAction,
    desired: DesiredPod,
    volumes: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    if (action.type !== "CreateSandbox" && action.type !== "StartContainer") return volumes;
    if (action.type === "CreateSandbox" && !desired.pod.spec.hostNetwork)
      await this.#options.requireNetwork();
    return volumes.size > 0 ? volumes : this.#options.setUpVolumes(desired.pod);
  }

  /** Old records go when everything else is done; a failure only means later: the answer says when. */
  async #collectGarbage(
    desired: DesiredPod,
    observed: ObservedPod | undefined,
    life: PodLife,
  ): Promise<Monotonic | undefined> {
    if (observed === undefined) return undefined;
    const { cri, clock, log } = this.#options;
    const garbage = planGarbage(observed);
    if (garbage.containers.length + garbage.sandboxes.length === 0) return undefined;
    life.unsure = true;
    try {
      for (const { id } of garbage.containers) await cri.removeContainer(id);
      for (const id of garbage.sandboxes) await cri.removePodSandbox(id);
    } catch (error) {
      log.debug("garbage stays", { pod: podName(desired.pod), error: messageOf(error) });
      return clock.monotonic() + GARBAGE_AGAIN_MS;
    }
    return undefined;
  }
}

interface PerformInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly life: PodLife;
  readonly signal: AbortSignal;
}

function affected(action: PodAction, desired: DesiredPod): readonly string[] {
  if ("container" in action) return [action.container];
  return desired.pod.spec.containers.map(({ name }) => name);
}

function earliest(actions: readonly PodAction[]): Monotonic | undefined {
  const times = actions.filter((action) => action.type === "Wait").map(({ until }) => until);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** When an error asks to be tried again, if it says so. */
export function retryTime(error: unknown): Monotonic | undefined {
  return error instanceof AgentError ? error.retryAt : undefined;
}
