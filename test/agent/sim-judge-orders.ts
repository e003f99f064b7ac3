// Judges commands that end containers: who ordered it may, once each and while his command is at work; whoever was
// refused has changed nothing.

import type { CommandResponse } from "../../src/protocol/command.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { Monotonic } from "../../src/lib/clock.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { podNameOf, uidOf, type Ledger } from "./sim-ledger.ts";
import type { SimName } from "./sim-specs.ts";

export interface ValidOrder {
  readonly id: string;
  /** An unsigned one may restart pods of documents only. */
  readonly signed: boolean;
  readonly pod: SimName;
  /** Absent = all of them. */
  readonly container?: string | undefined;
}

interface Order extends ValidOrder {
  /** The process to which it was given; no other one may do anything for it. */
  readonly process: number;
  readonly at: Monotonic;
  /** `uid/name` → the instance that was ended for it. */
  readonly ended: Map<string, string>;
  answeredAt: Monotonic | undefined;
  refused: boolean;
}

export class OrderJudge {
  readonly #ledger: Ledger;
  readonly #orders: Order[] = [];
  /** Ids of commands that must not be obeyed. */
  readonly #forbidden = new Map<string, string>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** It is sent now, and nothing is wrong with it. */
  expect(order: ValidOrder): void {
    const { process, now } = this.#ledger;
    this.#orders.push({
      ...order,
      process,
      at: now,
      ended: new Map(),
      answeredAt: undefined,
      refused: false,
    });
  }

  /** It is sent now, and `why` it must not be obeyed. */
  forbid(id: string, why: string): void {
    this.#forbidden.set(id, why);
  }

  /** It is sent again: what was refused before may be obeyed now. */
  again(id: string): void {
    const order = this.#orders.find((one) => one.id === id);
    if (order?.refused === true) order.answeredAt = undefined;
  }

  /** `begunAt`: when its stop began, that is, its preStop hook. */
  mayRestart(container: FakeContainer, begunAt: Monotonic): boolean {
    return this.#orderFor(container, begunAt) !== undefined;
  }

  onStop(container: FakeContainer, begunAt: Monotonic): void {
    // It is stopped because the runtime has lost sight of it, or its sandbox; the order may still have its turn.
    const sandbox = this.#ledger.runtime.sandboxes.get(container.sandboxId);
    if (container.state === ContainerState.CONTAINER_UNKNOWN || sandbox?.ready !== true) return;
    this.#orderFor(container, begunAt)?.ended.set(nameOf(container), container.id);
  }

  onAnswer({ id, phase, data }: CommandResponse): void {
    const why = this.#forbidden.get(id);
    if (why !== undefined && (phase === "done" || phase === "running"))
      this.#ledger.accuse(`a command is ${phase} though ${why}`);
    if (phase === "accepted" || phase === "running" || phase === "duplicate") return;
    const order = this.#orders.find((one) => one.id === id);
    // Answers may be told twice.
    if (order === undefined || order.answeredAt !== undefined) return;
    order.answeredAt = this.#ledger.now;
    order.refused = phase !== "done";
    if (phase === "done") this.#mustBeDone(order, data as Done);
  }

  #mustBeDone({ pod, at }: Order, { containers }: Done): void {
    const ledger = this.#ledger;
    for (const { name } of containers) {
      const all = [...ledger.runtime.containers.values()].filter((one) => {
        const isOwn = one.config.metadata?.name === name && !ledger.isForeign(one);
        return isOwn && podNameOf(one) === `default/${pod}`;
      });
      const isNew = all.some(({ id }) => (ledger.startedAt.get(id) ?? 0) >= at);
      if (all.length > 0 && !isNew)
        ledger.accuse(`${pod}/${name} is said to be restarted, and is not`);
    }
  }

  #isOfFile(container: FakeContainer): boolean {
    return this.#ledger.ownSources(uidOf(container) ?? "").every((source) => source === "file");
  }

  #orderFor(container: FakeContainer, begunAt: Monotonic): Order | undefined {
    const name = container.config.metadata?.name;
    return this.#orders.find((order) => {
      if (order.process !== this.#ledger.process) return false;
      if (order.answeredAt !== undefined && begunAt >= order.answeredAt) return false;
      if (podNameOf(container) !== `default/${order.pod}`) return false;
      if (order.container !== undefined && order.container !== name) return false;
      if (!order.signed && this.#isOfFile(container)) return false;
      const ended = order.ended.get(nameOf(container));
      return ended === undefined || ended === container.id;
    });
  }
}

interface Done {
  readonly containers: readonly { readonly name: string }[];
}

function nameOf(container: FakeContainer): string {
  return `${uidOf(container)}/${container.config.metadata?.name}`;
}
