// A client of a stream on a raw socket: an HTTP request that asks for an upgrade, then WebSocket messages or any bytes.

import { createConnection, type Socket } from "node:net";

export interface Message {
  readonly channel: number;
  readonly text: string;
}

export class StreamClient implements Disposable {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  constructor(path: string, target: string, headers: Readonly<Record<string, string>>) {
    this.socket = createConnection({ path, allowHalfOpen: true });
    const lines = Object.entries({ Host: "agent", Connection: "Upgrade", ...headers });
    const method = headers["Upgrade"] === "websocket" ? "GET" : "POST";
    this.socket.write(
      [`${method} ${target} HTTP/1.1`, ...lines.map(([k, v]) => `${k}: ${v}`), "", ""].join("\r\n"),
    );
    this.socket.on("error", () => undefined);
    this.socket.on("data", (data: Uint8Array) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#wake();
    });
    this.socket.once("end", () => this.#wake());
    this.closed = new Promise((resolve) => {
      this.socket.once("end", () => resolve());
      this.socket.once("close", () => resolve());
    });
  }

  static webSocket(path: string, target: string, protocol?: string): StreamClient {
    return new StreamClient(path, target, {
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
      ...(protocol === undefined ? {} : { "Sec-WebSocket-Protocol": protocol }),
    });
  }

  static spdy(path: string, target: string, more: Record<string, string> = {}): StreamClient {
    const version = { "X-Stream-Protocol-Version": "v4.channel.k8s.io" };
    return new StreamClient(path, target, { Upgrade: "SPDY/3.1", ...version, ...more });
  }

  /** The first line of the answer, its headers, and of a refusal its message. */
  async head(): Promise<{ readonly status: string; readonly text: string; message: string }> {
    const text = await this.until((bytes) => {
      const end = bytes.indexOf("\r\n\r\n");
      return end < 0 ? undefined : { value: bytes.toString("latin1", 0, end), rest: end + 4 };
    });
    const status = text.split("\r\n")[0] ?? "";
    if (status.includes(" 101 ")) return { status, text, message: "" };
    await this.closed;
    const body: unknown = JSON.parse(this.#received.toString());
    return { status, text, message: String(Reflect.get(Object(body), "message")) };
  }

  /** Exactly so many bytes that are no messages. */
  bytes(length: number): Promise<string> {
    return this.until((held) =>
      held.length < length
        ? undefined
        : { value: held.toString("latin1", 0, length), rest: length },
    );
  }

  /** The next message; of a close its code as text of channel -1. */
  message(): Promise<Message> {
    return this.until((held) => {
      const [first = 0, second = 0] = held;
      if (held.length < 4 && !(held.length >= 2 && second < 2)) return undefined;
      const [size, at] =
        second === 126
          ? [held.readUInt16BE(2), 4]
          : second === 127
            ? [Number(held.readBigUInt64BE(2)), 10]
            : [second, 2];
      if (held.length < at + size) return undefined;
      const payload = held.subarray(at, at + size);
      const rest = at + size;
      const opcode = first & 15;
      if (opcode === 8)
        return { value: { channel: -1, text: String(payload.readUInt16BE(0)) }, rest };
      const channel = opcode === 1 ? Number(payload.toString("latin1", 0, 1)) : (payload[0] ?? -2);
      return { value: { channel, text: payload.toString("latin1", 1) }, rest };
    });
  }

  /** A binary message whose first byte is the channel; `isText`: a text message. */
  send(channel: number, data: string | Uint8Array, isText = false): void {
    const content = typeof data === "string" ? Buffer.from(data, "latin1") : data;
    const first = isText ? Buffer.from(String(channel)) : Buffer.from([channel]);
    this.frame(isText ? 0x81 : 0x82, Buffer.concat([first, content]));
  }

  frame(opcode: number, payload: Uint8Array): void {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(payload.length));
    const length = payload.length < 126 ? [0x80 | payload.length] : [0x80 | 127, ...size];
    this.socket.write(Buffer.concat([Buffer.from([opcode, ...length, 0, 0, 0, 0]), payload]));
  }

  async until<T>(
    take: (held: Buffer) => { readonly value: T; readonly rest: number } | undefined,
  ): Promise<T> {
    for (;;) {
      const taken = take(this.#received);
      if (taken !== undefined) {
        this.#received = this.#received.subarray(taken.rest);
        return taken.value;
      }
      if (this.socket.readableEnded || this.socket.destroyed)
        throw new Error(`the connection ended with ${this.#received.length} bytes unread`);
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
