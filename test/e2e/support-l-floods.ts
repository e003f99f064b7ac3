// Servers that flood whoever connects: a hostile broker and a hostile gRPC server.

import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

const CHUNK = 64 * 1024;
const CONNACK = [0x20, 3, 0, 0, 0];

/** Packets of MQTT 5, one of each flood. */
export const PACKETS = {
  PUBREL: [0x62, 2, 0, 1],
  PUBACK: [0x40, 2, 0, 1],
  PINGRESP: [0xd0, 0],
  "a PUBLISH of no topic that it asked for": [0x30, 4, 0, 1, 0x78, 0],
  "a PUBLISH of QoS 2": [0x34, 6, 0, 1, 0x78, 0, 1, 0],
} as const satisfies Readonly<Record<string, readonly number[]>>;

/** Frames of HTTP/2, one of each flood. */
export const FRAMES = {
  WINDOW_UPDATE: frame(0x8, 0, 0, [0, 0, 0, 1]),
  PUSH_PROMISE: frame(0x5, 0x4, 1, [0, 0, 0, 2, 0x82]),
  SETTINGS: frame(0x4, 0, 0, []),
  PING: frame(0x6, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]),
  "an unknown type": frame(0xfa, 0, 0, [1, 2, 3]),
} as const satisfies Readonly<Record<string, readonly number[]>>;

function frame(type: number, flags: number, stream: number, body: readonly number[]): number[] {
  return [0, 0, body.length, type, flags, 0, 0, 0, stream, ...body];
}

export class Flood implements Disposable {
  /** Connections that were taken. */
  connections = 0;
  /** Bytes that were written. */
  written = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#sockets.add(socket));
  }

  /** Answers the first bytes of each connection with `greeting`, and then repeats `unit` without end. */
  static async start(
    host: string,
    greeting: readonly number[],
    unit: readonly number[],
  ): Promise<Flood> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, host, resolve));
    const flood = new Flood(server);
    const times = Math.ceil(CHUNK / unit.length);
    const chunk = Buffer.from(Array.from({ length: times }, () => unit).flat());
    server.on("connection", (socket: Socket) => {
      flood.connections += 1;
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.write(Buffer.from(greeting));
        const more = (): void => {
          if (socket.destroyed) return;
          flood.written += chunk.length;
          if (socket.write(chunk)) setImmediate(more);
          else socket.once("drain", more);
        };
        more();
      });
    });
    return flood;
  }

  static async broker(unit: readonly number[]): Promise<Flood> {
    return Flood.start("127.0.0.1", CONNACK, unit);
  }

  static async grpc(host: string, unit: readonly number[]): Promise<Flood> {
    return Flood.start(host, FRAMES.SETTINGS, unit);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
