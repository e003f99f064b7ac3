// Performs: holds the connection's settings in force, and lets the connection be replaced when they change.

import type { MqttConfig } from "../../config/mqtt-config.ts";
import type { Upstream, UpstreamPort } from "../upstream.ts";

export interface LinkConfig {
  readonly mqtt: MqttConfig;
  /** Milliseconds between two reports when nothing changes. */
  readonly frequency: number;
}

interface Connections {
  /** Makes a connection with the settings of this moment. */
  readonly build: () => Upstream;
  readonly port: Pick<UpstreamPort, "attach">;
}

export class LinkInForce {
  #config: LinkConfig;
  #used: LinkConfig | undefined;
  #replaced = new AbortController();

  constructor(config: LinkConfig) {
    this.#config = config;
  }

  readonly get = (): LinkConfig => this.#config;

  /** Whether the connection of this moment has them. */
  get isInUse(): boolean {
    return this.#used === this.#config;
  }

  /** The connection in use ends cleanly, and another one begins. */
  set(config: LinkConfig): void {
    this.#config = config;
    this.#replaced.abort();
  }

  /** The first connection: from here on it can be asked. */
  attach({ build, port }: Connections): Upstream {
    this.#replaced = new AbortController();
    this.#used = this.#config;
    const upstream = build();
    port.attach(upstream);
    return upstream;
  }

  /** One connection after the other, each with the settings of its time; `first` is attached already. */
  async run(first: Upstream, connections: Connections, signal: AbortSignal): Promise<void> {
    let upstream = first;
    while (!signal.aborted) {
      await upstream.run(AbortSignal.any([signal, this.#replaced.signal]));
      if (!signal.aborted) upstream = this.attach(connections);
    }
  }
}
