// The line between a node and its broker, which can be cut and mended while both go on.

import { createConnection, createServer, type Server, type Socket } from "node:net";

import { freePort } from "../harness/free-port.ts";

export class Line {
  readonly #port: number = freePort();
  readonly #target: number;
  readonly #open = new Set<Socket>();
  #server: Server | undefined;

  constructor(target: number) {
    this.#target = target;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.#port}`;
  }

  /** Connections are carried from now on. */
  async mend(): Promise<void> {
    const server = createServer((near) => this.#carry(near));
    this.#server = server;
    const listening = Promise.withResolvers<void>();
    server.listen(this.#port, "127.0.0.1", listening.resolve);
    await listening.promise;
  }

  /** Both ends lose what they have, and nothing new is carried. */
  cut(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#open) socket.destroy();
  }

  #carry(near: Socket): void {
    const far = createConnection(this.#target, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(from);
      from.on("error", () => undefined); // It closes next, which takes the other one along.
      from.on("close", () => {
        this.#open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
