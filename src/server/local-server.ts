// Performs: the local API for users on the device: HTTP on a unix socket that only root may open.

import { dirname } from "node:path";
import type { Files } from "../host/files.ts";
import type { Clock } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { respond } from "./routes.ts";
import type { ServerFacts } from "../node/node-api.ts";

export interface LocalServerOptions {
  /** Path of the socket. The caller holds the lock of its stateDir. */
  readonly socket: string;
  readonly facts: ServerFacts;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
}

const SOCKET_MODE = 0o600;
/** Everything but the owner's read and write. */
const SOCKET_UMASK = 0o177;
const DIRECTORY_MODE = 0o755;
/** A client that does not read its answer delays the stop by this at most. */
const STOP_MS = 1_000;
/** Bun applies it to unix sockets too, but its types lack it there. */
const NO_IDLE_TIMEOUT: object = { idleTimeout: 0 };

export class LocalServer {
  readonly #options: LocalServerOptions;
  readonly #server: ReturnType<typeof Bun.serve>;

  /** Listens at once; a socket file of a dead agent is replaced. Throws AgentError `ListenError`. */
  constructor(options: LocalServerOptions) {
    this.#options = options;
    this.#server = listen(options);
  }

  /** Accepts no more requests, ends those that run, removes the socket. */
  async stop(): Promise<void> {
    const { clock, files, socket } = this.#options;
    const done = new AbortController();
    const stopped = this.#server.stop(true).finally(() => done.abort());
    await Promise.race([stopped, clock.sleep(STOP_MS, done.signal)]);
    files.remove(socket);
  }
}

function listen(options: LocalServerOptions): ReturnType<typeof Bun.serve> {
  const { socket, files } = options;
  try {
    files.makeDirectory(dirname(socket), DIRECTORY_MODE);
    files.remove(socket);
    const server = bind(options);
    files.setMode(socket, SOCKET_MODE);
    return server;
  } catch (cause) {
    const message = `cannot listen on ${socket}: ${messageOf(cause)}`;
    throw new AgentError({ reason: "ListenError", message, cause });
  }
}

function bind({ socket, facts, log }: LocalServerOptions): ReturnType<typeof Bun.serve> {
  // With the mask the file is never open to others, not even before the chmod.
  const umask = process.umask(SOCKET_UMASK);
  try {
    return Bun.serve({
      unix: socket,
      ...NO_IDLE_TIMEOUT,
      fetch: (request) => respond(request, facts),
      error: (error) => {
        log.error("local API failed", { error: messageOf(error) });
        return new Response(`the agent could not answer: ${messageOf(error)}\n`, { status: 500 });
      },
    });
  } finally {
    process.umask(umask);
  }
}
