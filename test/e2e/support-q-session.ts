// A node that allows sessions, and an operator with keys: started once for all tests of a file.

import { expect } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { Mulberry32 } from "../fakes/mulberry32.ts";
import { freePort } from "../harness/free-port.ts";
import { eventually } from "../harness/eventually.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { runningApps, type Stage } from "./support-b-stage.ts";
import { POD } from "./support-n-streams.ts";

export interface SessionWorld {
  readonly broker: Broker;
  readonly agent: AgentProcess;
  readonly desk: string;
  readonly keys: string;
  readonly fleet: (...args: readonly string[]) => Promise<CommandResult>;
  /** A program that does on the node what `agent` does on the device; `url`: the operator's way to the broker. */
  readonly client: (url?: string) => string;
}

export async function openWorld(
  stage: Stage,
  node: string,
  { allow = ["exec"] }: { readonly allow?: readonly string[] } = {},
): Promise<SessionWorld> {
  const { temp, agent: makeAgent, containerd } = stage;
  const broker = await startBroker(temp, { name: `${node}-broker` });
  const desk = temp.directory(`${node}-desk`);
  const keys = join(desk, "keys");
  mkdirSync(desk, { recursive: true });
  const fleet = (...args: readonly string[]): Promise<CommandResult> =>
    run([agentBinary(), "fleet", ...args, "--url", broker.url], { timeout: 170_000 });
  expect(await run([agentBinary(), "fleet", "keygen", "--dir", keys])).toMatchObject({ code: 0 });
  const trustPath = temp.directory(`${node}-trust.d`);
  copyFileSync(join(keys, "root.pub"), join(trustPath, "root.pub"));
  const agent = makeAgent(node, { broker, mqtt: { allowCommands: allow }, config: { trustPath } });
  writeFileSync(join(agent.paths.manifests, "web.yaml"), stringify(POD));
  await agent.startReady();
  const bundle = ["trust", "publish", "-f", join(keys, "trust.json")];
  expect(await fleet(...bundle)).toMatchObject({ code: 0 });
  await eventually(
    "the pod runs",
    async () => {
      const apps = await runningApps(containerd(), node);
      return apps.length === POD.spec.containers.length ? true : undefined;
    },
    { timeout: 60_000, explain: () => agent.logTail(40) },
  );
  const known = join(desk, "fleet-keys");
  expect(await fleet("keys", "--accept", node, "--keys", known)).toMatchObject({ code: 0 });
  const signing = `--key ${join(keys, "signing.pem")} --keys ${known}`;
  const client = (url = broker.url): string => {
    const path = join(desk, `client-${url.replaceAll(/\W+/g, "-")}`);
    const line = `exec ${agentBinary()} fleet --url ${url} "$verb" ${signing} ${node} "$@"`;
    writeFileSync(path, `#!/bin/sh\nverb=$1; shift\n${line}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  return { broker, agent, desk, keys, fleet, client };
}

/** A line to the broker of 300 ms there and back, whose connections are cut again and again. */
export class BadLine implements Disposable {
  readonly port = freePort();
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #timer: Timer | undefined;
  /** Connections that were cut. */
  cuts = 0;

  /** `cutsPerSecond`: chance of each connection, each second. */
  constructor(target: number, { seed, cutsPerSecond }: { seed: number; cutsPerSecond: number }) {
    const dice = new Mulberry32(seed);
    this.#server = createServer((near) => {
      const far = connect(target, "127.0.0.1");
      this.#open.add(near);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on("data", (data) => void setTimeout(() => to.write(data), 150));
        from.on("error", () => undefined);
        from.on("close", () => {
          this.#open.delete(near);
          to.destroy();
        });
      }
    });
    this.#server.listen(this.port, "127.0.0.1");
    this.#timer = setInterval(() => {
      for (const socket of this.#open) {
        if (dice.next() >= cutsPerSecond) continue;
        this.cuts += 1;
        socket.destroy();
      }
    }, 1_000);
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}
