// A simulated node that is ordered to shut down: the dice that throw when, the hand that orders it, and the judge of what the
// agent does for it. Its dice are its own.

import { messageOf } from "../../src/lib/errors.ts";
import type { Monotonic } from "../../src/lib/clock.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { throwPause } from "./sim-dice.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import { isDeath } from "./sim-mortal.ts";
import type { SimAct, SimStep } from "./sim-steps.ts";

/** A start may be under way when the order comes. */
const UNDER_WAY_MS = 2_000;

/** In which worlds the node is ordered to shut down. */
export function hasShutdown(seed: number): boolean {
  return diceOf(seed).chance(0.15);
}

function diceOf(seed: number): Mulberry32 {
  return new Mulberry32(seed ^ 0x17b3);
}

/** Weaves an order between the steps, perhaps with its end, or that of the process or the boot. */
export function withShutdown(steps: readonly SimStep[], seed: number): readonly SimStep[] {
  const dice = diceOf(seed);
  dice.next();
  const woven = [...steps];
  const pause = (): number => (dice.chance(0.7) ? 20_000 + dice.below(60_000) : throwPause(dice));
  const order = (begin: boolean): SimStep => ({ type: "Shutdown", begin, pause: pause() });
  const between = dice.weighted<readonly SimAct[]>([
    [[], 5],
    [[{ type: "Kill", acts: dice.below(30) }, { type: "Start" }], 3],
    [[{ type: "Reboot" }, { type: "Start" }], 2],
  ]);
  const at = 1 + dice.below(woven.length);
  const deaths = between.map((act): SimStep => ({ ...act, pause: throwPause(dice) }));
  woven.splice(at, 0, order(true), ...deaths);
  if (!dice.chance(0.7)) return woven;
  const first = at + 1 + deaths.length;
  woven.splice(first + dice.below(woven.length - first + 1), 0, order(false));
  return woven;
}

export class ShutdownJudge {
  readonly #ledger: Ledger;
  #ordered: { readonly at: Monotonic; readonly reboots: number } | undefined;
  /** A full disk, or a lost database: the next process may know nothing of it. */
  #isStored = true;
  #orderedBy = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  perform(begin: boolean): void {
    const { agent } = this.#ledger;
    if (agent === undefined) return;
    try {
      if (begin) this.#begin(() => agent.facts.beginShutdown());
      else {
        agent.facts.cancelShutdown();
        this.#ordered = undefined;
      }
    } catch (error) {
      if (!isDeath(error)) this.#ledger.say(`  refuses: ${messageOf(error)}`);
    }
  }

  /** Takes back what is ordered, and only that: another boot has ended it by itself. */
  calm(): void {
    if (this.#isOrdered()) this.perform(false);
  }

  #begin(order: () => void): void {
    const { now, reboots, process } = this.#ledger;
    if (this.#isOrdered() && this.#isStored) return order();
    [this.#ordered, this.#orderedBy, this.#isStored] = [{ at: now, reboots }, process, true];
    order();
  }

  /** What the agent could not write down. */
  onUnstored(): void {
    this.#isStored = false;
  }

  /** A removal is written down because of a shutdown. */
  onStop(uid: string): void {
    const ledger = this.#ledger;
    const key = ledger.key(uid);
    if (!this.#isOrdered()) ledger.accuse(`${key} ends for a shutdown that is not ordered`);
    if (ledger.spec(uid)?.critical !== true) return;
    const since = Math.max(this.#ordered?.at ?? 0, ledger.processSince);
    const ordinary = ledger.runtime.running().find((one) => {
      const startedAt = ledger.startedAt.get(one.id) ?? since;
      if (startedAt >= since - UNDER_WAY_MS || ledger.isForeign(one)) return false;
      const spec = ledger.spec(uidOf(one));
      const isOrdinary = spec !== undefined && spec.critical !== true;
      return isOrdinary && ledger.isGood(one) && !ledger.isLeaving(uidOf(one));
    });
    if (ordinary !== undefined)
      ledger.accuse(`${key}, which is critical, ends before ${ledger.nameOf(ordinary)}`);
  }

  onAskSandbox(uid: string): void {
    const ledger = this.#ledger;
    if (!this.#isOrdered() || (!this.#isStored && this.#orderedBy !== ledger.process)) return;
    // What ran goes on until its turn comes.
    if (ledger.sandboxesOf(uid).length > 0 || ledger.containersOf(uid).length > 0) return;
    const since = Math.max(this.#ordered?.at ?? 0, ledger.processSince);
    if (ledger.now - since > UNDER_WAY_MS)
      ledger.accuse(`${ledger.key(uid)} begins while the node shuts down`);
  }

  /** Another boot ends it. */
  #isOrdered(): boolean {
    return this.#ordered?.reboots === this.#ledger.reboots;
  }
}
