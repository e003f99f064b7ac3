// What the tests of @kubernetes/client-node stand on: an agent with a pod that is open over TLS, and its kubeconfigs.

import { Readable, Writable } from "node:stream";

import { afterAll, beforeAll } from "bun:test";
import { KubeConfig, Watch, type KubernetesObject } from "@kubernetes/client-node";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";
import { POD } from "./support-n-streams.ts";

export class ClientStage {
  readonly stage: Stage;
  readonly #listen = `127.0.0.1:${freePort()}`;
  #agent: AgentProcess | undefined;
  #admin: KubeConfig | undefined;

  private constructor(stage: Stage) {
    this.stage = stage;
  }

  static async open(): Promise<ClientStage> {
    const clients = new ClientStage(await Stage.open());
    beforeAll(() => clients.#begin(), 180_000);
    afterAll(() => clients.stage.close(), 180_000);
    return clients;
  }

  get agent(): AgentProcess {
    if (this.#agent === undefined) throw new Error("the agent was not started");
    return this.#agent;
  }

  /** May do everything. */
  get admin(): KubeConfig {
    if (this.#admin === undefined) throw new Error("there is no kubeconfig");
    return this.#admin;
  }

  /** What `agent kubeconfig` prints. */
  async kubeconfig(...flags: readonly string[]): Promise<KubeConfig> {
    const { code, stdout, stderr } = await this.agent.cli("kubeconfig", ...flags);
    if (code !== 0) throw new Error(`agent kubeconfig ended with ${code}: ${stderr}`);
    const config = new KubeConfig();
    config.loadFromString(stdout);
    return config;
  }

  async #begin(): Promise<void> {
    if (!this.stage.available) return;
    const agent = this.stage.agent({ nodeName: "pi-1", config: { listen: this.#listen } });
    this.#agent = agent;
    agent.writeManifest("web.yaml", POD);
    await agent.startReady();
    this.#admin = await this.kubeconfig();
    const isRunning = async (): Promise<boolean> =>
      (await getPod(agent, "web")).status.phase === "Running";
    const explain = { timeout: 60_000, explain: () => agent.logTail() };
    await eventually("web runs", isRunning, explain);
  }
}

/** The events of a watch, one after the other. */
export class Watched<T extends KubernetesObject> {
  readonly events: { readonly type: string; readonly object: T }[] = [];
  /** What the watch ended with; undefined = it goes on. */
  end: { readonly error: unknown } | undefined;
  #controller: AbortController | undefined;

  static async begin<T extends KubernetesObject>(
    config: KubeConfig,
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): Promise<Watched<T>> {
    const watched = new Watched<T>();
    watched.#controller = await new Watch(config).watch(
      path,
      query,
      (type: string, object: T) => void watched.events.push({ type, object }),
      (error: unknown) => void (watched.end = { error }),
    );
    return watched;
  }

  /** The first object for which this holds, also if it came before. */
  async until(what: string, holds: (type: string, object: T) => boolean): Promise<T> {
    const find = (): T | undefined =>
      this.events.find((one) => holds(one.type, one.object))?.object;
    const explain = (): string => JSON.stringify(this.events.map(({ type }) => type));
    return eventually(what, find, { timeout: 60_000, explain });
  }

  stop(): void {
    this.#controller?.abort();
  }
}

/** Keeps what is written to it. */
export class Collected extends Writable {
  readonly #parts: Buffer[] = [];

  override _write(part: Buffer, _encoding: string, done: () => void): void {
    this.#parts.push(Buffer.from(part));
    done();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  get text(): string {
    return this.bytes.toString();
  }
}

/** An output that the client takes for a terminal of this size. */
export class Screen extends Collected {
  columns = 80;
  rows = 24;

  resize(columns: number, rows: number): void {
    [this.columns, this.rows] = [columns, rows];
    this.emit("resize");
  }

  async shows(text: string | RegExp): Promise<void> {
    const isShown = (): boolean =>
      typeof text === "string" ? this.text.includes(text) : text.test(this.text);
    await eventually(`${text} is shown`, isShown, { explain: () => JSON.stringify(this.text) });
  }
}

/** An input to which a test writes as it goes; `push(null)` ends it. */
export function typedInput(): Readable {
  return new Readable({ read: () => undefined });
}
