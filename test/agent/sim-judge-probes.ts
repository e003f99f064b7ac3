// Counts what probes and hooks have told the agent, so that whoever ends a container for their sake can be asked for the reason.

import type { Monotonic } from "../../src/lib/clock.ts";
import type { Ledger } from "./sim-ledger.ts";
import type { Knock } from "./sim-network.ts";

/** Reason enough to end a container. */
export interface Sentence {
  readonly by: "liveness" | "startup" | "postStart";
  readonly at: Monotonic;
  /** Seconds that the probe grants instead of the pod. */
  readonly grace: number | undefined;
}

export class ProbeBook {
  readonly #ledger: Ledger;
  /** `container/kind` → bad answers in a row; no answer is a bad one. */
  readonly #bad = new Map<string, number>();
  readonly #sentences = new Map<string, Sentence[]>();
  readonly #started = new Set<string>();
  /** Container → when its preStop hook was called. */
  readonly #preStops = new Map<string, Monotonic>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  onKnock({ containerId, door, good }: Knock): void {
    const at = this.#ledger.now;
    if (door.type === "Hook") {
      if (door.kind === "preStop" && good === undefined) this.#preStops.set(containerId, at);
      const failed = door.kind === "postStart" && good === false;
      if (failed) this.#condemn(containerId, { by: "postStart", at, grace: undefined });
      return;
    }
    if (good === undefined) return;
    const { kind } = door;
    const container = this.#ledger.container(containerId);
    if (container !== undefined && kind === "startup" && good)
      this.#started.add(`${container.sandboxId}/${container.config.metadata?.name}`);
    const key = `${containerId}/${kind}`;
    const bad = good ? 0 : (this.#bad.get(key) ?? 0) + 1;
    this.#bad.set(key, bad);
    const own = this.#ledger.own(container);
    const probe = own?.probes.find(({ type }) => type === kind);
    if (kind === "readiness" || probe === undefined || bad < probe.failureThreshold) return;
    this.#condemn(containerId, { by: kind, at, grace: probe.grace });
  }

  /** Every reason there has been to end it. */
  sentences(containerId: string): readonly Sentence[] {
    return this.#sentences.get(containerId) ?? [];
  }

  /** Whether its startup probe has ever been content in this sandbox. */
  hasStarted(sandboxId: string, name: string): boolean {
    return this.#started.has(`${sandboxId}/${name}`);
  }

  preStopAt(containerId: string): Monotonic | undefined {
    return this.#preStops.get(containerId);
  }

  #condemn(containerId: string, sentence: Sentence): void {
    const all = this.#sentences.get(containerId) ?? [];
    if (all.some(({ by }) => by === sentence.by)) return;
    const container = this.#ledger.container(containerId);
    if (container !== undefined)
      this.#ledger.say(`  ${sentence.by} of ${this.#ledger.nameOf(container)} has failed`);
    this.#sentences.set(containerId, [...all, sentence]);
  }
}
