import { afterEach, describe, expect, test } from "bun:test";
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

import type { GrpcHealth } from "../../../src/host/probe/probe-edge.ts";
import { grpcHealth } from "../../../src/host/probe/probe-grpc.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { connecting, freePort, probeServers, rejection } from "./probe-servers.ts";

const servers = probeServers();
const clock = new VirtualClock();
const started: Http2Server[] = [];

afterEach(() => {
  for (const server of started.splice(0)) server.close();
  expect(clock.pending).toBe(0);
});

interface Asked {
  readonly path: string | undefined;
  readonly body: Buffer;
}

/** An HTTP/2 server; `answer` gets every request when it is complete. */
async function serve(answer: (stream: ServerHttp2Stream, asked: Asked) => void): Promise<number> {
  const server = createServer();
  started.push(server);
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const parts: Buffer[] = [];
    stream.on("error", () => undefined);
    stream.on("data", (chunk: Buffer) => parts.push(chunk));
    stream.on("end", () => answer(stream, { path: headers[":path"], body: Buffer.concat(parts) }));
  });
  server.on("sessionError", () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", () => resolve()));
  return (server.address() as AddressInfo).port;
}

const GRPC = { ":status": 200, "content-type": "application/grpc" };

function respond(stream: ServerHttp2Stream, frame: readonly number[], status = "0"): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
  stream.end(Buffer.from(frame));
}

function ask(port: number, service = "", signal?: AbortSignal): Promise<GrpcHealth> {
  return grpcHealth(clock, { host: "127.0.0.1", port, service }, { timeoutMs: 1000, signal });
}

describe("a server that knows its health", () => {
  const frames: Readonly<Record<string, readonly [number[], GrpcHealth]>> = {
    serves: [[0, 0, 0, 0, 2, 8, 1], "SERVING"],
    "does not serve": [[0, 0, 0, 0, 2, 8, 2], "NOT_SERVING"],
    "does not know the service": [[0, 0, 0, 0, 2, 8, 3], "SERVICE_UNKNOWN"],
    "says so explicitly": [[0, 0, 0, 0, 2, 8, 0], "UNKNOWN"],
    "says nothing at all": [[0, 0, 0, 0, 0], "UNKNOWN"],
  };
  test.each(Object.entries(frames))("%s", async (_sentence, [frame, health]) => {
    expect(await ask(await serve((stream) => respond(stream, frame)))).toBe(health);
  });

  test("is asked for one service by its name", async () => {
    const seen: Asked[] = [];
    const port = await serve((stream, asked) => {
      seen.push(asked);
      respond(stream, [0, 0, 0, 0, 2, 8, 1]);
    });
    await ask(port, "liveness");
    await ask(port);
    expect(seen).toEqual([
      {
        path: "/grpc.health.v1.Health/Check",
        body: Buffer.concat([Buffer.from([0, 0, 0, 0, 10, 10, 8]), Buffer.from("liveness")]),
      },
      { path: "/grpc.health.v1.Health/Check", body: Buffer.from([0, 0, 0, 0, 0]) },
    ]);
  });
});

describe("a server that answers otherwise", () => {
  const cases: Readonly<
    Record<string, readonly [(stream: ServerHttp2Stream) => void, string | RegExp]>
  > = {
    "does not have the method": [
      (stream) => stream.respond({ ...GRPC, "grpc-status": "12" }, { endStream: true }),
      'answered "UNIMPLEMENTED"',
    ],
    "is an HTTP server without it": [
      (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
      'answered "UNIMPLEMENTED"',
    ],
    "does not know the service": [
      (stream) => stream.respond({ ...GRPC, "grpc-status": "5" }, { endStream: true }),
      'answered "NOT_FOUND"',
    ],
    "refuses in words": [
      (stream) =>
        stream.respond(
          { ...GRPC, "grpc-status": "7", "grpc-message": "go%20away" },
          { endStream: true },
        ),
      "ConnectionFailed: error: health rpc probe failed: rpc error: code = PermissionDenied desc = go away",
    ],
    "is down behind a proxy": [
      (stream) => stream.respond({ ":status": 503 }, { endStream: true }),
      "ConnectionFailed: error: health rpc probe failed: rpc error: code = Unknown desc = unexpected HTTP status code received from server: 503",
    ],
    "says half a message": [
      (stream) => respond(stream, [0, 0, 0, 0, 9, 8, 1]),
      "ConnectionFailed: error: health rpc probe failed: rpc error: code = Internal desc = the response is not a grpc.health.v1.HealthCheckResponse",
    ],
    "forgets the trailers": [
      (stream) => {
        stream.respond(GRPC);
        stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
      },
      "ConnectionFailed: error: health rpc probe failed: rpc error: code = Internal desc = server closed the stream without sending trailers",
    ],
    "says far too much": [
      (stream) => {
        stream.respond(GRPC);
        stream.write(Buffer.alloc(64 * 1024));
      },
      /^ConnectionFailed: .* code = ResourceExhausted /,
    ],
    "resets the stream": [
      (stream) => stream.close(2),
      /^ConnectionFailed: error: health rpc probe failed: rpc error: /,
    ],
  };
  test.each(Object.entries(cases))("%s", async (_sentence, [answer, said]) => {
    const failed = await rejection(ask(await serve(answer)));
    if (typeof said === "string") expect(failed).toBe(said);
    else expect(failed).toMatch(said);
  });

  test("speaks HTTP/1", async () => {
    const server = await servers.plain((socket) => {
      socket.write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      socket.end();
    });
    expect(await rejection(ask(server.port))).toStartWith("ConnectionFailed: ");
    await server.closed();
  });

  test("closes at once", async () => {
    const server = await servers.plain((socket) => void socket.end());
    expect(await rejection(ask(server.port))).toStartWith("ConnectionFailed: ");
    await server.closed();
  });

  test("resets", async () => {
    const server = await servers.plain(
      (socket) => void socket.once("data", () => void socket.resetAndDestroy()),
    );
    expect(await rejection(ask(server.port))).toStartWith("ConnectionFailed: ");
  });

  test("is not there", async () => {
    const port = await freePort();
    expect(await rejection(ask(port))).toBe(
      `ConnectionFailed: error: failed to connect service at "127.0.0.1:${port}": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });
});

const frame = (type: number, stream: number, payload: readonly number[]): Buffer =>
  Buffer.from([0, 0, payload.length, type, 0, 0, 0, 0, stream, ...payload]);
const SETTINGS = frame(4, 0, []);

describe("a server that floods", () => {
  const floods: Readonly<Record<string, Buffer>> = {
    "with windows": frame(8, 0, [0, 0, 0, 1]),
    "with promises": frame(5, 1, [0, 0, 0, 2, 0x82, 0x86, 0x84]),
    "with settings": SETTINGS,
    "with pings": frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    "with frames of unknown types": frame(0xfa, 0, [1, 2, 3]),
  };
  test.each(Object.entries(floods))("%s fails, and is heard no longer", async (_sentence, one) => {
    const chunk = Buffer.concat(Array.from({ length: 500 }, () => one));
    let sent = 0;
    const server = await servers.plain((socket) => {
      socket.write(SETTINGS);
      const flood = (): void => {
        if (socket.destroyed || sent > 64 * 1024 * 1024) return;
        sent += chunk.length;
        if (socket.write(chunk)) setImmediate(flood);
        else socket.once("drain", flood);
      };
      flood();
    });
    expect(await rejection(ask(server.port))).toStartWith("ConnectionFailed: ");
    await server.closed();
    // What the kernel keeps for the connection was written too.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });
});

describe("a server that opens streams of its own", () => {
  const own: Readonly<Record<string, readonly [Buffer, number]>> = {
    "with headers": [frame(1, 2, [0x88]), 2],
    "with data": [frame(0, 168, [1, 2, 3]), 168],
    "with a promise on the request's stream": [frame(5, 1, [0, 0, 0, 2, 0x88]), 1],
  };
  test.each(Object.entries(own))("%s fails the probe", async (_sentence, [one, stream]) => {
    const bytes = Buffer.concat([SETTINGS, frame(8, 0, [0, 0, 0, 1]), one]);
    const server = await servers.plain((socket) => {
      // A header may arrive in pieces.
      socket.write(bytes.subarray(0, 12));
      setImmediate(() => socket.write(bytes.subarray(12)));
    });
    expect(await rejection(ask(server.port))).toContain(`the server opens stream ${stream}, `);
  });
});

describe("the end of the time", () => {
  test("closes a connection that is silent", async () => {
    const server = await servers.plain(() => undefined);
    const asked = rejection(ask(server.port));
    await server.received();
    await clock.advance(1000);
    expect(await asked).toBe("Timeout: timeout: health rpc did not complete within 1s");
    await server.closed();
  });

  test("gives up a connection that is not made", async () => {
    const port = await servers.deaf();
    const before = connecting(port);
    const asked = rejection(ask(port));
    while (connecting(port) === before) await clock.settle();
    await clock.advance(1000);
    expect(await asked).toBe(
      `Timeout: timeout: failed to connect service "127.0.0.1:${port}" within 1s: context deadline exceeded`,
    );
    while (connecting(port) > before) await clock.settle();
  });

  test("is also the caller's to choose", async () => {
    const server = await servers.plain(() => undefined);
    const caller = new AbortController();
    const asked = rejection(ask(server.port, "", caller.signal));
    await server.received();
    caller.abort();
    expect(await asked).toBe("Aborted: cancelled");
    await server.closed();
  });
});
