// Performs: reports each turn of an update once: in the log, and as an event of its pod.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import type { PodStanding } from "../api/pod/rollout.ts";
import { failureWords, runsInstead, takenBack } from "../api/pod/update-condition.ts";
import { podEvent, type RecordEvent, type Said } from "../api/v1/events.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Logger } from "../lib/logger.ts";

/** How a pod of a document stands at this moment. */
export interface PodTurn {
  readonly source: SourceName;
  readonly desired: DesiredPod;
  readonly standing: PodStanding;
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
  #reported: ReadonlyMap<string, PodStanding["standing"]> = new Map();

  constructor(options: RolloutEventsOptions) {
    this.#options = options;
  }

  /** After a restart of the agent a rollback is reported again. */
  report(turns: readonly PodTurn[]): Turns {
    const before = this.#reported;
    this.#reported = new Map(turns.map((turn) => [keyOf(turn), turn.standing.standing]));
    for (const turn of turns) this.#reportOne(turn, before.get(keyOf(turn)));
    const open = turns.filter(({ standing: { standing } }) =>
      ["OnTrial", "Failed"].includes(standing.type),
    );
    const waiting = turns.filter(({ desired, standing: { standing }, isBack }) => {
      const waits = standing.type === "Held" || (standing.type === "OnTrial" && isBack);
      return waits && desired.stopFirst !== true;
    });
    return {
      open: new Set(open.map(({ desired }) => desired.uid)),
      waiting: waiting.map(({ desired }) => desired),
    };
  }

  #reportOne(turn: PodTurn, before: PodStanding["standing"] | undefined): void {
    const { log, record } = this.#options;
    const { source, desired, standing } = turn;
    const event = standingEvent(standing, before);
    if (event === undefined) return;
    const { reason, message } = event;
    log.warn("an update", { source, pod: standing.name, reason, message });
    record(podEvent(desired.pod.metadata, event));
  }
}

/** undefined = nothing changed, or nothing that a person has to know. */
function standingEvent(
  { standing, goodGeneration }: PodStanding,
  before: PodStanding["standing"] | undefined,
): Said | undefined {
  if (JSON.stringify(standing) === JSON.stringify(before)) return undefined;
  switch (standing.type) {
    case "Good":
    case "OnTrial":
      return undefined;
    case "Held":
      return { type: "Normal", reason: "UpdateHeld", message: standing.why };
    case "Failed":
      return { type: "Warning", reason: "UpdateFailed", message: failureWords(standing.why) };
    case "RolledBack": {
      const why = failureWords(standing.why);
      const message = takenBack(standing, why) + runsInstead(goodGeneration);
      return { type: "Warning", reason: "RolledBack", message };
    }
  }
}

function keyOf({ source, standing }: PodTurn): string {
  return `${source} ${standing.name}`;
}
