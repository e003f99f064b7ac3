// Performs: says each turn of an update once: to the log's reader, and as an event of its pod.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { PodStanding } from "../api/pod/rollout.ts";
import type { Logger } from "../lib/logger.ts";
import { standingEvent } from "./rollout-event.ts";

/** How a pod of a document stands at this moment. */
export interface PodTurn {
  readonly source: SourceName;
  readonly desired: DesiredPod;
  readonly standing: PodStanding;
  /** What was good before runs. */
  readonly isBack: boolean;
}

export interface Turns {
  /** On trial, or failed without a way back. */
  readonly open: ReadonlySet<PodUID>;
  /** Those whose images can come meanwhile. */
  readonly waiting: readonly DesiredPod[];
}

export class StandingsTold {
  readonly #options: { readonly log: Logger; readonly record: RecordEvent };
  #said: ReadonlyMap<string, PodStanding["standing"]> = new Map();

  constructor(options: { readonly log: Logger; readonly record: RecordEvent }) {
    this.#options = options;
  }

  /** After a restart what was taken back is told again. */
  tell(turns: readonly PodTurn[]): Turns {
    const before = this.#said;
    this.#said = new Map(turns.map((turn) => [keyOf(turn), turn.standing.standing]));
    for (const turn of turns) this.#tellOne(turn, before.get(keyOf(turn)));
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

  #tellOne(turn: PodTurn, before: PodStanding["standing"] | undefined): void {
    const { log, record } = this.#options;
    const { source, desired, standing } = turn;
    const said = standingEvent(standing, before);
    if (said === undefined) return;
    const { reason, message } = said;
    log.warn("an update", { source, pod: standing.name, reason, message });
    record(podEvent(desired.pod.metadata, said));
  }
}

function keyOf({ source, standing }: PodTurn): string {
  return `${source} ${standing.name}`;
}
