// Performs: keeps the newest status of every pod, by UID. kubelet: status manager

import type { PodStatus } from "../api/v1/pod-status.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import { sameValue } from "../lib/compare.ts";
import { isTerminal } from "./pod-phase.ts";
import { withoutUndefined } from "../lib/json.ts";

export interface PodStatusEntry {
  readonly pod: Pod;
  readonly status: PodStatus;
}

export class StatusManager {
  readonly #entries = new Map<PodUID, PodStatusEntry>();

  /**
   * Stores `status` as the newest. A terminal phase stays, with its reason, until the UID is forgotten. Returns whether
   * anything changed.
   */
  set(uid: PodUID, pod: Pod, status: PodStatus): boolean {
    const before = this.#entries.get(uid);
    const next = before === undefined ? status : keepTerminal(before.status, status);
    this.#entries.set(uid, { pod, status: next });
    if (before !== undefined && sameValue(before.status, next)) {
      // Labels and annotations can change while the status does not.
      if (sameValue(before.pod.metadata, pod.metadata)) return false;
    }
    return true;
  }

  get(uid: PodUID): PodStatusEntry | undefined {
    return this.#entries.get(uid);
  }

  /** The newest status; undefined = none yet. */
  status(uid: PodUID): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Whether the pod has ended for good. */
  isOver(uid: PodUID): boolean {
    return isTerminal(this.status(uid)?.phase ?? "Pending");
  }

  /** To be called when nothing of the pod is left. Returns whether there was a status. */
  forget(uid: PodUID): boolean {
    return this.#entries.delete(uid);
  }
}

function keepTerminal(before: PodStatus, next: PodStatus): PodStatus {
  if (!isTerminal(before.phase) || next.phase === before.phase) return next;
  const { reason: _reason, message: _message, ...rest } = next;
  return {
    ...rest,
    phase: before.phase,
    ...withoutUndefined({ reason: before.reason, message: before.message }),
  };
}
