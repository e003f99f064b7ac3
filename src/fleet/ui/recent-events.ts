// The last events of each node since the page began to look: a broker keeps none.

import type { EventReport } from "../node-report.ts";

/** Of one node; the oldest go. */
export const MAX_EVENTS = 100;
/** Nodes whose events are kept: those that published some last. */
export const MAX_EVENT_NODES = 1_000;

export class RecentEvents {
  readonly #events = new Map<string, readonly EventReport[]>();

  /** Newest first. */
  of(node: string): readonly EventReport[] {
    return this.#events.get(node) ?? [];
  }

  add(node: string, events: readonly EventReport[]): void {
    const all = [...events.toReversed(), ...this.of(node)].slice(0, MAX_EVENTS);
    this.#events.delete(node);
    this.#events.set(node, all);
    const [oldest] = this.#events.keys();
    if (oldest !== undefined && this.#events.size > MAX_EVENT_NODES) this.#events.delete(oldest);
  }
}
