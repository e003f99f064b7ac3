// The same pods through the agent: manifests renamed into place, documents published; judged from containerd's events only.

import { renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stringify } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import type { BrokerClient } from "../harness/broker-client.ts";
import { COMMAND } from "./bare-calls.ts";
import { settled } from "./process-facts.ts";
import { IMAGE, NODE } from "./world.ts";

const DESIRED = `agent/v1/node/${NODE}/desired`;

/** `revision` makes two variants of one pod differ. */
export function podManifest(name: string, revision = 0): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: "main",
          image: IMAGE,
          imagePullPolicy: "IfNotPresent",
          command: COMMAND,
          env: [{ name: "REVISION", value: String(revision) }],
        },
      ],
    },
  };
}

export class AgentSide {
  readonly process: AgentProcess;
  readonly #client: BrokerClient;
  #generation = 0;

  constructor(process: AgentProcess, client: BrokerClient) {
    this.process = process;
    this.#client = client;
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error("the agent has not been started");
    return pid;
  }

  put(name: string, revision = 0): void {
    this.process.writeManifest(`${name}.yaml`, podManifest(name, revision));
  }

  /** Written where the agent does not look; the answer renames it into place: what writing takes is not the agent's. */
  prepare(name: string, manifest: object): () => void {
    const { manifests } = this.process.paths;
    const aside = join(dirname(manifests), `${name}.aside`);
    writeFileSync(aside, stringify(manifest));
    return () => renameSync(aside, join(manifests, `${name}.yaml`));
  }

  drop(name: string): void {
    this.process.removeManifest(`${name}.yaml`);
  }

  /** Of the last document. */
  get generation(): number {
    return this.#generation;
  }

  /** A document with these pods, newer than the last. */
  document(
    names: readonly string[],
    { revision = 0, policy }: { readonly revision?: number; readonly policy?: object } = {},
  ): string {
    return JSON.stringify({
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { node: NODE },
      generation: (this.#generation += 1),
      allowEmpty: names.length === 0,
      policy,
      resources: names.map((name) => podManifest(name, revision)),
    });
  }

  async publish(document: string): Promise<void> {
    await this.#client.publish(DESIRED, document, { retain: true });
  }

  /** A stopped process disturbs no bare call: events of bare pods wait for it, and are worked off before the next half. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    process.kill(this.pid, "SIGSTOP");
    try {
      return await work();
    } finally {
      process.kill(this.pid, "SIGCONT");
      await Bun.sleep(20);
      await settled(this.pid);
    }
  }
}

export function podNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `many-${index + 1}`);
}
