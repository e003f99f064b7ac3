// Performs: the newest observation of every pod, ordered by a counter instead of a clock. kubelet: pod cache

import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";

/** One look at the runtime, until it is disposed of. */
export interface Observation extends Disposable {
  readonly number: number;
}

export class PodCache {
  readonly #pods = new Map<PodUID, ObservedPod>();
  /** Container and sandbox id → pod, for events that have only an id. */
  readonly #owners = new Map<string, PodUID>();
  /** Pod → the observation that did not find it, while an earlier one is at work that may still report it. */
  readonly #gone = new Map<PodUID, number>();
  readonly #atWork = new Set<number>();
  #counter = 0;
  #isComplete = false;

  /** Every pod that the runtime had when this process began has been observed. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** A list of all pods has been observed. */
  complete(): void {
    this.#isComplete = true;
  }

  /** To be called before its first call: the observation that began last wins, not the one that ended last. */
  begin(): Observation {
    this.#counter += 1;
    const number = this.#counter;
    this.#atWork.add(number);
    return { number, [Symbol.dispose]: () => this.#end(number) };
  }

  get(uid: PodUID): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  all(): ReadonlyMap<PodUID, ObservedPod> {
    return this.#pods;
  }

  ownerOf(id: string): PodUID | undefined {
    return this.#owners.get(id);
  }

  /** Stores the observation with this number, unless there is a later one; undefined = the pod is not in the runtime. */
  put(uid: PodUID, number: number, look: Omit<ObservedPod, "observedAt"> | undefined): void {
    const known = this.#pods.get(uid);
    const newest = known?.observedAt ?? this.#gone.get(uid) ?? 0;
    if (newest > number) return;
    for (const id of idsOf(known)) this.#owners.delete(id);
    if (look === undefined) {
      this.#pods.delete(uid);
      this.#gone.set(uid, number);
      return;
    }
    const pod = { ...look, observedAt: number };
    for (const id of idsOf(pod)) this.#owners.set(id, uid);
    this.#pods.set(uid, pod);
  }

  #end(number: number): void {
    this.#atWork.delete(number);
    const earliest = Math.min(...this.#atWork);
    for (const [uid, goneAt] of this.#gone) if (goneAt < earliest) this.#gone.delete(uid);
  }
}

function idsOf(pod: ObservedPod | undefined): readonly string[] {
  if (pod === undefined) return [];
  return [...pod.sandboxes.map(({ id }) => id), ...pod.containers.map(({ id }) => id)];
}
