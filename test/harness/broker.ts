// A mosquitto of our own on a free port of loopback.

import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BrokerClient } from "./broker-client.ts";
import { eventually, Hopeless } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import type { TempDirectory } from "./temp-directory.ts";

export interface BrokerOptions {
  /** Keep retained messages and sessions over a restart; default true. */
  readonly persistence?: boolean;
  /** Further lines of mosquitto.conf. */
  readonly extra?: readonly string[];
  /** Name of its directory, when there is more than one. */
  readonly name?: string;
}

export async function startBroker(
  temp: TempDirectory,
  options: BrokerOptions = {},
): Promise<Broker> {
  const broker = new Broker(temp, options);
  await broker.start();
  return broker;
}

export class Broker {
  readonly port: number = freePort();
  readonly #temp: TempDirectory;
  readonly #directory: string;
  #child: Bun.Subprocess | undefined;

  constructor(temp: TempDirectory, options: BrokerOptions) {
    this.#temp = temp;
    this.#directory = temp.directory(options.name ?? "broker");
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      "allow_anonymous true",
      "user root",
      `persistence ${options.persistence !== false}`,
      `persistence_location ${this.#directory}/`,
      "log_type all",
      "log_dest stderr",
      ...(options.extra ?? []),
    ];
    writeFileSync(join(this.#directory, "mosquitto.conf"), `${lines.join("\n")}\n`);
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  get logFile(): string {
    return join(this.#directory, "mosquitto.log");
  }

  /** Starts it and waits until it takes connections. */
  async start(): Promise<void> {
    const log = openSync(this.logFile, "a");
    const child = Bun.spawn(["mosquitto", "-c", join(this.#directory, "mosquitto.conf")], {
      detached: true,
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
    this.#child = child;
    this.#temp.adopt(child.pid);
    await eventually(
      "the private broker takes connections",
      async () => {
        if (child.exitCode !== null)
          throw new Hopeless(
            `mosquitto ended with ${child.exitCode}\n${readFileSync(this.logFile, "utf8")}`,
          );
        const socket = await Bun.connect({
          hostname: "127.0.0.1",
          port: this.port,
          socket: { data: () => undefined },
        });
        socket.end();
        return true;
      },
      { explain: () => readFileSync(this.logFile, "utf8") },
    );
  }

  /** TERM writes what persists to disk; KILL loses what mosquitto had not yet saved. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.exited;
    this.#child = undefined;
  }

  async restart(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.stop(signal);
    await this.start();
  }

  /** A client of the test's own. */
  async client(): Promise<BrokerClient> {
    return BrokerClient.connect(this.url);
  }
}
