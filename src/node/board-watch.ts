// Performs: looks at the board's sensors once a minute, for the node's conditions and its temperature.

import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Edges } from "../edges.ts";
import { canonicalJson } from "../lib/json.ts";
import { boardConditions, noteTrouble, NO_TROUBLE } from "../status/board-conditions.ts";
import { clockConditions } from "./clock-behind.ts";

export interface BoardWatchOptions {
  readonly edges: Pick<Edges, "clock" | "board" | "clockSynchronised">;
  /** The conditions have changed. */
  readonly onChange: () => void;
  /** A condition is true that was not: for an event. */
  readonly onTrouble: (condition: NodeCondition) => void;
}

const EVERY_MS = 60_000;

export class BoardWatch {
  readonly #options: BoardWatchOptions;
  #trouble = NO_TROUBLE;
  #conditions: readonly NodeCondition[] = [];
  #celsius: number | undefined;

  constructor(options: BoardWatchOptions) {
    this.#options = options;
  }

  conditions(): readonly NodeCondition[] {
    return this.#conditions;
  }

  /** Of the CPU at the last look, in whole degrees Celsius; undefined = no sensor. */
  celsius(): number | undefined {
    return this.#celsius;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.edges;
    while (!signal.aborted) {
      this.#look();
      await clock.sleep(EVERY_MS, signal);
    }
  }

  #look(): void {
    const { edges, onChange, onTrouble } = this.#options;
    const now = edges.clock.monotonic();
    const readings = edges.board();
    this.#trouble = noteTrouble(readings, this.#trouble, now);
    this.#celsius = readings.cpu === undefined ? undefined : Math.round(readings.cpu.celsius);
    const before = this.#conditions;
    const board = boardConditions(readings, this.#trouble, now);
    this.#conditions = [...board, ...clockConditions(edges.clockSynchronised())];
    if (canonicalJson(before) === canonicalJson(this.#conditions)) return;
    for (const condition of board) if (isNew(condition, before)) onTrouble(condition);
    onChange();
  }
}

function isNew(condition: NodeCondition, before: readonly NodeCondition[]): boolean {
  const was = before.find(({ type }) => type === condition.type)?.status;
  return condition.status === "True" && was !== "True";
}
