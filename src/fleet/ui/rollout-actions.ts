// Performs: what a person orders on the page: pause, resume or undo of a rollout, each as the verb of `agent fleet rollout`
// on the connection of the page. A resume goes on until the last step is good, or the next order.

import { messageOf } from "../../lib/errors.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { RolloutFlags } from "../rollout/desk.ts";
import type { RolloutChange } from "../rollout/rollout-change.ts";
import { changeRollout } from "../rollout/rollout.ts";
import { BROKER_AWAY } from "../kept-connection.ts";
import type { Fleet, FleetParts } from "../open-broker.ts";
import { capturedTerminal } from "./captured-terminal.ts";
import { cut } from "./node-row.ts";
import type { RolloutOrder } from "./page-request.ts";

/** Lines of one action. An undo has one for each step of each node: those in the middle go. */
export const MAX_LINES = 50;
/** The first lines of a verb name what it has published. */
const FIRST_LINES = 10;
/** Each looks at all nodes with each message. */
export const MAX_ACTIONS = 8;

export interface ActionView {
  readonly change: RolloutChange;
  /** RFC 3339. */
  readonly began: string;
  readonly isRunning: boolean;
  /** What the verb has printed, cut. */
  readonly lines: readonly string[];
  /** Why it failed; "" = it did not. */
  readonly error: string;
}

interface Running {
  readonly change: RolloutChange;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** What an action has beside its order. */
export type ActionFlags = Omit<RolloutFlags, "group" | "seen" | "filename">;

interface RolloutActionsOptions {
  readonly parts: FleetParts;
  /** The connection of the page; undefined = there is none now. */
  readonly fleet: () => Fleet | undefined;
  readonly flags: ActionFlags;
  readonly onChange: () => void;
}

export class RolloutActions implements AsyncDisposable {
  readonly #parts: FleetParts;
  readonly #fleet: () => Fleet | undefined;
  readonly #flags: ActionFlags;
  readonly #views = new Map<string, ActionView>();
  readonly #running = new Map<string, Running>();
  readonly #onChange: () => void;

  constructor({ parts, fleet, flags, onChange }: RolloutActionsOptions) {
    this.#parts = parts;
    this.#fleet = fleet;
    this.#flags = flags;
    this.#onChange = onChange;
  }

  /** The last one of the group. */
  of(group: string): ActionView | undefined {
    return this.#views.get(group);
  }

  /** Why it is not begun; undefined = it is, and `of` shows how it goes. A resume that is under way ends first. */
  start(order: RolloutOrder): string | undefined {
    const { group, change } = order;
    if (this.#fleet() === undefined) return BROKER_AWAY;
    const before = this.#running.get(group);
    if (before !== undefined && before.change !== "resume")
      return `${before.change} of group ${group} is still under way; wait for its end`;
    if (before === undefined && this.#running.size >= MAX_ACTIONS)
      return `${MAX_ACTIONS} actions are under way; wait for the end of one of them`;
    const stop = new AbortController();
    const done = this.#run(order, stop.signal, before);
    this.#running.set(group, { change, stop, done });
    const ended = (): void => {
      if (this.#running.get(group)?.stop === stop) this.#running.delete(group);
      this.#onChange();
    };
    void done.then(ended);
    return undefined;
  }

  /** Ends what is under way, as Ctrl-C does. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#running.values()];
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ done }) => done));
  }

  async #run(
    { group, change, seen }: RolloutOrder,
    signal: AbortSignal,
    before: Running | undefined,
  ): Promise<void> {
    before?.stop.abort();
    await before?.done;
    let view: ActionView = {
      change,
      began: rfc3339(this.#parts.terminal.clock.now()),
      isRunning: true,
      lines: [],
      error: "",
    };
    const show = (more: Partial<ActionView>): void => {
      view = { ...view, ...more };
      this.#views.set(group, view);
      this.#onChange();
    };
    show({});
    const take = (line: string): void => show({ lines: shortened([...view.lines, cut(line)]) });
    const terminal = capturedTerminal(this.#parts.terminal, signal, take);
    try {
      const parts = { ...this.#parts, terminal, ...withoutUndefined({ followed: this.#fleet() }) };
      await changeRollout(parts, { ...this.#flags, group, seen }, change);
      show({ isRunning: false });
    } catch (thrown) {
      // The page shows whatever has failed: a rival, the broker, a document that is not kept.
      show({ isRunning: false, error: messageOf(thrown) });
    }
  }
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, FIRST_LINES), ...lines.slice(FIRST_LINES - MAX_LINES)];
}
