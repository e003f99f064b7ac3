// Faults that a test orders for coming calls of the fake runtime.

import type { CriClient } from "../../src/cri/cri-client.ts";

export type CallName = keyof CriClient;

export type Fault =
  /** Answers with an error; with `effect: "happens"` the call has been carried out all the same (a lost answer). */
  | {
      readonly type: "fail";
      readonly code: number;
      readonly details: string;
      readonly effect?: "happens";
    }
  /**
   * Never answers; with `effect: "happens"` the call is carried out at once, with `keepsName` the name that it reserved
   * is never given back while the daemon lives.
   */
  | { readonly type: "hang"; readonly effect?: "happens"; readonly keepsName?: true }
  /** Answers after so many ms of the runtime's clock. */
  | { readonly type: "delay"; readonly ms: number };

export interface FaultOptions {
  /** How many calls it hits; default 1, Infinity = until cleared. */
  readonly times?: number;
  /** Only calls for which this says yes; `args` is what the call got. */
  readonly when?: (args: readonly unknown[]) => boolean;
}

interface Ordered {
  readonly fault: Fault;
  readonly when: (args: readonly unknown[]) => boolean;
  left: number;
}

export class Faults {
  readonly #ordered = new Map<CallName, Ordered[]>();

  order(call: CallName, fault: Fault, options: FaultOptions = {}): void {
    const { times = 1, when = () => true } = options;
    const list = this.#ordered.get(call) ?? [];
    list.push({ fault, when, left: times });
    this.#ordered.set(call, list);
  }

  clear(call?: CallName): void {
    if (call === undefined) this.#ordered.clear();
    else this.#ordered.delete(call);
  }

  /** The fault for this call, used up by one. */
  take(call: CallName, args: readonly unknown[]): Fault | undefined {
    const list = this.#ordered.get(call) ?? [];
    const found = list.find((ordered) => ordered.when(args));
    if (found === undefined) return undefined;
    found.left -= 1;
    // Over a long run the used ones would be many.
    if (found.left === 0) list.splice(list.indexOf(found), 1);
    return found.fault;
  }
}
