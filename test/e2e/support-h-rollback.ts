// One broker, one registry and one containerd for many nodes whose documents go wrong, and a table of what that costs.

import { afterAll } from "bun:test";

import type { BrokerClient } from "../harness/broker-client.ts";
import { run } from "../harness/run-command.ts";
import { openStage, type Stage, type StageAgent } from "./support-b-stage.ts";
import { topicOf, Upstream } from "./support-b-upstream.ts";
import { RollbackNode } from "./support-h-node.ts";
import { MovingRegistry } from "./support-h-registry.ts";
import { SecureBroker } from "./support-h-secure-broker.ts";

interface Line {
  readonly secure: SecureBroker;
  readonly operator: BrokerClient;
}

interface Row {
  readonly name: string;
  readonly reason: string;
  readonly downtime: number;
  /** From the document's publication to its acknowledgement, seconds. */
  readonly took: number;
}

/** Nodes that are busy at the same time, unless told otherwise: what is measured is to be the update, not the machine. */
const AT_ONCE = 7;

export class RollbackStage {
  readonly stage: Stage;
  readonly hub: MovingRegistry;
  readonly #secure: SecureBroker | undefined;
  readonly #operator: BrokerClient | undefined;
  readonly #rows: Row[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #atOnce: number;
  #nodes = 0;

  private constructor(stage: Stage, atOnce: number, line?: Line) {
    this.stage = stage;
    this.#atOnce = atOnce;
    this.hub = new MovingRegistry();
    this.#secure = line?.secure;
    this.#operator = line?.operator;
    afterAll(async () => {
      this.hub[Symbol.dispose]();
      await line?.operator.close();
      this.#print();
    });
  }

  /** Without a containerd there is no broker either: all tests are skipped. */
  static async open(atOnce = AT_ONCE): Promise<RollbackStage> {
    const stage = await openStage();
    const isThere = ((): boolean => {
      try {
        return stage.containerd().endpoint !== "";
      } catch {
        return false;
      }
    })();
    if (!isThere) return new RollbackStage(stage, atOnce);
    const secure = await SecureBroker.start(stage.temp);
    return new RollbackStage(stage, atOnce, { secure, operator: await secure.operator() });
  }

  get secure(): SecureBroker {
    if (this.#secure === undefined) throw new Error("there is no broker");
    return this.#secure;
  }

  get operator(): BrokerClient {
    if (this.#operator === undefined) throw new Error("there is no broker");
    return this.#operator;
  }

  /** An agent that is online; its node is called `name`. It waits until there is room for one more. */
  async node(name: string, options: StageAgent = {}): Promise<RollbackNode> {
    await this.#room();
    const agent = this.stage.agent(name, {
      broker: this.secure.broker,
      ...options,
      config: { crashLoopBackOff: { maxContainerRestartPeriod: "1s" }, ...options.config },
      mqtt: {
        ...this.secure.section(name),
        podPolicy: { profile: "privileged" },
        ...options.mqtt,
      },
    });
    const upstream = await Upstream.follow(this.operator, name);
    const events = await this.operator.collect(topicOf(name, "event"));
    await agent.startReady(60_000);
    await upstream.untilState("online", 60_000);
    return new RollbackNode({ stage: this, agent, upstream, events });
  }

  /** A node has ended. */
  leave(): void {
    this.#nodes -= 1;
    this.#waiting.shift()?.();
  }

  async #room(): Promise<void> {
    if (this.#nodes >= this.#atOnce)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#nodes += 1;
  }

  /** What a pod has done to the routes of this machine, undone. */
  async unblock(): Promise<void> {
    if (this.#secure !== undefined)
      await run(["ip", "route", "del", ...this.#secure.route.split(" ")]);
  }

  tell(row: Row): void {
    this.#rows.push(row);
  }

  #print(): void {
    if (this.#rows.length === 0) return;
    const lines = this.#rows.map(({ name, reason, downtime, took }) => {
      const down = downtime === 0 ? "none" : `${downtime.toFixed(2)} s`;
      return `${name.padEnd(34)} ${reason.padEnd(26)} ${down.padStart(9)} ${took.toFixed(1).padStart(8)} s`;
    });
    const head = `${"case".padEnd(34)} ${"taken back for".padEnd(26)}  downtime   until told`;
    console.log([head, ...lines].join("\n"));
  }
}
