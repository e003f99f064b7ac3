// Performs: which ids of the node each pod with users of its own has. Written on its sandboxes; those whose sandbox is
// still being made are known here.

import type { IdRange, ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { freeIdRange } from "./cri-config/user-namespaces.ts";

export class IdRanges {
  readonly #observed: () => Iterable<ObservedPod>;
  readonly #given = new Map<PodUID, IdRange>();

  /** `observed`: every pod that the runtime has. */
  constructor(observed: () => Iterable<ObservedPod>) {
    this.#observed = observed;
  }

  /** The same for every sandbox of a pod: its volumes may hold files of these ids. */
  of(uid: PodUID): IdRange {
    const given = this.#given.get(uid);
    if (given !== undefined) return given;
    const written = [...this.#observed()].flatMap((pod) =>
      pod.sandboxes.flatMap(({ userNamespace }) =>
        userNamespace === undefined ? [] : [{ uid: pod.uid, range: userNamespace }],
      ),
    );
    const used = [...this.#given.values(), ...written.map(({ range }) => range)];
    const range = written.find((one) => one.uid === uid)?.range ?? freeIdRange(used);
    this.#given.set(uid, range);
    return range;
  }

  /** Nothing of the pod is left. */
  forget(uid: PodUID): void {
    this.#given.delete(uid);
  }
}
