// Performs: after an unclean stop, once the pods have been started, a light check of what is stored; while it finds damage, again
// each hour. The result is an event and a condition of the node.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { RecordEvent } from "../../api/v1/events.ts";
import type { Edges, StorageEdge } from "../../edges.ts";
import { aborted } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import type { LastStop } from "../../store/run-marker.ts";
import {
  damageCondition,
  damageIn,
  damageMessage,
  readLightReport,
  STORAGE_DAMAGED,
  type LightFinding,
} from "./light-report.ts";

interface IntegrityWatchOptions {
  readonly edges: Pick<Edges, "clock" | "log">;
  readonly storage: StorageEdge;
  readonly nodeName: string;
  readonly record: RecordEvent;
  /** Every desired pod has its worker. */
  readonly isSettled: () => boolean;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
}

const LOOK_MS = 1_000;
/** The pods come first. A node that never settles is checked as well. */
const SETTLED_MS = 30_000;
const LONGEST_WAIT_MS = 600_000;
const AGAIN_MS = 3_600_000;

const WHY: Readonly<Record<Exclude<LastStop, "Clean">, string>> = {
  Killed: "the agent ended without a clean stop while the machine ran on",
  PowerCut: "the machine went off or was reset while the agent ran",
};

export class IntegrityWatch {
  readonly #options: IntegrityWatchOptions;
  #conditions: readonly NodeCondition[] = [];

  constructor(options: IntegrityWatchOptions) {
    this.#options = options;
  }

  conditions(): readonly NodeCondition[] {
    return this.#conditions;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { edges, storage } = this.#options;
    const { clock } = edges;
    const { lastStop } = storage;
    const isUnclean = lastStop !== "Clean";
    if (isUnclean) this.#event("Warning", "UncleanStop", `${WHY[lastStop]}; a light check follows`);
    for (let isFirst = true; isUnclean && !signal.aborted; isFirst = false) {
      if (isFirst) await this.#pods(signal);
      else await clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      const isWhole = await this.#check(signal, isFirst);
      if (isWhole) break;
    }
    // A loop that ends by itself ends the agent.
    await aborted(signal);
  }

  async #pods(signal: AbortSignal): Promise<void> {
    const { edges, isSettled } = this.#options;
    const { clock } = edges;
    const until = clock.monotonic() + LONGEST_WAIT_MS;
    while (!signal.aborted && !isSettled() && clock.monotonic() < until)
      await clock.sleep(LOOK_MS, signal);
    await clock.sleep(SETTLED_MS, signal);
  }

  /** Whether nothing is damaged, as far as it could be looked at. */
  async #check(signal: AbortSignal, isFirst: boolean): Promise<boolean> {
    const { edges, storage } = this.#options;
    const { log } = edges;
    try {
      const findings = readLightReport(await storage.check(signal));
      if (findings === undefined) throw new Error("it has printed no report");
      for (const { part, file, what } of findings.filter((one) => one.outcome === "Unchecked"))
        log.warn("something stored could not be checked", { part, file, what });
      return this.#judge(damageIn(findings), isFirst);
    } catch (error) {
      if (!signal.aborted)
        log.warn("the light check after an unclean stop has failed; it is tried again in an hour", {
          reason: reasonOf(error, "CheckFailed"),
          error: messageOf(error),
        });
      return false;
    }
  }

  #judge(damage: readonly LightFinding[], isFirst: boolean): boolean {
    const before = this.#conditions;
    this.#conditions = damageCondition(damage);
    const isWhole = damage.length === 0;
    const isNew = before[0]?.message !== this.#conditions[0]?.message;
    if (isWhole && (isFirst || isNew))
      this.#event("Normal", "StorageChecked", "the light check has found no damage");
    if (!isWhole && isNew) this.#event("Warning", STORAGE_DAMAGED, damageMessage(damage));
    if (isNew) this.#options.onChange();
    return isWhole;
  }

  #event(type: "Normal" | "Warning", reason: string, message: string): void {
    const { record, nodeName } = this.#options;
    record({ type, reason, message, object: { kind: "Node", name: nodeName } });
  }
}
