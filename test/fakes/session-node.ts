// A node that begins sessions: what obeys `exec`, in front of an API of the test on a real socket.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { NewEvent } from "../../src/api/v1/events.ts";
import { TunnelCommands } from "../../src/command/tunnel-commands.ts";
import { ed25519Key } from "../../src/host/crypto/ed25519.ts";
import { tunnelServer } from "../../src/host/tunnel/serve-tunnel.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { systemRandom } from "../../src/lib/system-clock.ts";
import { aDesiredPod, aPod } from "./a-pod.ts";

export const SESSION_NODE_KEY = ed25519Key(new Uint8Array(32).fill(7));

interface SessionNodeOptions {
  readonly clock: Clock;
  readonly isAllowed?: boolean;
  /** What the node sends, with QoS 0. */
  readonly publish: (topic: string, payload: Uint8Array) => void;
  readonly onTopics?: () => void;
  /** One connection to the API of the node. */
  readonly serve: (socket: Socket) => void;
}

/** Has the pod default/web. */
export class SessionNode implements Disposable {
  readonly events: NewEvent[] = [];
  readonly commands: TunnelCommands;
  /** Resolves when the API can be asked. */
  readonly listening: Promise<void>;
  /** Connections to the API that are open. */
  readonly open = new Set<Socket>();
  readonly #directory = mkdtempSync(join(tmpdir(), "agent-node-"));
  readonly #server: Server;

  constructor({ clock, isAllowed = true, publish, onTopics, serve }: SessionNodeOptions) {
    const socket = join(this.#directory, "api.sock");
    this.#server = createServer({ allowHalfOpen: true }, (connection) => {
      this.open.add(connection);
      connection.on("error", () => undefined);
      connection.once("close", () => this.open.delete(connection));
      serve(connection);
    });
    this.listening = new Promise((resolve) => this.#server.listen(socket, resolve));
    const log: Logger = { debug: noop, info: noop, warn: noop, error: noop, with: () => log };
    this.commands = new TunnelCommands({
      clock,
      log,
      random: systemRandom,
      serve: tunnelServer(clock, socket),
      keys: SESSION_NODE_KEY,
      node: "pi-1",
      topicRoot: "agent/v1",
      isAllowed,
      podOf: (namespace, name) =>
        `${namespace}/${name}` === "default/web" ? aDesiredPod(aPod()) : undefined,
      publish,
      onTopics: onTopics ?? noop,
      record: (event) => void this.events.push(event),
    });
  }

  [Symbol.dispose](): void {
    for (const socket of this.open) socket.destroy();
    this.#server.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function noop(): void {
  // Nothing to see.
}
