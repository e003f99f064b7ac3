// Virtual time beside real sockets: it stands still while anybody waits for an answer of a broker.

import type { MqttLink, MqttSession } from "../../src/mqtt/mqtt-link.ts";
import { VirtualClock } from "./fake-clock.ts";

export class SocketClock extends VirtualClock {
  #pending = 0;
  #quiet = Promise.withResolvers<void>();

  /** No timer fires before `work` has settled. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#pending += 1;
    try {
      return await work;
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) {
        this.#quiet.resolve();
        this.#quiet = Promise.withResolvers();
      }
    }
  }

  override async settle(): Promise<void> {
    await super.settle();
    while (this.#pending > 0) {
      await this.#quiet.promise;
      await super.settle();
    }
  }
}

/** A link whose answers `clock` waits for. */
export function awaited(link: MqttLink, clock: SocketClock): MqttLink {
  const session = (real: MqttSession): MqttSession => ({
    ack: real.ack,
    ended: real.ended,
    subscribe: (filters) => clock.during(real.subscribe(filters)),
    unsubscribe: (filters) => clock.during(real.unsubscribe(filters)),
    publish: (message) => clock.during(real.publish(message)),
    end: () => clock.during(real.end()),
    abort: () => real.abort(),
  });
  return { connect: async (...args) => session(await clock.during(link.connect(...args))) };
}
