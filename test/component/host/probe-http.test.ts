import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";

import type { HttpAnswer, HttpRequest, ProbeCall } from "../../../src/host/probe-edge.ts";
import { httpGet } from "../../../src/host/probe-http.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { connecting, freePort, probeServers, rejection } from "./probe-servers.ts";

const servers = probeServers();
const clock = new VirtualClock();
const CALL: ProbeCall = { timeoutMs: 1000 };

function get(port: number, more: Partial<HttpRequest> = {}, call = CALL): Promise<HttpAnswer> {
  const request = { scheme: "HTTP", host: "127.0.0.1", port, path: "/", headers: [] } as const;
  return httpGet(clock, { ...request, ...more }, call);
}

/** Answers a request with these bytes, in these pieces; `stay` keeps the connection open. */
const says =
  (pieces: readonly string[], { stay = false } = {}) =>
  (socket: Socket): void => {
    socket.once("data", () => {
      for (const piece of pieces) socket.write(piece);
      if (!stay) socket.end();
    });
  };

afterEach(() => expect(clock.pending).toBe(0));

describe("an answer", () => {
  const cases: Readonly<Record<string, readonly [pieces: readonly string[], answer: HttpAnswer]>> =
    {
      "with a length": [
        ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more"],
        { status: 200, location: "", body: "ok" },
      ],
      "without a length, until the end": [
        ["HTTP/1.0 200\r\n\r\n", "o", "k"],
        { status: 200, location: "", body: "ok" },
      ],
      "in pieces": [
        ["HTTP/1.1 503 Busy\r\nLocation: /", "a\r\nContent-Length: 3\r\n\r", "\nno!"],
        { status: 503, location: "/a", body: "no!" },
      ],
      "in chunks": [
        [
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;ext=1\r\nWiki\r",
          "\n5\r\npedia\r\n0\r\nTrailer: x\r\n\r\n",
        ],
        { status: 200, location: "", body: "Wikipedia" },
      ],
      "after 100 Continue and 103": [
        [
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        ],
        { status: 204, location: "", body: "" },
      ],
      "with bare line feeds": [
        ["HTTP/1.1 302 Found\nLocation: http://a/ü\nContent-Length: 0\n\n"],
        { status: 302, location: "http://a/ü", body: "" },
      ],
      "304, which has no body whatever it says": [
        ["HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
        { status: 304, location: "", body: "" },
      ],
    };

  test.each(Object.entries(cases))("%s", async (_sentence, [pieces, answer]) => {
    const { port } = await servers.plain(says(pieces, { stay: answer.status === 304 }));
    expect(await get(port)).toEqual(answer);
  });

  test("over TLS with a certificate that nobody signed", async () => {
    const { port } = await servers.tls(says(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]));
    expect(await get(port, { scheme: "HTTPS" })).toEqual({ status: 200, location: "", body: "ok" });
  });

  test("from an IPv6 host", async () => {
    const server = await servers.plain(
      says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]),
      "::1",
    );
    expect((await get(server.port, { host: "::1" })).status).toBe(200);
    expect(await server.received()).toContain(`Host: [::1]:${server.port}\r\n`);
  });

  test("from a host with a name", async () => {
    const { port } = await servers.plain(says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]));
    expect((await get(port, { host: "localhost" })).status).toBe(200);
  });
});

describe("a request", () => {
  test("is what was asked, in order, and ends the connection", async () => {
    const server = await servers.plain(says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]));
    const headers = [
      { name: "X-A", value: "1" },
      { name: "X-A", value: " 2 " },
    ];
    await get(server.port, { path: "/a?b=c", headers });
    expect(await server.received()).toBe(
      `GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n`,
    );
    await server.closed();
  });

  test("carries another Host when it is told to", async () => {
    const server = await servers.plain(says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]));
    await get(server.port, { headers: [{ name: "host", value: "a.example" }] });
    expect(await server.received()).toBe(
      "GET / HTTP/1.1\r\nhost: a.example\r\nConnection: close\r\n\r\n",
    );
  });

  test("does not use the proxies of the environment", async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const before = { ...process.env };
    Object.assign(process.env, { http_proxy: dead, HTTP_PROXY: dead, ALL_PROXY: dead });
    try {
      const { port } = await servers.plain(says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]));
      expect((await get(port)).status).toBe(200);
    } finally {
      for (const name of ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
    }
  });

  const refused: Readonly<Record<string, readonly [Partial<HttpRequest>, string]>> = {
    "with a line break in a value": [
      { headers: [{ name: "X", value: "1\r\nY: 2" }] },
      'ConnectionFailed: net/http: invalid header field value for "X"',
    ],
    "with a name that is none": [
      { headers: [{ name: "X Y", value: "1" }] },
      'ConnectionFailed: net/http: invalid header field name "X Y"',
    ],
    "with a second line in its path": [
      { path: "/ HTTP/1.1\r\n" },
      'ConnectionFailed: net/http: invalid path "/ HTTP/1.1\\r\\n"',
    ],
  };
  test.each(Object.entries(refused))("is not sent %s", async (_sentence, [request, said]) => {
    expect(await rejection(get(1, request))).toBe(said);
  });
});

describe("no answer", () => {
  const cases: Readonly<
    Record<string, readonly [serve: (socket: Socket) => void, rejection: string | RegExp]>
  > = {
    "from a server that closes at once": [(socket) => socket.end(), "ConnectionFailed: EOF"],
    "from a server that stops within the head": [
      says(["HTTP/1.1 200 OK\r\nContent-"]),
      "ConnectionFailed: unexpected EOF",
    ],
    "from a server that resets": [
      (socket) => void socket.once("data", () => void socket.resetAndDestroy()),
      /^ConnectionFailed: read tcp 127\.0\.0\.1:\d+: read: connection reset by peer$/,
    ],
    "from a server that speaks something else": [
      says(["SSH-2.0-OpenSSH_9.2p1\r\n"], { stay: true }),
      'ConnectionFailed: malformed HTTP response "SSH-2.0-OpenSSH_9.2p1\\r\\n"',
    ],
    "with a status that is none": [
      says(["HTTP/1.1 2OO OK\r\n\r\n"]),
      'ConnectionFailed: malformed HTTP response "HTTP/1.1 2OO OK"',
    ],
    "with a length that is none": [
      says(["HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"]),
      'ConnectionFailed: bad Content-Length "two"',
    ],
    "of which only half a body comes": [
      says(["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok"]),
      "BodyFailed: unexpected EOF",
    ],
    "whose chunks are none": [
      says(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfour\r\nWiki"]),
      "BodyFailed: malformed chunked encoding",
    ],
  };
  test.each(Object.entries(cases))("%s", async (_sentence, [serve, said]) => {
    const { port } = await servers.plain(serve);
    const failed = await rejection(get(port));
    if (typeof said === "string") expect(failed).toBe(said);
    else expect(failed).toMatch(said);
  });

  test("where nobody listens", async () => {
    const port = await freePort();
    expect(await rejection(get(port))).toBe(
      `ConnectionFailed: dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
    expect(await rejection(get(port, { scheme: "HTTPS" }))).toBe(
      `ConnectionFailed: dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  test("over TLS from a server without it", async () => {
    const { port } = await servers.plain(says(["HTTP/1.1 400 Bad Request\r\n\r\n"]));
    expect(await rejection(get(port, { scheme: "HTTPS" }))).toBe(
      "ConnectionFailed: http: server gave HTTP response to HTTPS client",
    );
  });

  test("from a port that no socket takes", async () => {
    expect(await rejection(get(70_000))).toStartWith("ConnectionFailed: ");
  });
});

describe("a flood", () => {
  const flood = (head: string, piece: string) => (socket: Socket) => {
    socket.once("data", () => {
      socket.write(head);
      const pour = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on("drain", pour);
      pour();
    });
  };

  test("of a body ends at 10 KiB", async () => {
    const server = await servers.plain(flood("HTTP/1.1 200 OK\r\n\r\n", "x".repeat(4096)));
    expect((await get(server.port)).body).toBe("x".repeat(10 * 1024));
    await server.closed();
  });

  test("of chunks ends at 10 KiB", async () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const server = await servers.plain(flood(head, "2\r\nxy\r\n".repeat(200)));
    expect((await get(server.port)).body).toBe("xy".repeat(5 * 1024));
    await server.closed();
  });

  test("of headers is cut off", async () => {
    const server = await servers.plain(flood("HTTP/1.1 200 OK\r\n", `X: ${"x".repeat(4096)}\r\n`));
    expect(await rejection(get(server.port))).toBe(
      "ConnectionFailed: server response headers exceeded 262144 bytes; aborted",
    );
    await server.closed();
  });
});

describe("the end of the time", () => {
  test.each(["HTTP", "HTTPS"] as const)("closes a %s connection that is silent", async (scheme) => {
    const server = await servers.plain(() => undefined);
    const asked = rejection(get(server.port, { scheme }));
    await server.received();
    await clock.advance(999);
    await clock.advance(1);
    expect(await asked).toBe(
      "Timeout: context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
    );
    await server.closed();
  });

  test("within a body is another reason", async () => {
    const server = await servers.plain(says(["HTTP/1.1 200 OK\r\n\r\nfirst"], { stay: true }));
    const asked = rejection(get(server.port));
    await server.received();
    // The answer is on its way through the kernel: give the loop its turns.
    for (let turn = 0; turn < 50; turn += 1) await clock.settle();
    await clock.advance(1000);
    expect(await asked).toStartWith("BodyFailed: ");
    await server.closed();
  });

  test("gives up a connection that is not made", async () => {
    const port = await servers.deaf();
    const before = connecting(port);
    const asked = rejection(get(port));
    while (connecting(port) === before) await clock.settle();
    await clock.advance(1000);
    expect(await asked).toStartWith("Timeout: ");
    while (connecting(port) > before) await clock.settle();
  });

  test("is also the caller's to choose", async () => {
    const server = await servers.plain(() => undefined);
    const caller = new AbortController();
    const asked = rejection(get(server.port, {}, { timeoutMs: 1000, signal: caller.signal }));
    await server.received();
    caller.abort();
    expect(await asked).toBe("Aborted: given up");
    await server.closed();
    expect(await rejection(get(server.port, {}, { ...CALL, signal: caller.signal }))).toBe(
      "Aborted: given up",
    );
  });
});
