// The line to a registry, as bad as a test wants it: slow, cut, silent, refusing, or gone.

import { freePort } from "../harness/free-port.ts";

interface Connection {
  readonly up: Bun.Socket<undefined>;
  /** Not sent on yet. */
  readonly queue: Uint8Array[];
  sent: number;
}

type Client = Bun.Socket<{ connection: Connection | undefined }>;

export interface LineTrouble {
  /** Bytes after which each connection is closed. */
  readonly cutAfter?: number;
  /** Bytes after which each connection says nothing more. */
  readonly stallAfter?: number;
  /** Bytes per second of each connection. */
  readonly rate?: number;
  /** Requests for this repository are answered with 403. */
  readonly denied?: string;
}

const TICK_MS = 50;
const DENIED =
  '{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}';

export class Line implements Disposable {
  readonly port = freePort();
  /** What is under way now. */
  readonly #clients = new Set<Client>();
  readonly #to: number;
  #listener: Bun.TCPSocketListener<{ connection: Connection | undefined }> | undefined;
  trouble: LineTrouble = {};
  /** First lines of requests, `GET /v2/…`; of each connection that carries several, all. */
  readonly requests: string[] = [];
  /** Connections that ended with bytes that were not sent yet. */
  cuts = 0;

  constructor(to: number) {
    this.#to = to;
    this.comeBack();
  }

  /** As a pod names an image behind this line. */
  reference(image: string): string {
    return `127.0.0.1:${this.port}/${image}`;
  }

  count(request: RegExp): number {
    return this.requests.filter((line) => request.test(line)).length;
  }

  /** Connections with bytes that are not sent on. */
  get stalled(): number {
    return [...this.#clients].filter(({ data }) => (data.connection?.queue.length ?? 0) > 0).length;
  }

  goAway(): void {
    this.#listener?.stop(true);
    this.#listener = undefined;
    for (const client of this.#clients) client.end();
  }

  comeBack(): void {
    this.#listener ??= Bun.listen<{ connection: Connection | undefined }>({
      hostname: "127.0.0.1",
      port: this.port,
      socket: {
        open: (client) => {
          client.data = { connection: undefined };
          this.#clients.add(client);
        },
        data: (client, bytes) => void this.#ask(client, new Uint8Array(bytes)),
        close: (client) => {
          this.#clients.delete(client);
          client.data.connection?.up.end();
        },
        error: () => undefined,
      },
    });
  }

  [Symbol.dispose](): void {
    this.goAway();
  }

  async #ask(client: Client, bytes: Uint8Array): Promise<void> {
    const text = Buffer.from(bytes).toString("latin1");
    const [first = ""] = text.split("\r\n");
    if (/^(?:GET|HEAD) /.test(first)) this.requests.push(first);
    const { denied } = this.trouble;
    if (denied !== undefined && first.includes(`/v2/${denied}/`)) {
      const head = `HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n`;
      const body = first.startsWith("HEAD") ? "" : DENIED;
      client.end(`${head}content-length: ${DENIED.length}\r\n\r\n${body}`);
      return;
    }
    const connection = client.data.connection ?? (await this.#connect(client));
    connection?.up.write(bytes);
  }

  async #connect(client: Client): Promise<Connection | undefined> {
    const queue: Uint8Array[] = [];
    try {
      const up = await Bun.connect({
        hostname: "127.0.0.1",
        port: this.#to,
        socket: {
          data: (_, bytes) => void queue.push(new Uint8Array(bytes)),
          close: () => void queue.push(new Uint8Array()),
          error: () => undefined,
        },
      });
      const connection: Connection = { up, queue, sent: 0 };
      client.data.connection = connection;
      void this.#forward(client, connection);
      return connection;
    } catch {
      // The registry itself is away.
      client.end();
      return undefined;
    }
  }

  /** An empty part in the queue is the end. */
  async #forward(client: Client, connection: Connection): Promise<void> {
    const { queue } = connection;
    while (this.#clients.has(client)) {
      const { cutAfter = Infinity, stallAfter = Infinity, rate = Infinity } = this.trouble;
      let allowed = Math.min(rate * (TICK_MS / 1000), stallAfter - connection.sent);
      while (queue.length > 0 && allowed > 0) {
        const part = queue[0] ?? new Uint8Array();
        if (part.length === 0) {
          client.end();
          return;
        }
        const wanted = part.subarray(0, Math.min(part.length, allowed));
        const written = client.write(wanted);
        connection.sent += written;
        allowed -= written;
        if (written < part.length) queue[0] = part.subarray(written);
        else queue.shift();
        if (connection.sent >= cutAfter) {
          this.cuts += 1;
          // Lines are cut in both ways: properly, and in the midst of what is under way.
          if (this.cuts % 2 === 0) client.terminate();
          else client.end();
          connection.up.end();
          return;
        }
        if (written < wanted.length) break;
      }
      await Bun.sleep(rate === Infinity ? 1 : TICK_MS);
    }
  }
}
