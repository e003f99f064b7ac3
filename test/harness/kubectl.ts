// kubectl against the agent: Debian's, which is old, and a present one where the machine has it.

import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join, resolve } from "node:path";

import type { test } from "bun:test";

import type { Unavailable } from "./private-containerd.ts";
import { run, type CommandResult } from "./run-command.ts";
import { testWhenAvailable } from "./skip-reasons.ts";

export interface Kubectl {
  /** For the names of tests. */
  readonly name: string;
  readonly path: string | Unavailable;
}

const DEBIAN_PATH = resolve(import.meta.dir, "../../.tools/kubernetes-client/kubectl");
const PRESENT_PATH = process.env["KUBECTL"] ?? Bun.which("kubectl") ?? "";

/** 1.20, which `./build.sh test` unpacks. */
export const DEBIAN: Kubectl = {
  name: "Debian's kubectl",
  path: existsSync(DEBIAN_PATH) ? DEBIAN_PATH : { unavailable: `there is no ${DEBIAN_PATH}` },
};
export const PRESENT: Kubectl = {
  name: "a present kubectl",
  path: existsSync(PRESENT_PATH)
    ? PRESENT_PATH
    : { unavailable: "no present kubectl: none is on PATH, and $KUBECTL names none" },
};
export const KUBECTLS: readonly Kubectl[] = [DEBIAN, PRESENT];

/** `e2e`, or where this kubectl is absent a skipping one that says so. */
export function testWith({ path }: Kubectl, e2e: typeof test): typeof test {
  return typeof path === "string" ? e2e : testWhenAvailable(path);
}

/** Throws where it is absent. */
export function pathOf({ path }: Kubectl): string {
  if (typeof path !== "string") throw new Error(path.unavailable);
  return path;
}

interface RunOptions {
  /** A directory for what kubectl keeps of the API. */
  readonly home: string;
  readonly stdin?: string;
}

/** kubectl cannot speak to a unix socket: a port of the loopback that leads to the agent's. */
export class SocketPort implements Disposable {
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
  }

  static async open(socket: string): Promise<SocketPort> {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const agent = connect({ path: socket, allowHalfOpen: true });
      client.pipe(agent);
      agent.pipe(client);
      client.on("error", () => agent.destroy());
      agent.on("error", () => client.destroy());
      client.once("close", () => agent.destroy());
      // What has come is still on its way to the client.
      agent.once("close", () => client.end());
    });
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
    return new SocketPort(server);
  }

  /** The command line of kubectl up to its verb. */
  command(client: Kubectl, home: string): readonly string[] {
    const { port } = this.#server.address() as AddressInfo;
    const cache = `--cache-dir=${join(home, client.name.replaceAll(/\W/g, "-"))}`;
    const server = `--server=http://127.0.0.1:${port}`;
    return [pathOf(client), server, "--kubeconfig=/dev/null", cache];
  }

  async kubectl(
    client: Kubectl,
    args: readonly string[],
    { home, ...options }: RunOptions,
  ): Promise<CommandResult> {
    const env = { HOME: home, TZ: "UTC" };
    return run([...this.command(client, home), ...args], { timeout: 60_000, env, ...options });
  }

  /** A program that is kubectl with this server, as the first word of a command line. */
  program(client: Kubectl, home: string): string {
    const path = join(home, `kubectl-${client.name.replaceAll(/\W/g, "-")}`);
    const command = this.command(client, home).join(" ");
    writeFileSync(path, `#!/bin/sh\nexport HOME=${home}\nexec ${command} "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}
