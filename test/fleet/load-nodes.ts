// Many nodes in a few processes, and what has happened to them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Deed } from "./load-node.ts";
import type { NodesFacts, NodesOrder } from "./messages.ts";

export interface LoadNodesOptions {
  readonly nodes: number;
  readonly processes: number;
  readonly url: string;
  readonly directory: string;
  /** Ms since the machines booted. */
  readonly uptime: number;
}

/** Of all processes together. */
export type Looked = Omit<NodesFacts, "deeds">;

interface NodesProcess {
  readonly child: Bun.Subprocess;
  readonly from: number;
  readonly count: number;
  /** Receives the next answer. */
  answered: (facts: NodesFacts | "done") => void;
}

export class LoadNodes implements AsyncDisposable {
  /** In the order in which they were fetched. */
  readonly deeds: Deed[] = [];
  readonly #options: LoadNodesOptions;
  readonly #processes: NodesProcess[] = [];
  #connected = 0;

  private constructor(options: LoadNodesOptions) {
    this.#options = options;
  }

  /** Nodes that are ready to connect. */
  static async build(options: LoadNodesOptions): Promise<LoadNodes> {
    const all = new LoadNodes(options);
    const { nodes, processes } = options;
    const each = Math.ceil(nodes / processes);
    for (let from = 0; from < nodes; from += each)
      all.#processes.push(spawnNodes(from, Math.min(each, nodes - from)));
    await all.#order("build");
    return all;
  }

  get connected(): number {
    return this.#connected;
  }

  start(): Promise<unknown> {
    return this.#order("start");
  }

  async look(): Promise<Looked> {
    const answers = await this.#order("look");
    const sum = { bytesIn: 0, bytesOut: 0, stalled: 0 };
    for (const answer of answers) {
      if (answer === "done") continue;
      this.deeds.push(...answer.deeds);
      for (const { what } of answer.deeds)
        this.#connected += what === "connected" ? 1 : what === "ended" ? -1 : 0;
      sum.bytesIn += answer.bytesIn;
      sum.bytesOut += answer.bytesOut;
      sum.stalled = Math.max(sum.stalled, answer.stalled);
    }
    return sum;
  }

  /** Looks each second until it is so; throws after `seconds`. */
  async until(what: string, isSo: () => boolean, seconds = 600): Promise<void> {
    for (let left = seconds; left > 0; left -= 1) {
      await this.look();
      if (isSo()) return;
      await Bun.sleep(1_000);
    }
    throw new Error(`after ${seconds} s not yet: ${what}; ${this.#connected} are connected`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.race([this.#order("stop"), Bun.sleep(30_000)]);
    for (const { child } of this.#processes) child.kill("SIGKILL");
    await Promise.all(this.#processes.map(({ child }) => child.exited));
  }

  #order(order: NodesOrder["order"]): Promise<readonly (NodesFacts | "done")[]> {
    const { url, directory: root, uptime } = this.#options;
    return Promise.all(
      this.#processes.map((one) => {
        const { from, count, child } = one;
        const directory = join(root, String(from));
        mkdirSync(directory, { recursive: true });
        const answer = Promise.withResolvers<NodesFacts | "done">();
        one.answered = answer.resolve;
        void child.exited.then((code) =>
          order === "stop"
            ? answer.resolve("done")
            : answer.reject(new Error(`a process with ${count} nodes ended with ${code}`)),
        );
        child.send({ order, url, directory, from, count, uptime } satisfies NodesOrder);
        return answer.promise;
      }),
    );
  }
}

function spawnNodes(from: number, count: number): NodesProcess {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "nodes-process.ts")], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (message: NodesFacts | "done") => one.answered(message),
  });
  const one: NodesProcess = { child, from, count, answered: () => undefined };
  return one;
}
