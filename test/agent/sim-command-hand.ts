// The hand that gives a simulated node orders, and tells the judge which of them may be obeyed.

import type { FakeBroker } from "../fakes/fake-mqtt-broker.ts";
import type { CommandResponse } from "../../src/protocol/command.ts";
import {
  COMMAND_TOPIC,
  commandText,
  presentSession,
  RESPONSE_TOPIC,
  ulidOf,
  type WrittenCommand,
} from "./sim-commands.ts";
import type { OrderJudge } from "./sim-judge-orders.ts";
import type { SimAct } from "./sim-steps.ts";
import type { KeyName } from "./sim-trust.ts";

export type CommandAct = Extract<SimAct, { readonly type: "Command" }>;

export interface CommandHandOptions {
  readonly broker: FakeBroker;
  readonly orders: () => OrderJudge;
  /** Who signs; undefined = nothing is signed in this world. */
  readonly signer: () => KeyName | undefined;
}

export class CommandHand {
  readonly #options: CommandHandOptions;
  #count = 0;
  #heard = 0;
  /** The last one that may be obeyed, and only in its session, as it was sent. */
  #last: { readonly id: string; readonly text: string } | undefined;
  /** Something stands where no command may. */
  #isRetained = false;

  constructor(options: CommandHandOptions) {
    this.#options = options;
  }

  /** Whether its orders are signed. */
  get signs(): boolean {
    return this.#options.signer() !== undefined;
  }

  perform({ how, pod, container }: CommandAct): void {
    const { broker, orders, signer } = this.#options;
    const session = presentSession(broker);
    const by = signer();
    const own = { verb: "restart", session, by: by === undefined ? [] : [by] } as const;
    const args = { pod, ...(container === undefined ? {} : { container }) };
    const refuse = (why: string, more: Partial<WrittenCommand>): void => {
      const id = this.#nextId();
      orders().forbid(id, why);
      broker.publish(COMMAND_TOPIC, commandText({ id, ...own, args, ...more }), false);
    };
    switch (how) {
      case "ping":
      case "get":
        return void this.ask(how);
      case "restart":
        return void this.restart(args);
      case "again":
        if (this.#last === undefined) return;
        orders().again(this.#last.id);
        return broker.publish(COMMAND_TOPIC, this.#last.text, false);
      case "retained": {
        const id = this.#nextId();
        orders().forbid(id, "it is retained");
        this.#isRetained = true;
        return broker.publish(COMMAND_TOPIC, commandText({ id, ...own, args }), true);
      }
      case "otherSession":
        return refuse("it is of another session", { session: (session ?? 0) + 50 });
      case "otherNode":
        return refuse("it is for another node", { node: "other-1" });
      case "unsigned":
        return by === undefined ? undefined : refuse("nobody has signed it", { by: [] });
      case "stranger":
        return refuse("nobody knows who has signed it", { by: ["stranger"] });
      case "desk":
        return refuse("its signer may sign documents only", { by: ["desk"] });
    }
  }

  /** Anybody may ask. The answer is its id. */
  ask(verb: "ping" | "get"): string {
    const id = this.#nextId();
    this.#options.broker.publish(COMMAND_TOPIC, commandText({ id, verb }), false);
    return id;
  }

  /** With everything that it takes. The answer is its id. */
  restart(args: { readonly pod: CommandAct["pod"]; readonly container?: string }): string {
    const { broker, orders, signer } = this.#options;
    const id = this.#nextId();
    const by = signer();
    orders().expect({ id, signed: by !== undefined, ...args });
    const session = presentSession(broker);
    const signers = by === undefined ? [] : [by];
    const text = commandText({ id, verb: "restart", session, args, by: signers });
    broker.publish(COMMAND_TOPIC, text, false);
    // One that names no session may be obeyed whenever it comes, if nobody heard it before.
    this.#last = session === undefined ? undefined : { id, text };
    return id;
  }

  /** After everything that happens. */
  look(): void {
    const { publications } = this.#options.broker;
    for (; this.#heard < publications.length; this.#heard += 1) {
      const said = publications[this.#heard];
      if (said?.topic !== RESPONSE_TOPIC) continue;
      const text = new TextDecoder().decode(said.payload);
      this.#options.orders().onAnswer(JSON.parse(text) as CommandResponse);
    }
  }

  calm(): void {
    if (this.#isRetained) this.#options.broker.publish(COMMAND_TOPIC, "");
    this.#isRetained = false;
  }

  #nextId(): string {
    this.#count += 1;
    return ulidOf(this.#count);
  }
}
