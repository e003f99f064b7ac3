// Servers on the loopback that answer as badly as a test wants.

import { afterEach } from "bun:test";
import { dlopen, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface TestServer {
  readonly port: number;
  /** Resolves with the next bytes that a client sends. */
  received(): Promise<string>;
  /** Resolves when a client has ended its connection. */
  closed(): Promise<void>;
}

const LIBC = dlopen("libc.so.6", {
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
  listen: { args: ["i32", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
}).symbols;

const pem = (file: string) => readFileSync(new URL(`../../fixtures/tls/${file}`, import.meta.url));

/** Servers that stop after each test of the file. */
export function probeServers() {
  const cleanUps: (() => void)[] = [];
  afterEach(() => {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function start(server: Server, host: string, event: string): Promise<TestServer> {
    let told = "";
    let tell: ((text: string) => void) | undefined;
    const sockets = new Set<Socket>();
    let end: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("end", () => end?.());
      socket.on("close", () => end?.());
    });
    server.on(event, (socket: Socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => {
        told += chunk.toString();
        tell?.(told);
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, host, resolve));
    cleanUps.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return {
      port: (server.address() as AddressInfo).port,
      received: () =>
        told === "" ? new Promise((resolve) => (tell = resolve)) : Promise.resolve(told),
      closed: () => ended,
    };
  }

  return {
    /** `serve` gets each connection. */
    plain: (serve: (socket: Socket) => void, host = "127.0.0.1"): Promise<TestServer> =>
      start(createServer({ allowHalfOpen: true }, serve), host, "connection"),
    /** With a certificate that nobody signed, or one that ended in 2020. */
    tls: (
      serve: (socket: Socket) => void,
      certificate: "broker" | "expired" = "broker",
    ): Promise<TestServer> => {
      const key = pem(`${certificate}.key`);
      const server = createTlsServer({ key, cert: pem(`${certificate}.pem`) }, serve);
      return start(server, "127.0.0.1", "secureConnection");
    },
    /** A port that lets nobody in and sends nobody away: its queue is full, and nobody accepts. */
    deaf: async (): Promise<number> => {
      const port = await freePort();
      const fd = LIBC.socket(2, 1, 0);
      const address = Buffer.from([
        2,
        0,
        port >> 8,
        port & 255,
        127,
        0,
        0,
        1,
        ...new Uint8Array(8),
      ]);
      if (LIBC.bind(fd, ptr(address), address.length) !== 0 || LIBC.listen(fd, 0) !== 0)
        throw new Error("no deaf port");
      const fillers = [1, 2, 3].map(() => connect({ host: "127.0.0.1", port }));
      for (const filler of fillers) filler.on("error", () => undefined);
      cleanUps.push(() => {
        for (const filler of fillers) filler.destroy();
        LIBC.close(fd);
      });
      while (connecting(port) === 0) await new Promise((resolve) => setImmediate(resolve));
      return port;
    },
  };
}

/** Connections to `port` that wait for an answer to their SYN. */
export function connecting(port: number): number {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")} 02 `;
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => line.includes(remote)).length;
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}

/** What a promise rejected with, as `reason: message`. */
export async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await promise)}`;
  } catch (thrown) {
    const { reason, message } = thrown as { reason: string; message: string };
    return `${reason}: ${message}`;
  }
}
