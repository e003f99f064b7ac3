// Performs: keeps the pod cache up to date and reports changed pods. A relist is authoritative, events only make it
// faster. kubelet: PLEG, evented PLEG

import type { Edges } from "../edges.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { RuntimeEvent, RuntimeEvents, TaskEvent } from "../containerd/runtime-events.ts";
import { deadline, type Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { jitter } from "../lib/random.ts";
import type { OomKills } from "../runtime/cgroup/oom-kills.ts";
import type { RuntimeReader } from "../runtime/observe/runtime-reader.ts";
import type { PodCache } from "./pod-cache.ts";
import { changedPods, RELIST_DEADLINE_MS, RELIST_MS } from "./relist.ts";
import { KILLED_EXIT_CODE, RecentExits, RecentIds } from "./recent-exits.ts";

interface PodLifecycleOptions extends Pick<Edges, "clock" | "random" | "log" | "meter"> {
  readonly reader: RuntimeReader;
  readonly cache: PodCache;
  readonly onChange: (uid: PodUID) => void;
  /** The worker of a busy pod observes it when it is done. */
  readonly workers: { isBusy(uid: PodUID): boolean };
  /** `has`: asked right after the exit of a container that was killed; `note`: what was counted so far is known. */
  readonly oomKills: Pick<OomKills, "has" | "note">;
  /** The OOM killer has ended a process of the container, which may go on without it. */
  readonly onOutOfMemory: (uid: PodUID, container: string) => void;
}

/** Without a successful relist for this long the node is unhealthy. kubelet: relistThreshold */
const STALE_MS = 180_000;
/** A pause and a list that the runtime does not answer take less. */
const STUCK_MS = RELIST_MS * 1.1 + RELIST_DEADLINE_MS + 60_000;
const RESUBSCRIBE_MS = 1_000;
/** containerd deletes the task before it updates CRI's status: first and longest wait before observing again. */
const LAG_FIRST_MS = 5;
const LAG_MAX_MS = 2_000;
/** Created and Started are not urgent: the worker that caused them observes the pod itself. */
const QUIET_MS = 500;

export class PodLifecycle {
  readonly #options: PodLifecycleOptions;
  readonly #exits: RecentExits;
  readonly #observing = new Set<PodUID>();
  /** Pods with an exit event during their observation. */
  readonly #announced = new Set<PodUID>();
  readonly #again = new Set<PodUID>();
  /** Containers with an OOM event that are not known yet; others of the runtime stay unknown. */
  readonly #unreported = new RecentIds();
  #relistedAt: Monotonic;
  #hasListed = false;
  /** The loop turned last; undefined = it has not begun. */
  #turnedAt: Monotonic | undefined;
  #restart = new AbortController();

  constructor(options: PodLifecycleOptions) {
    this.#options = options;
    this.#exits = new RecentExits(options.clock);
    this.#relistedAt = options.clock.monotonic();
  }

  /** undefined = healthy, else the message for /healthz. */
  unhealthy(): string | undefined {
    const age = this.#options.clock.monotonic() - this.#relistedAt;
    if (age <= STALE_MS) return undefined;
    return `pleg: the last complete list of the runtime's pods is ${Math.round(age / 1000)} s old`;
  }

  /** Why the loop that lists again does not turn, whatever the runtime answers; undefined = it turns, or has not begun. */
  stuck(): string | undefined {
    const age = this.#options.clock.monotonic() - (this.#turnedAt ?? Infinity);
    if (!(age > STUCK_MS)) return undefined;
    return `pleg: has not tried to list the runtime's pods for ${Math.round(age / 1000)} s`;
  }

  /** After the runtime did not answer: the stream may be dead without notice, so a new one is begun, with a new list. */
  resubscribe(): void {
    this.#restart.abort();
  }

  /** Lists all pods and observes the changed ones; rejects when the runtime does not answer. */
  async relist(signal: AbortSignal): Promise<void> {
    const { cache, reader, clock, meter, oomKills } = this.#options;
    const begun = clock.monotonic();
    using limit = deadline(clock, RELIST_DEADLINE_MS, signal);
    using observation = cache.begin();
    const { number } = observation;
    const listed = await reader.listPods(limit.signal);
    const changed = changedPods(cache.all(), listed);
    // Of kills before this process it is not known whose they were.
    if (!this.#hasListed) for (const uid of listed.keys()) oomKills.note(uid);
    this.#hasListed = true;
    await Promise.all(
      changed.map(async (uid) => {
        const summary = listed.get(uid);
        const before = cache.get(uid);
        // A pod observed after this list began may be missing in it.
        if (summary === undefined && before !== undefined && before.observedAt > number) return;
        const look = summary === undefined ? undefined : await reader.inspect(summary, before);
        this.#put(uid, number, look);
        // Reported at once: a later list shows no change again, even if this relist fails.
        this.#options.onChange(uid);
      }),
    );
    cache.complete();
    this.#relistedAt = clock.monotonic();
    const seconds = (this.#relistedAt - begun) / 1000;
    meter?.observe("kubelet_pleg_relist_duration_seconds", seconds);
  }

  /** Observes one pod; the cache is up to date when it resolves. */
  async look(uid: PodUID): Promise<ObservedPod | undefined> {
    const { cache, reader } = this.#options;
    using observation = cache.begin();
    const { number } = observation;
    this.#put(uid, number, await reader.inspectPod(uid, cache.get(uid)));
    return cache.get(uid);
  }

  #put(uid: PodUID, number: number, look: Omit<ObservedPod, "observedAt"> | undefined): void {
    const { cache } = this.#options;
    const before = cache.get(uid);
    cache.put(uid, number, look === undefined ? undefined : this.#exits.correct(look));
    if (before !== undefined) this.#reportKilled(before, cache.get(uid));
    // An exit event may have arrived before the container's pod was known.
    if (this.#exits.awaits(cache.get(uid)) && !this.#options.workers.isBusy(uid)) this.#hint(uid);
  }

  /** Relists periodically, independent of events. */
  async runRelist(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      this.#turnedAt = clock.monotonic();
      await clock.sleep(jitter(random, RELIST_MS, 0.1), signal);
      if (!signal.aborted) await this.#relistOrWarn(signal);
    }
  }

  /** Subscribes for ever; lists again at the begin of every stream, because a stream replays nothing. */
  async runEvents(events: RuntimeEvents, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    while (!signal.aborted) {
      this.#restart = new AbortController();
      const either = AbortSignal.any([signal, this.#restart.signal]);
      try {
        for await (const event of events.subscribe(either)) {
          this.#onEvent(event, either);
        }
        if (!signal.aborted) log.info("event stream ended");
      } catch (error) {
        if (!signal.aborted) log.warn("event stream broke", { error: messageOf(error) });
      }
      await clock.sleep(jitter(random, RESUBSCRIBE_MS, 0.5), signal);
    }
  }

  #onEvent(event: RuntimeEvent, signal: AbortSignal): void {
    const { cache, clock, workers } = this.#options;
    switch (event.type) {
      case "Subscribed":
        void this.#relistOrWarn(signal);
        return;
      case "Exited":
        if (this.#wasOutOfMemory(event)) this.#onOutOfMemory(event.id);
        this.#exits.add(event.id, event.exit);
        this.#onExit(cache.ownerOf(event.id));
        return;
      case "OOM":
        // After an exit that the kernel's counter has explained this is the same event.
        if (!this.#exits.isOutOfMemory(event.id) || !this.#exits.has(event.id))
          this.#onOutOfMemory(event.id);
        this.#onExit(cache.ownerOf(event.id));
        return;
      case "Created":
      case "Started":
      case "Deleted": {
        const uid = cache.ownerOf(event.id);
        if (uid === undefined || isKnown(cache.get(uid), event)) return;
        clock.after(QUIET_MS, () => {
          if (!isKnown(cache.get(uid), event) && !workers.isBusy(uid)) this.#hint(uid);
        });
      }
    }
  }

  /** Asks the kernel if the runtime has reported no OOM before the exit. */
  #wasOutOfMemory({ id, exit }: TaskEvent): boolean {
    const { cache, oomKills } = this.#options;
    const uid = cache.ownerOf(id);
    if (uid === undefined) return false;
    if (exit?.code === KILLED_EXIT_CODE && !this.#exits.isOutOfMemory(id))
      return oomKills.has(uid, id);
    // A kill within the container that did not end it.
    oomKills.note(uid);
    return false;
  }

  #onOutOfMemory(id: string): void {
    this.#exits.addOutOfMemory(id);
    const uid = this.#options.cache.ownerOf(id);
    if (uid === undefined) this.#unreported.add(id);
    else {
      this.#options.oomKills.note(uid);
      this.#options.onOutOfMemory(uid, id);
    }
  }

  /** Kills whose container was not known yet, or of which there was no event. */
  #reportKilled(before: ObservedPod, after: ObservedPod | undefined): void {
    for (const { id, state, reason } of after?.containers ?? []) {
      const isKilled = state === "Exited" && reason === "OOMKilled";
      const isNew =
        isKilled && before.containers.every((one) => one.id !== id || one.state !== state);
      if (this.#unreported.delete(id) || (isNew && !this.#exits.isOutOfMemory(id)))
        this.#onOutOfMemory(id);
    }
  }

  async #relistOrWarn(signal: AbortSignal): Promise<void> {
    try {
      await this.relist(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn("relist failed", { error: messageOf(error) });
    }
  }

  /** Applies the exit at once; the runtime's own record follows. */
  #onExit(uid: PodUID | undefined): void {
    const { cache, workers, onChange } = this.#options;
    const known = uid === undefined ? undefined : cache.get(uid);
    if (uid === undefined || known === undefined) return;
    const corrected = this.#exits.correct(known);
    if (corrected !== known) {
      // Keeps the number of the observation: one in progress began later and replaces it.
      cache.put(uid, known.observedAt, corrected);
      onChange(uid);
    }
    if (workers.isBusy(uid)) return;
    if (this.#observing.has(uid)) this.#announced.add(uid);
    this.#hint(uid);
  }

  #hint(uid: PodUID): void {
    if (this.#observing.has(uid)) {
      this.#again.add(uid);
      return;
    }
    this.#observing.add(uid);
    void this.#observeUntilRecorded(uid);
  }

  /** Observes the pod until the runtime's own record shows every announced exit. */
  async #observeUntilRecorded(uid: PodUID): Promise<void> {
    const { clock, cache, log, onChange } = this.#options;
    try {
      let wait = LAG_FIRST_MS;
      do {
        this.#again.delete(uid);
        await this.look(uid);
        if (!this.#exits.awaits(cache.get(uid))) {
          wait = LAG_FIRST_MS;
          continue;
        }
        await clock.sleep(wait);
        // The record of an exit announced meanwhile may take as long again.
        wait = this.#announced.delete(uid) ? LAG_FIRST_MS : wait * 2;
        this.#again.add(uid);
      } while (this.#again.has(uid) && wait <= LAG_MAX_MS);
    } catch (error) {
      log.warn("observing a pod failed", { uid, error: messageOf(error) });
    } finally {
      this.#observing.delete(uid);
      this.#announced.delete(uid);
    }
    onChange(uid);
  }
}

/** Whether the cache already shows the event, so that no observation is needed. */
function isKnown(pod: ObservedPod | undefined, event: TaskEvent): boolean {
  const container = pod?.containers.find(({ id }) => id === event.id);
  const sandbox = pod?.sandboxes.find(({ id }) => id === event.id);
  switch (event.type) {
    case "Created":
      return container !== undefined || sandbox !== undefined;
    case "Started":
      return container !== undefined ? container.state !== "Created" : sandbox !== undefined;
    case "Exited":
      return container?.state === "Exited" || sandbox?.state === "NotReady";
    case "Deleted":
      return container === undefined && sandbox === undefined;
    case "OOM":
      return true;
  }
}
