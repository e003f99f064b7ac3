// Performs: the operator's way to a session: a connection to the broker that is made again whenever it is lost.

import type { Terminal } from "../../cli/process-io.ts";
import { aborted, deadline } from "../../lib/clock.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";

interface WayOptions {
  readonly parts: FleetParts;
  readonly flags: BrokerFlags;
  /** Where the node's packets come. */
  readonly from: string;
  /** Where this side's packets go. */
  readonly to: string;
  readonly onPacket: (packet: Uint8Array) => void;
  /** The way is up again. */
  readonly onResumed: () => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

/** Takes over the first connection. */
export class SessionWay implements AsyncDisposable {
  readonly #options: WayOptions;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #fleet: Fleet | undefined;

  private constructor(options: WayOptions, fleet: Fleet) {
    this.#options = options;
    this.#fleet = fleet;
    this.#done = this.#stay(fleet);
  }

  /** `fleet`: is subscribed to `from` when it resolves. Throws CliError when the broker refuses that. */
  static async over(fleet: Fleet, options: WayOptions): Promise<SessionWay> {
    await fleet.session.subscribeLive([options.from]);
    return new SessionWay(options, fleet);
  }

  /** Loses the packet while there is no connection. */
  send(packet: Uint8Array): void {
    this.#fleet?.session.cast(this.#options.to, packet);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #stay(first: Fleet): Promise<void> {
    const { from, onPacket, onResumed, parts } = this.#options;
    const { signal } = this.#stop;
    let fleet: Fleet | undefined = first;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      if (fleet !== undefined) {
        this.#fleet = fleet;
        pause = FIRST_PAUSE_MS;
        using _ = fleet.session.listen(({ topic, payload }) => {
          if (topic === from) onPacket(payload);
        });
        if (fleet !== first) onResumed();
        await Promise.race([fleet.session.ended, aborted(signal)]);
        this.#fleet = undefined;
        await fleet[Symbol.asyncDispose]();
      }
      using limit = deadline(parts.terminal.clock, pause, signal);
      if (!signal.aborted) await aborted(limit.signal);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      fleet = signal.aborted ? undefined : await this.#again();
    }
    await fleet?.[Symbol.asyncDispose]();
  }

  /** undefined = the broker cannot be reached now. */
  async #again(): Promise<Fleet | undefined> {
    const { parts, flags, from } = this.#options;
    const quiet: Terminal = { ...parts.terminal, err: () => undefined };
    try {
      const fleet = await openFleet({ ...parts, terminal: quiet }, flags);
      try {
        await fleet.session.subscribeLive([from]);
        return fleet;
      } catch {
        await fleet[Symbol.asyncDispose]();
        return undefined;
      }
    } catch {
      return undefined;
    }
  }
}
