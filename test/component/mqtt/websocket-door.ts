// A WebSocket listener in front of a broker that has none: what comes in one side goes out of the other.

interface Tunnel {
  broker: Bun.Socket | undefined;
  /** What the client said before the broker was reached. */
  readonly early: Uint8Array[];
}

export interface DoorTls {
  readonly cert: string;
  readonly key: string;
  /** PEM of the CA whose certificates clients must have; absent = clients need none. */
  readonly clientCa?: string;
}

export class WebSocketDoor implements Disposable {
  /** What clients asked for: path and subprotocol. */
  readonly asked: string[] = [];
  /** What clients called themselves. */
  readonly userAgents: (string | null)[] = [];
  readonly #server: Bun.Server<Tunnel>;
  readonly #secure: boolean;

  constructor(brokerPort: number, tls?: DoorTls) {
    this.#secure = tls !== undefined;
    this.#server = Bun.serve<Tunnel>({
      hostname: "127.0.0.1",
      port: 0,
      ...(tls === undefined ? {} : { tls: tlsOptions(tls) }),
      fetch: (request, server) => {
        const { pathname } = new URL(request.url);
        const protocol = request.headers.get("sec-websocket-protocol") ?? "";
        this.asked.push(`${pathname} ${protocol}`);
        this.userAgents.push(request.headers.get("user-agent"));
        const headers = { "Sec-WebSocket-Protocol": protocol };
        const data: Tunnel = { broker: undefined, early: [] };
        return server.upgrade(request, { headers, data })
          ? undefined
          : new Response("no WebSocket", { status: 400 });
      },
      websocket: {
        open: (client) => {
          void Bun.connect({
            hostname: "127.0.0.1",
            port: brokerPort,
            socket: {
              open: (broker) => {
                client.data.broker = broker;
                for (const bytes of client.data.early) broker.write(bytes);
              },
              data: (_, bytes) => void client.sendBinary(bytes),
              close: () => client.close(),
            },
          });
        },
        message: ({ data: { broker, early } }, said) => {
          const bytes = typeof said === "string" ? new TextEncoder().encode(said) : said;
          if (broker === undefined) early.push(bytes);
          else broker.write(bytes);
        },
        close: ({ data }) => void data.broker?.end(),
      },
    });
  }

  get url(): string {
    return `${this.#secure ? "wss" : "ws"}://127.0.0.1:${this.#server.port}/mqtt`;
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

function tlsOptions({ cert, key, clientCa }: DoorTls): Bun.TLSOptions {
  if (clientCa === undefined) return { cert, key };
  return { cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}
