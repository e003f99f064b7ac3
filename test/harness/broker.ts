// A mosquitto of our own on a free port of loopback.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BrokerClient, type BrokerTls } from "./broker-client.ts";
import { logTail, spawnDaemon } from "./daemon.ts";
import { eventually, Hopeless } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import type { TempDirectory } from "./temp-directory.ts";

export interface BrokerOptions {
  /** Keep retained messages and sessions over a restart; default true. */
  readonly persistence?: boolean;
  /** What it logs; default: all. */
  readonly log?: "all" | "error";
  /** Further lines of mosquitto.conf. */
  readonly extra?: readonly string[];
  /** Name of its directory, when there is more than one. */
  readonly name?: string;
  /** Absent = a free one. */
  readonly port?: number;
  /** Lines of its listener instead of an open one without TLS. */
  readonly listener?: readonly string[];
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
  readonly port: number;
  readonly #temp: TempDirectory;
  readonly #directory: string;
  readonly #secure: boolean;
  #child: Bun.Subprocess | undefined;

  constructor(temp: TempDirectory, options: BrokerOptions) {
    this.#temp = temp;
    this.port = options.port ?? freePort();
    this.#directory = temp.directory(options.name ?? "broker");
    const listener = options.listener ?? ["allow_anonymous true"];
    this.#secure = listener.some((line) => line.startsWith("certfile "));
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      ...listener,
      "user root",
      `persistence ${options.persistence !== false}`,
      `persistence_location ${this.#directory}/`,
      `log_type ${options.log ?? "all"}`,
      "log_dest stderr",
      ...(options.extra ?? []),
    ];
    writeFileSync(join(this.#directory, "mosquitto.conf"), `${lines.join("\n")}\n`);
  }

  get url(): string {
    return `${this.#secure ? "mqtts" : "mqtt"}://127.0.0.1:${this.port}`;
  }

  /** undefined = it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get logFile(): string {
    return join(this.#directory, "mosquitto.log");
  }

  logTail(lines = 40): string {
    return logTail("the broker", this.logFile, lines);
  }

  /** Starts it and waits until it takes connections. */
  async start(): Promise<void> {
    const command = ["mosquitto", "-c", join(this.#directory, "mosquitto.conf")];
    const child = spawnDaemon(command, { temp: this.#temp, logFile: this.logFile });
    this.#child = child;
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

  /** Stops or continues the process without a word to its clients. */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(name);
  }

  /** A client of the test's own; with PEM texts where the broker wants certificates. */
  async client(tls: BrokerTls = {}): Promise<BrokerClient> {
    return BrokerClient.connect(this.url, tls);
  }
}
