// Many nodes' voices, as the agent wires them, on one virtual time and real sockets.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { addonPath } from "#sqlite-addon";
import { Upstream } from "../../../src/upstream/upstream.ts";
import type { MqttLink, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { Store } from "../../../src/store/store.ts";
import { aDocument, aPodNamed, UpstreamBench } from "../../agent/upstream-bench.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";
import { awaited, SocketClock } from "../../fakes/socket-clock.ts";

type Deed = "connect" | "subscribe" | "publish";

/** What crosses the line, and when. */
class Traffic {
  readonly deeds: { readonly deed: Deed; readonly at: number }[] = [];
  live = 0;

  /** `now` is asked when CONNACK has come, and when a packet is handed over. */
  watched(link: MqttLink, now: () => number): MqttLink {
    const note = (deed: Deed): void => void this.deeds.push({ deed, at: now() });
    const session = (real: MqttSession): MqttSession => ({
      ...real,
      subscribe: (filters) => {
        note("subscribe");
        return real.subscribe(filters);
      },
      publish: (message) => {
        note("publish");
        return real.publish(message);
      },
    });
    return {
      connect: async (...args) => {
        const real = await link.connect(...args);
        note("connect");
        this.live += 1;
        void real.ended.then(() => (this.live -= 1));
        return session(real);
      },
    };
  }
}

export interface PowerFleetOptions {
  readonly nodes: number;
  readonly url: string;
  /** Ms since the machines booted. */
  readonly uptime: number;
  readonly seed?: number;
}

export class PowerFleet implements AsyncDisposable {
  readonly traffic = new Traffic();
  readonly clock: SocketClock;
  readonly #root = mkdtempSync("/tmp/agent-fleet-");
  readonly #stores: Store[] = [];
  readonly #upstreams: Upstream[] = [];
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];

  private constructor(options: PowerFleetOptions) {
    this.clock = new SocketClock({ monotonic: options.uptime });
  }

  static async make(options: PowerFleetOptions): Promise<PowerFleet> {
    const fleet = new PowerFleet(options);
    // What there is to say is the same on all: one whole agent found it out.
    using bench = new UpstreamBench();
    const resources = ["web", "db", "proxy"].map((name) => aPodNamed(name));
    bench.broker.publish("agent/v1/node/pi-1/desired", aDocument(1, { resources }));
    bench.start();
    await bench.clock.advance(60_000);
    const truth = bench.facts.truth();
    for (let index = 0; index < options.nodes; index += 1) {
      const random = new Mulberry32((options.seed ?? 1) * 1_000_003 + index);
      const store = Store.open({
        stateDir: join(fleet.#root, `node-${index}`),
        files: bench.edges.files,
        random,
        nativeBinding: addonPath,
      });
      fleet.#stores.push(store);
      const { clock } = fleet;
      fleet.#upstreams.push(
        new Upstream({
          edges: {
            ...bench.edges,
            clock,
            random,
            store,
            mqtt: fleet.traffic.watched(awaited(new MqttjsLink(clock), clock), () =>
              clock.monotonic(),
            ),
          },
          config: { ...bench.mqtt, url: options.url },
          frequency: bench.config.nodeStatusReportFrequencyMs,
          nodeName: `node-${index}`,
          agentVersion: "1.0.0",
          truth: () => truth,
          onMessage: () => undefined,
          onConverged: () => undefined,
          onSession: () => undefined,
          onSetAside: () => undefined,
        }),
      );
    }
    await bench.stop();
    return fleet;
  }

  /** All of them in the same moment. */
  start(): void {
    this.#running = this.#upstreams.map((upstream) => upstream.run(this.#stop.signal));
  }

  /** How often something was done in each second after `from`, up to the last one in which it was. */
  perSecond(deed: Deed, from: number): readonly number[] {
    const seconds: number[] = [];
    for (const one of this.traffic.deeds) {
      if (one.deed !== deed || one.at < from) continue;
      const second = Math.floor((one.at - from) / 1_000);
      seconds[second] = (seconds[second] ?? 0) + 1;
    }
    return Array.from(seconds, (count) => count ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(5_000);
    await Promise.all(this.#running);
    for (const store of this.#stores) store[Symbol.dispose]();
    rmSync(this.#root, { recursive: true, force: true });
  }
}
