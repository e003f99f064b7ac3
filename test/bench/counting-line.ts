// Stands between an agent and its broker on loopback, and counts what the TCP stream carries.

import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

import { run } from "../harness/run-command.ts";

export interface LineBytes {
  /** Payload of TCP in both directions. */
  readonly tcp: number;
  /** Segments in both directions, acknowledgements too; absent = nobody counts them here. */
  readonly segments: number | undefined;
}

interface Count {
  bytes: number;
  readonly open: Set<Socket>;
}

export class CountingLine implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #count: Count;

  private constructor(server: Server, count: Count) {
    this.#server = server;
    this.#count = count;
    this.port = (server.address() as AddressInfo).port;
  }

  /** To the broker on that port. */
  static async open(broker: number): Promise<CountingLine> {
    const count: Count = { bytes: 0, open: new Set() };
    const server = createServer((near) => {
      const far = connect(broker, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        count.open.add(from);
        from.setNoDelay(true);
        from.on("data", (chunk) => (count.bytes += chunk.length));
        // Whichever end goes, the other one goes with it.
        from.on("error", () => to.destroy());
        from.on("close", () => void count.open.delete(from));
        from.pipe(to);
      }
    });
    const listening = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    return new CountingLine(server, count);
  }

  bytes(): Pick<LineBytes, "tcp"> {
    return { tcp: this.#count.bytes };
  }

  /** Of the connection that is open now, as the kernel counts them at the agent's end. */
  async segments(): Promise<number | undefined> {
    const filter = `( dport = :${this.port} )`;
    const { code, stdout } = await run(["ss", "-tinH", "state", "established", filter]).catch(
      () => ({ code: 1, stdout: "" }),
    );
    if (code !== 0) return undefined;
    const counts = [...stdout.matchAll(/\bsegs_(?:in|out):(\d+)/g)].map(([, digits]) => digits);
    return counts.length === 0
      ? undefined
      : counts.reduce((sum, digits) => sum + Number(digits), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#count.open) socket.destroy();
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    await closed.promise;
  }
}
