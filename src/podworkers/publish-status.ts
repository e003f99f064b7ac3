// Performs: publishes the status of a pod as observed, and keeps its probes in line with it.

import type { DesiredPod, Rejection } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Clock } from "../lib/clock.ts";
import type { FieldError } from "../lib/result.ts";
import { isAbout } from "../source/precedence.ts";
import type { ProbeManager } from "../prober/probe-manager.ts";
import type { PodFacts } from "../status/pod-facts.ts";
import { generatePodStatus } from "../status/generate-pod-status.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import type { StatusManager } from "../status/status-manager.ts";

export interface StatusPublisherOptions {
  readonly statuses: StatusManager;
  readonly cache: Pick<PodCache, "get">;
  readonly workers: { notifyDependents(): void };
  readonly prober: Pick<ProbeManager, "update" | "verdicts" | "forget">;
  readonly addresses: { hostIPs(): readonly string[] };
  readonly desired: { readonly state: { readonly rejected: readonly Rejection[] } };
  /** Why the node itself ends a pod; absent, or undefined of one pod = it does not. */
  readonly endedByNode?: (uid: PodUID) => Pick<FieldError, "code" | "message"> | undefined;
  readonly clock: Clock;
  readonly onStatusChanged: (uid: PodUID) => void;
  /** The pod has ended for good and occupies no resources any more. */
  readonly onPodGone: () => void;
}

export class StatusPublisher {
  readonly #options: StatusPublisherOptions;

  constructor(options: StatusPublisherOptions) {
    this.#options = options;
  }

  publish({ uid, pod }: DesiredPod, observed: ObservedPod | undefined, facts: PodFacts): void {
    const { statuses, prober, addresses, clock } = this.#options;
    prober.update(pod, observed, { terminating: facts.terminating === true });
    const status = generatePodStatus({
      pod,
      observed,
      hostIPs: addresses.hostIPs(),
      facts: { ...facts, probes: prober.verdicts(uid) },
      previous: statuses.status(uid),
      now: clock.now(),
    });
    if (statuses.set(uid, pod, status)) this.#changed(uid);
  }

  /** As published. */
  startTime(uid: PodUID): string | undefined {
    return this.#options.statuses.status(uid)?.startTime;
  }

  /** As of the last observation. */
  publishTerminating(desired: DesiredPod): void {
    const observed = this.#options.cache.get(desired.uid);
    const facts = { waiting: {}, terminating: true };
    const ended = this.#options.endedByNode?.(desired.uid);
    if (ended !== undefined) {
      const { code: podReason, message: podMessage } = ended;
      const disrupted = { reason: "TerminationByKubelet", message: podMessage };
      const failure = { failed: true, podReason, podMessage, disruption: disrupted };
      return this.publish(desired, observed, { ...facts, ...failure });
    }
    const disruption = disruptionOf(desired, this.#options.desired.state.rejected);
    this.publish(desired, observed, disruption === undefined ? facts : { ...facts, disruption });
  }

  /** The worker has ended: nothing of the pod is left. */
  forget(uid: PodUID): void {
    const { prober, statuses } = this.#options;
    prober.forget(uid);
    if (statuses.forget(uid)) this.#changed(uid);
  }

  #changed(uid: PodUID): void {
    const { statuses, workers, onStatusChanged, onPodGone } = this.#options;
    onStatusChanged(uid);
    workers.notifyDependents();
    if (statuses.isOver(uid)) onPodGone();
  }
}

/** The pod is still wanted, but a pod of a higher-ranking source has taken its host port or its room. k8s: DisruptionTarget */
export function disruptionOf(
  desired: DesiredPod,
  rejected: readonly Rejection[],
): PodFacts["disruption"] {
  const why = rejected.find(
    (one) => /^(?:HostPortConflict|OutOf.+)$/.test(one.code) && isAbout(one, desired),
  );
  return why === undefined
    ? undefined
    : { reason: "TerminationByKubelet", message: `preempted: ${why.message}` };
}
