// Nodes of one group on a real broker that decide as the agent does, and have no containers: a pod is good or bad a moment
// after its document was taken.

import { readRetained, type RetainedDocument } from "../../src/fleet/document/retained-document.ts";
import { isStaged } from "../../src/fleet/rollout/desk.ts";
import { orderIn } from "../../src/fleet/rollout/rollout-topic.ts";
import { sha256 } from "../../src/lib/system-sha256.ts";
import type { RolloutOrder } from "../../src/protocol/rollout-order.ts";
import { waitsFor } from "../../src/source/document/staged.ts";
import { BrokerClient, type Collector } from "../harness/broker-client.ts";

const UPDATE_MS = 700;
const TICK_MS = 150;

interface Node {
  readonly name: string;
  taken: RetainedDocument | undefined;
  takenAt: number;
  reported: string;
}

export interface RolloutNodesOptions {
  readonly url: string;
  readonly group: string;
  readonly names: readonly string[];
  /** Why a node runs the content badly; undefined = it runs well. */
  readonly failure: (node: string, document: RetainedDocument) => string | undefined;
}

export class RolloutNodes implements AsyncDisposable {
  readonly #options: RolloutNodesOptions;
  readonly #client: BrokerClient;
  readonly #nodes: readonly Node[];
  #desired: Collector | undefined;
  #rollout: Collector | undefined;
  #document: RetainedDocument | undefined;
  #order: RolloutOrder | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(options: RolloutNodesOptions, client: BrokerClient) {
    this.#options = options;
    this.#client = client;
    const isNew = { taken: undefined, takenAt: 0, reported: "" };
    this.#nodes = options.names.map((name) => ({ name, ...isNew }));
  }

  static async start(options: RolloutNodesOptions): Promise<RolloutNodes> {
    const client = await BrokerClient.connect(options.url);
    const nodes = new RolloutNodes(options, client);
    const topic = `agent/v1/group/${options.group}`;
    nodes.#desired = await client.collect(`${topic}/desired`);
    nodes.#rollout = await client.collect(`${topic}/rollout`);
    for (const name of options.names) await nodes.#state(name);
    nodes.#timer = setInterval(() => void nodes.#look(), TICK_MS);
    return nodes;
  }

  /** How many have the generation. */
  have(generation: number): number {
    return this.#nodes.filter(({ taken }) => taken?.generation === generation).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#client[Symbol.asyncDispose]();
  }

  #state(name: string): Promise<void> {
    const state = { state: "online", incarnation: "i1", session: 1, agent: "1.2.3", protocol: 1 };
    return this.#client.publish(`agent/v1/node/${name}/state`, state, { retain: true });
  }

  async #look(): Promise<void> {
    this.#document = readRetained(newest(this.#desired), sha256);
    this.#order = orderIn(newest(this.#rollout), []);
    for (const node of this.#nodes) {
      const text = JSON.stringify(this.#report(node));
      if (text === node.reported) continue;
      node.reported = text;
      await this.#client.publish(`agent/v1/node/${node.name}/reported`, text, { retain: true });
    }
  }

  #report(node: Node): object {
    const document = this.#document;
    let waits: object = {};
    if (document !== undefined && document.digest !== node.taken?.digest) {
      const labels = { site: "berlin" };
      const order = this.#order;
      const facts = { node: node.name, labels, order, sha256 };
      const isFree = node.taken === undefined || !isStaged(document);
      const why = isFree ? undefined : waitsFor(document, facts);
      if (why === undefined) Object.assign(node, { taken: document, takenAt: Date.now() });
      else {
        const { digest, generation } = document;
        const at = "2026-11-21T07:00:00Z";
        waits = { lastRejected: { generation, digest, code: 423, message: why, at, count: 1 } };
      }
    }
    const { taken } = node;
    const ack = taken === undefined ? [] : [{ ...this.#ack(node, taken), ...waits }];
    return {
      kind: "ReportedState",
      time: "2026-11-21T07:59:00Z",
      clockTrusted: true,
      desired: ack,
      labels: { site: "berlin" },
      status: { conditions: [{ type: "Ready", status: "True" }] },
      pods: [{ namespace: "default", name: "web", phase: "Running", ready: "1/1" }],
    };
  }

  #ack({ name, takenAt }: Node, taken: RetainedDocument): object {
    const { generation, digest, epoch } = taken;
    const version = { source: `group/${this.#options.group}`, epoch, generation, digest };
    if (Date.now() - takenAt < UPDATE_MS) return { ...version, phase: "Progressing", code: 202 };
    const failure = this.#options.failure(name, taken);
    if (failure === undefined) return { ...version, phase: "Healthy", code: 200 };
    return { ...version, phase: "RolledBack", code: 424, message: failure };
  }
}

function newest(collector: Collector | undefined): Uint8Array | undefined {
  const message = collector?.messages.at(-1);
  return message === undefined ? undefined : Buffer.from(message.payload);
}
