// Performs: keeps the statuses of pods that the node does not admit: they have no worker, and are shown as Failed.
// kubelet: rejectPod

import type { NotAdmittedPod } from "../api/pod/desired-pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { Clock } from "../lib/clock.ts";
import { generatePodStatus } from "../status/generate-pod-status.ts";
import type { PodEntry } from "./pod-list.ts";

type Entry = Omit<PodEntry, "nodeName">;

/** The pod ran here, and the node has ended it. */
const HAS_RUN: ReadonlySet<string> = new Set(["Evicted", "Terminated"]);

export class NotAdmitted {
  readonly #clock: Clock;
  #entries: ReadonlyMap<PodUID, Entry> = new Map();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** All of them at this moment. */
  set(pods: readonly NotAdmittedPod[]): void {
    this.#entries = new Map(pods.map((one) => [one.desired.uid, this.#entry(one)]));
  }

  /** Those whose name none of `shown` has: what runs under the name of a refused spec is shown itself. */
  beside(shown: readonly Entry[]): readonly Entry[] {
    const names = new Set(shown.map(({ pod }) => podName(pod)));
    return [...this.#entries.values()].filter(({ pod }) => !names.has(podName(pod)));
  }

  #entry({ desired, why }: NotAdmittedPod): Entry {
    const { uid, pod, source, sourceRef, specHash } = desired;
    const status = this.#status(desired, why, this.#entries.get(uid)?.status);
    return { pod, source, sourceRef, specHash, status };
  }

  #status(
    { pod }: NotAdmittedPod["desired"],
    { code, message }: NotAdmittedPod["why"],
    previous: PodStatus | undefined,
  ): PodStatus {
    return generatePodStatus({
      pod,
      observed: undefined,
      hostIPs: [],
      facts: {
        waiting: {},
        failed: true,
        podReason: code,
        podMessage: HAS_RUN.has(code) ? message : `Pod was rejected: ${message}`,
      },
      previous,
      now: this.#clock.now(),
    });
  }
}
