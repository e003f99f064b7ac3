// Performs: gives free memory back to the system once the node has been quiet for a while.

import type { Edges } from "../edges.ts";
import { Alarm } from "../lib/alarm.ts";

/** A burst (the start, many pods at once) leaves free memory behind; after so long without a change it is over. */
const IDLE_MS = 15_000;

export class IdleMemory implements Disposable {
  readonly #alarm: Alarm;

  constructor({ clock, store, trimMemory }: Pick<Edges, "clock" | "store" | "trimMemory">) {
    this.#alarm = new Alarm(clock, () => {
      store.database.releaseMemory();
      trimMemory();
    });
  }

  /** Something has changed: the quiet begins anew. */
  changed(): void {
    this.#alarm.after(IDLE_MS);
  }

  [Symbol.dispose](): void {
    this.#alarm[Symbol.dispose]();
  }
}
