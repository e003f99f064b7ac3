// Performs: watches the node's storage: a check after an unclean stop, and what the agent writes in a day.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { aborted } from "../../lib/clock.ts";
import type { Edges } from "../../edges.ts";
import type { RecordEvent } from "../../api/v1/events.ts";
import { IntegrityWatch } from "./integrity-watch.ts";
import { WRITES_OVER_BUDGET, WriteBudget } from "./write-budget.ts";

interface StorageWatchOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "meter" | "storage">;
  readonly nodeName: string;
  readonly record: RecordEvent;
  /** Every desired pod has its worker. */
  readonly isSettled: () => boolean;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
}

const EVERY_MS = 60_000;

export class StorageWatch {
  readonly #options: StorageWatchOptions;
  readonly #integrity: IntegrityWatch | undefined;
  readonly #budget = new WriteBudget();
  #overBudget: readonly NodeCondition[] = [];

  constructor(options: StorageWatchOptions) {
    const { storage } = options.edges;
    this.#options = options;
    this.#integrity = storage && new IntegrityWatch({ ...options, storage });
  }

  conditions(): readonly NodeCondition[] {
    return [...(this.#integrity?.conditions() ?? []), ...this.#overBudget];
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    // A loop that ends by itself ends the agent.
    if (this.#integrity === undefined) await aborted(signal);
    else await Promise.all([this.#integrity.run(signal), this.#count(signal)]);
  }

  async #count(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.edges;
    while (!signal.aborted) {
      this.#look();
      await clock.sleep(EVERY_MS, signal);
    }
  }

  #look(): void {
    const { edges, record, nodeName, onChange } = this.#options;
    const { clock, meter, storage } = edges;
    if (meter === undefined || storage === undefined) return;
    const total = storage.written();
    const counted = meter.sum("agent_storage_written_bytes_total");
    if (total !== undefined && total > counted)
      meter.count("agent_storage_written_bytes_total", {}, total - counted);
    const kinds = meter.byLabel("agent_written_bytes_total", "class");
    this.#budget.note({ total, kinds }, clock.monotonic());
    const before = this.#overBudget;
    const now = this.#budget.conditions();
    if (before.length === now.length) return;
    // Its numbers stay those of the first moment: a condition that changes each minute would itself be written each minute.
    this.#overBudget = now;
    const [condition] = now;
    if (condition !== undefined)
      record({
        type: "Warning",
        reason: WRITES_OVER_BUDGET,
        message: condition.message,
        object: { kind: "Node", name: nodeName },
      });
    onChange();
  }
}
