// A container runtime's streaming server in this process: SPDY/3.1 as the server's side speaks it, with its own reading of
// the frames.

import { createServer, type AddressInfo, type Socket } from "node:net";
import { constants, inflateSync } from "node:zlib";

export interface FakeStream {
  readonly headers: ReadonlyMap<string, string>;
  /** What has come on it so far. */
  received: number;
  text: string;
  readonly ended: Promise<void>;
  /** Resolves when the connection takes more. */
  send(data: string | Uint8Array, isLast?: boolean): Promise<void>;
  reset(): void;
}

export interface FakeConnection {
  /** First line and headers of the request. */
  readonly head: readonly string[];
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** Bytes of frames that have arrived. */
  bytes(): number;
  /** Resolves with the stream of this type. */
  stream(type: string): Promise<FakeStream>;
}

export interface FakeStreamingServer extends Disposable {
  readonly url: string;
  /** The next connection. */
  next(): Promise<FakeConnection>;
}

export interface FakeStreamingOptions {
  /** It answers 404 with this text. */
  readonly refuses?: string;
  /** What follows the upgrade is no SPDY. */
  readonly isRaw?: boolean;
  /** It does not close when the client does. */
  readonly ignoresEnd?: boolean;
}

export async function fakeStreamingServer(
  options: FakeStreamingOptions = {},
): Promise<FakeStreamingServer> {
  const waiting: ((connection: FakeConnection) => void)[] = [];
  const come: FakeConnection[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const connection = new Connection(socket, options, () => {
      const taker = waiting.shift();
      if (taker === undefined) come.push(connection);
      else taker(connection);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/exec/token`,
    next: () => {
      const first = come.shift();
      return first === undefined
        ? new Promise((resolve) => void waiting.push(resolve))
        : Promise.resolve(first);
    },
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

class Connection implements FakeConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  head: readonly string[] = [];
  readonly #options: FakeStreamingOptions;
  readonly #upgraded: () => void;
  #held = Buffer.alloc(0);
  #blocks = Buffer.alloc(0);
  #plain = 0;
  #bytes = 0;
  readonly #streams = new Map<number, Stream>();
  readonly #wanted: { type: string; resolve: (stream: FakeStream) => void }[] = [];

  constructor(socket: Socket, options: FakeStreamingOptions, upgraded: () => void) {
    this.socket = socket;
    this.#options = options;
    this.#upgraded = upgraded;
    this.closed = new Promise((resolve) => void socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    socket.on("data", (data: Uint8Array) => this.#data(data));
    if (options.ignoresEnd !== true) socket.once("end", () => socket.end());
  }

  bytes(): number {
    return this.#bytes;
  }

  stream(type: string): Promise<FakeStream> {
    const found = [...this.#streams.values()].find((one) => one.headers.get("streamtype") === type);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve) => void this.#wanted.push({ type, resolve }));
  }

  #data(data: Uint8Array): void {
    if (this.head.length > 0) this.#bytes += data.length;
    if (this.head.length > 0 && this.#options.isRaw === true) return;
    this.#held = Buffer.concat([this.#held, data]);
    if (this.head.length === 0 && !this.#readHead()) return;
    while (this.#frame());
  }

  #readHead(): boolean {
    const end = this.#held.indexOf("\r\n\r\n");
    if (end < 0) return false;
    this.head = this.#held.toString("latin1", 0, end).split("\r\n");
    this.#held = this.#held.subarray(end + 4);
    const { refuses } = this.#options;
    if (refuses === undefined)
      this.socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n",
      );
    else
      this.socket.end(
        `HTTP/1.1 404 Not Found\r\nContent-Length: ${refuses.length}\r\n\r\n${refuses}`,
      );
    this.#upgraded();
    return true;
  }

  #frame(): boolean {
    if (this.#held.length < 8) return false;
    const size = this.#held.readUInt32BE(4) & 0xff_ffff;
    if (this.#held.length < 8 + size) return false;
    const isControl = (this.#held[0] ?? 0) >= 128;
    const type = this.#held.readUInt16BE(2);
    const isLast = ((this.#held[4] ?? 0) & 1) === 1;
    const payload = this.#held.subarray(8, 8 + size);
    const id = isControl ? payload.readUInt32BE(0) : this.#held.readUInt32BE(0);
    this.#held = this.#held.subarray(8 + size);
    if (isControl && type === 1) this.#open(id, payload.subarray(10));
    else if (isControl && type === 3) this.#streams.get(id)?.end();
    else if (!isControl) this.#streams.get(id)?.take(payload, isLast);
    return true;
  }

  #open(id: number, block: Buffer): void {
    this.#blocks = Buffer.concat([this.#blocks, block]);
    const all = inflateSync(this.#blocks, { finishFlush: constants.Z_SYNC_FLUSH });
    const headers = pairs(all.subarray(this.#plain));
    this.#plain = all.length;
    const stream = new Stream(id, headers, this.socket);
    this.#streams.set(id, stream);
    this.socket.write(frame([0x80, 3, 0, 2], 0, u32(id)));
    for (const { type, resolve } of this.#wanted)
      if (type === headers.get("streamtype")) resolve(stream);
  }
}

class Stream implements FakeStream {
  readonly headers: ReadonlyMap<string, string>;
  received = 0;
  text = "";
  readonly #id: number;
  readonly #socket: Socket;
  readonly #ended = Promise.withResolvers<void>();

  constructor(id: number, headers: ReadonlyMap<string, string>, socket: Socket) {
    this.#id = id;
    this.headers = headers;
    this.#socket = socket;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  take(data: Buffer, isLast: boolean): void {
    this.received += data.length;
    if (this.text.length < 10_000) this.text += data.toString("latin1");
    if (isLast) this.end();
  }

  end(): void {
    this.#ended.resolve();
  }

  async send(data: string | Uint8Array, isLast = false): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    const whole = frame([...u32(this.#id)], isLast ? 1 : 0, bytes);
    if (this.#socket.write(whole) || this.#socket.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#socket.once("drain", resolve);
      this.#socket.once("close", () => resolve());
    });
  }

  reset(): void {
    this.#socket.write(frame([0x80, 3, 0, 3], 0, Buffer.concat([u32(this.#id), u32(5)])));
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

function frame(first: readonly number[], flags: number, payload: Uint8Array): Buffer {
  const size = u32(payload.length);
  size[0] = flags;
  return Buffer.concat([Buffer.from(first), size, payload]);
}

function pairs(block: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let at = 4;
  const next = (): string => {
    const length = block.readUInt32BE(at);
    const text = block.toString("utf8", at + 4, at + 4 + length);
    at += 4 + length;
    return text;
  };
  for (let left = block.readUInt32BE(0); left > 0; left -= 1) found.set(next(), next());
  return found;
}
