// Performs: keeps that the node shuts down, and which pods were stopped for that, from before the first stop. It outlives the
// process, so that the next one goes on with it, and ends with the boot.

import type { Edges } from "../../edges.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import { messageOf } from "../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { FieldError } from "../../lib/result.ts";

/** kubelet: nodeShutdownReason, nodeShutdownMessage */
const STOPPED: FieldError = {
  code: "Terminated",
  path: "",
  message: "Pod was terminated in response to imminent node shutdown.",
};
/** kubelet: nodeShutdownNotAdmittedReason, nodeShutdownNotAdmittedMessage */
const NOT_ADMITTED: FieldError = {
  code: "NodeShutdown",
  path: "",
  message: "Pod was rejected as the node is shutting down.",
};

/** null = the pod's own grace period. */
export type ShutdownSeconds = number | null;

const KEY = "shutdown";

export type ShutdownStateOptions = Pick<Edges, "log" | "bootId"> & {
  readonly store: Pick<Edges["store"], "meta">;
};

export class ShutdownState {
  readonly #options: ShutdownStateOptions;
  /** Pods that were stopped, with their seconds; undefined = the node does not shut down. */
  #stopped: Map<PodUID, ShutdownSeconds> | undefined;

  constructor(options: ShutdownStateOptions) {
    this.#options = options;
    const { store, bootId } = options;
    const text = store.meta.get(KEY);
    const stored: unknown = text === undefined ? undefined : parseJson(text);
    if (isJsonObject(stored) && stored["bootId"] === bootId)
      this.#stopped = secondsOf(stored["stopped"]);
    // Another boot has ended it.
    else if (text !== undefined) this.#try(() => store.meta.remove(KEY));
  }

  get isActive(): boolean {
    return this.#stopped !== undefined;
  }

  begin(): void {
    if (this.isActive) return;
    this.#stopped = new Map();
    this.#write();
  }

  /** Before the pods are stopped. */
  add(stopped: ReadonlyMap<PodUID, ShutdownSeconds>): void {
    if (this.#stopped === undefined) return;
    for (const [uid, seconds] of stopped) this.#stopped.set(uid, seconds);
    this.#write();
  }

  /** From now on pods may start. Throws if that cannot be stored: the node shuts down on. */
  end(): void {
    this.#options.store.meta.remove(KEY);
    this.#stopped = undefined;
  }

  /** Most seconds that a stopped pod gets; undefined = its own, or the shutdown has not stopped it. */
  grace(uid: PodUID): number | undefined {
    return this.#stopped?.get(uid) ?? undefined;
  }

  /** Why a pod that was stopped may not run; undefined = the shutdown has not stopped it. */
  stopped(uid: PodUID): FieldError | undefined {
    return this.#stopped?.has(uid) === true ? STOPPED : undefined;
  }

  /** Why the pod may not start; undefined = it may. */
  refusal(uid: PodUID): FieldError | undefined {
    return this.isActive ? (this.stopped(uid) ?? NOT_ADMITTED) : undefined;
  }

  /** Sentences for the node's condition `Ready`. */
  problems(): readonly string[] {
    return this.isActive ? ["node is shutting down"] : [];
  }

  /** A full disk delays no shutdown. */
  #write(): void {
    const { store, bootId } = this.#options;
    const stopped = Object.fromEntries(this.#stopped ?? []);
    this.#try(() => store.meta.set(KEY, JSON.stringify({ bootId, stopped })));
  }

  #try(write: () => void): void {
    try {
      write();
    } catch (error) {
      const message = "cannot store the state of the shutdown; a restart of the agent forgets it";
      this.#options.log.warn(message, { error: messageOf(error) });
    }
  }
}

function secondsOf(stored: unknown): Map<PodUID, ShutdownSeconds> {
  const entries = isJsonObject(stored) ? Object.entries(stored) : [];
  return new Map(entries.map(([uid, value]) => [uid, typeof value === "number" ? value : null]));
}
