// Performs: reports each turn of an update once: in the log, and as an event of its pod.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import type { PodRolloutStatus, RolloutStatus } from "../api/pod/rollout.ts";
import { failureWords, runsInstead, takenBack } from "../api/pod/update-condition.ts";
import { podEvent, type RecordEvent, type EventContent } from "../api/v1/events.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Logger } from "../lib/logger.ts";

/** The status of a pod's update at this moment. */
export interface PodTurn extends PodRolloutStatus {
  readonly source: SourceName;
  readonly desired: DesiredPod;
  /** Its last good revision runs. */
  readonly isBack: boolean;
}

export interface Turns {
  /** On trial, or failed without a way back. */
  readonly open: ReadonlySet<PodUID>;
  /** Those whose images can be pulled meanwhile. */
  readonly waiting: readonly DesiredPod[];
}

interface RolloutEventsOptions {
  readonly log: Logger;
  readonly record: RecordEvent;
}

export class RolloutEvents {
  readonly #options: RolloutEventsOptions;
  #reported: ReadonlyMap<string, RolloutStatus> = new Map();

  constructor(options: RolloutEventsOptions) {
    this.#options = options;
  }

  /** After a restart of the agent a rollback is reported again. */
  report(turns: readonly PodTurn[]): Turns {
    const before = this.#reported;
    this.#reported = new Map(turns.map((turn) => [keyOf(turn), turn.status]));
    for (const turn of turns) this.#reportOne(turn, before.get(keyOf(turn)));
    const open = turns.filter(({ status }) => ["OnTrial", "Failed"].includes(status.type));
    const waiting = turns.filter(({ desired, status, isBack }) => {
      const waits = status.type === "Held" || (status.type === "OnTrial" && isBack);
      return waits && desired.stopFirst !== true;
    });
    return {
      open: new Set(open.map(({ desired }) => desired.uid)),
      waiting: waiting.map(({ desired }) => desired),
    };
  }

  #reportOne(turn: PodTurn, before: RolloutStatus | undefined): void {
    const { log, record } = this.#options;
    const { source, name, desired } = turn;
    const event = statusEvent(turn, before);
    if (event === undefined) return;
    const { reason, message } = event;
    log.warn("an update", { source, pod: name, reason, message });
    record(podEvent(desired.pod.metadata, event));
  }
}

/** undefined = nothing changed, or nothing that a person has to know. */
function statusEvent(
  { status, goodGeneration }: PodRolloutStatus,
  before: RolloutStatus | undefined,
): EventContent | undefined {
  if (JSON.stringify(status) === JSON.stringify(before)) return undefined;
  switch (status.type) {
    case "Good":
    case "OnTrial":
      return undefined;
    case "Held":
      return { type: "Normal", reason: "UpdateHeld", message: status.why };
    case "Failed":
      return { type: "Warning", reason: "UpdateFailed", message: failureWords(status.why) };
    case "RolledBack": {
      const why = failureWords(status.why);
      const message = takenBack(status, why) + runsInstead(goodGeneration);
      return { type: "Warning", reason: "RolledBack", message };
    }
  }
}

function keyOf({ source, name }: PodTurn): string {
  return `${source} ${name}`;
}
