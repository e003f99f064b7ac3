// Nodes of one group that decide as the agent does, and have no containers: a pod is good or bad two seconds after its
// document was taken.

import { decodeRollout, type RolloutOrder } from "../../../src/protocol/rollout-order.ts";
import {
  readRetained,
  type RetainedDocument,
} from "../../../src/fleet/document/retained-document.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { waitsFor } from "../../../src/source/document/staged.ts";
import { anAck, type FleetStage } from "./fleet-stage.ts";

const TICK_MS = 200;
const UPDATE_MS = 2_000;

interface Node {
  readonly name: string;
  isOnline: boolean;
  /** 0 = it has nothing of the group. */
  generation: number;
  digest: string;
  takenAt: number;
  said: string;
}

export interface NodesOptions {
  readonly group: string;
  readonly count: number;
  /** Whether a node runs the content badly. */
  readonly isBad?: (node: string, document: RetainedDocument) => boolean;
}

export class SimulatedNodes {
  readonly nodes: readonly Node[];
  /** Generations that each node has taken, in their order. */
  readonly taken = new Map<string, number[]>();
  readonly #stage: FleetStage;
  readonly #options: NodesOptions;

  constructor(stage: FleetStage, options: NodesOptions) {
    this.#stage = stage;
    this.#options = options;
    this.nodes = Array.from({ length: options.count }, (_, index) => ({
      name: `n${index}`,
      isOnline: true,
      generation: 1,
      digest: "sha256:old",
      takenAt: -UPDATE_MS,
      said: "",
    }));
    for (const { name } of this.nodes) stage.state(name);
    this.#tick();
  }

  node(name: string): Node {
    const found = this.nodes.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  }

  leave(name: string): void {
    this.node(name).isOnline = false;
    this.#stage.state(name, "lost");
  }

  comeBack(name: string): void {
    this.node(name).isOnline = true;
    this.#stage.state(name);
  }

  /** How many have the generation. */
  have(generation: number): number {
    return this.nodes.filter((node) => node.generation === generation).length;
  }

  #tick(): void {
    const document = this.#retained();
    const order = this.#order();
    for (const node of this.nodes) if (node.isOnline) this.#look(node, document, order);
    this.#stage.clock.after(TICK_MS, () => this.#tick());
  }

  #look(node: Node, document: RetainedDocument | undefined, order: RolloutOrder | undefined): void {
    const now = this.#stage.clock.monotonic();
    let rejected: object = {};
    if (document !== undefined && document.generation > node.generation) {
      const why =
        isStaged(document) && node.generation > 0 ? this.#waits(node, document, order) : undefined;
      if (why === undefined) {
        Object.assign(node, { ...document, takenAt: now });
        this.taken.set(node.name, [...(this.taken.get(node.name) ?? []), document.generation]);
      } else {
        const { digest, generation } = document;
        const time = "2026-11-21T07:00:00Z";
        rejected = {
          lastRejected: { generation, digest, code: 423, message: why, at: time, count: 1 },
        };
      }
    }
    this.#say(node, { ...this.#phase(node, document, now), ...rejected });
  }

  #waits(
    node: Node,
    document: RetainedDocument,
    order: RolloutOrder | undefined,
  ): string | undefined {
    return waitsFor(document, { node: node.name, labels: {}, order, sha256 });
  }

  #phase(node: Node, document: RetainedDocument | undefined, now: number): object {
    if (now - node.takenAt < UPDATE_MS) return { phase: "Progressing", code: 202 };
    const isOfIt = document !== undefined && document.digest === node.digest;
    if (isOfIt && this.#options.isBad?.(node.name, document) === true)
      return { phase: "RolledBack", code: 424, message: "web: CrashLoopBackOff" };
    return { phase: "Healthy", code: 200 };
  }

  #say(node: Node, fields: object): void {
    const { generation, digest } = node;
    const source = `group/${this.#options.group}`;
    const ack = anAck({ source, generation, digest, ...fields });
    const text = JSON.stringify(ack);
    if (text === node.said) return;
    node.said = text;
    this.#stage.report(node.name, { desired: generation === 0 ? [] : [ack] });
  }

  #retained(): RetainedDocument | undefined {
    return readRetained(this.#bytes("desired"), sha256);
  }

  #order(): RolloutOrder | undefined {
    const bytes = this.#bytes("rollout");
    const read = bytes === undefined ? undefined : decodeRollout(bytes);
    return read?.ok === true ? read.value : undefined;
  }

  #bytes(leaf: string): Uint8Array | undefined {
    const text = this.#stage.broker.retained(`agent/v1/group/${this.#options.group}/${leaf}`);
    return text === undefined ? undefined : new TextEncoder().encode(text);
  }
}

function isStaged({ document }: RetainedDocument): boolean {
  return JSON.stringify(document["policy"] ?? {}).includes('"staged":true');
}
