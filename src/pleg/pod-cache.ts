// Performs: the newest look at every pod of ours, numbered by a counter instead of a clock (law 8). kubelet: pod cache

import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";

export class PodCache {
  readonly #pods = new Map<PodUID, ObservedPod>();
  /** Container and sandbox id → pod, for events that only carry an id. */
  readonly #owners = new Map<string, PodUID>();
  #counter = 0;

  /** Numbers a look before its first call: a look that began later outweighs one that ended later. */
  begin(): number {
    this.#counter += 1;
    return this.#counter;
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

  /** Puts the look with this number, unless a later one is there; undefined = the runtime has nothing of it. */
  put(uid: PodUID, number: number, look: Omit<ObservedPod, "observedAt"> | undefined): void {
    const known = this.#pods.get(uid);
    if (known !== undefined && known.observedAt > number) return;
    for (const id of idsOf(known)) this.#owners.delete(id);
    if (look === undefined) {
      this.#pods.delete(uid);
      return;
    }
    const pod = { ...look, observedAt: number };
    for (const id of idsOf(pod)) this.#owners.set(id, uid);
    this.#pods.set(uid, pod);
  }
}

function idsOf(pod: ObservedPod | undefined): readonly string[] {
  if (pod === undefined) return [];
  return [...pod.sandboxes.map(({ id }) => id), ...pod.containers.map(({ id }) => id)];
}
