// Changes manifests at random and remembers what each change entitles a pod to.

import { expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import type { Dice } from "./support-b-dice.ts";
import type { Ledger } from "./support-b-pods.ts";

interface Plot {
  readonly name: string;
  /** The newest variant ever written. */
  variant: number;
  present: boolean;
}

export interface GardenerOptions {
  readonly agent: AgentProcess;
  readonly ledger: Ledger;
  readonly dice: Dice;
  readonly names: readonly string[];
}

export class Gardener {
  readonly #options: GardenerOptions;
  readonly #plots: readonly Plot[];
  /** How many lives each `name variant` was given. */
  readonly #lives = new Map<string, number>();
  readonly history: string[] = [];

  constructor(options: GardenerOptions) {
    this.#options = options;
    this.#plots = options.names.map((name) => ({ name, variant: 0, present: false }));
  }

  /** One change: add, edit, delete, or put back exactly what was deleted. */
  change(): void {
    const { dice } = this.#options;
    const [first, ...others] = this.#plots;
    if (first === undefined) throw new Error("there is nothing to change");
    const plot = dice.pick([first, ...others]);
    if (!plot.present && plot.variant > 0 && dice.next() < 0.5) return this.#write(plot, "re-add");
    if (!plot.present || dice.next() < 0.6) {
      plot.variant += 1;
      return this.#write(plot, plot.present ? "edit" : "add");
    }
    plot.present = false;
    this.#options.agent.removeManifest(`${plot.name}.yaml`);
    this.history.push(`delete ${plot.name}`);
  }

  wanted(): readonly string[] {
    return this.#plots
      .filter(({ present }) => present)
      .map(({ name }) => name)
      .toSorted();
  }

  /** No start without a cause: judged by the lines that the containers themselves wrote. */
  expectOnlyEntitledStarts(): void {
    const { ledger } = this.#options;
    const starts = new Map<string, number>();
    for (const { kind, name, variant } of ledger.lines()) {
      const key = `${name} ${variant}`;
      if (kind === "start") starts.set(key, (starts.get(key) ?? 0) + 1);
    }
    const excess = [...starts].filter(
      ([key, count]) => this.#names(key) && count > (this.#lives.get(key) ?? 0),
    );
    expect(excess, this.history.join("\n")).toEqual([]);
    for (const { name, variant, present } of this.#plots) {
      if (!present) continue;
      const last = ledger.lines(name).findLast(({ kind }) => kind === "start");
      expect({ name, runs: last?.variant }).toEqual({ name, runs: `v${variant}` });
    }
  }

  #names(key: string): boolean {
    return this.#plots.some(({ name }) => key.startsWith(`${name} `));
  }

  #write(plot: Plot, what: "add" | "edit" | "re-add"): void {
    const { agent, ledger } = this.#options;
    const variant = `v${plot.variant}`;
    const key = `${plot.name} ${variant}`;
    plot.present = true;
    this.#lives.set(key, (this.#lives.get(key) ?? 0) + 1);
    const hostNetwork = plot.name.startsWith("host");
    agent.writeManifest(`${plot.name}.yaml`, ledger.pod({ name: plot.name, variant, hostNetwork }));
    this.history.push(`${what} ${key}`);
  }
}
