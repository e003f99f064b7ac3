import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";

import type { HttpAnswer, HttpRequest, ProbeCall } from "../../../src/host/probe/probe-edge.ts";
import { httpGet } from "../../../src/host/probe/probe-http.ts";
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
      "by status alone": [
        ["HTTP/1.1 204 No Content\r\n\r\n"],
        { status: 204, location: "", body: "" },
      ],
      "by a protocol that nobody asked for": [
        ["HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n\0"],
        { status: 101, location: "", body: "" },
      ],
      "with a length and chunks, of which the chunks count": [
        [
          "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ],
        { status: 200, location: "", body: "ok" },
      ],
      "with one very long header": [
        [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(200_000)}\r\n\r\nok`],
        { status: 200, location: "", body: "ok" },
      ],
      "packed, which nobody asked for": [
        ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"],
        { status: 200, location: "", body: "abc" },
      ],
      "304, which has no body whatever it says": [
        ["HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
        { status: 304, location: "", body: "" },
      ],
    };

  test.each(Object.entries(cases))("%s", async (_sentence, [pieces, answer]) => {
    // Where there is no body, the answer does not wait for the end.
    const stay = [101, 204, 304].includes(answer.status);
    const { port } = await servers.plain(says(pieces, { stay }));
    expect(await get(port)).toEqual(answer);
  });

  test.each(["broker", "expired"] as const)("over TLS, from the server %s", async (certificate) => {
    const serve = says(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]);
    const { port } = await servers.tls(serve, certificate);
    const answer = { status: 200, location: "", body: "ok" };
    expect(await get(port, { scheme: "HTTPS" })).toEqual(answer);
    expect(await get(port, { scheme: "HTTPS", host: "localhost" })).toEqual(answer);
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
    await get(server.port, { path: "/a/../%2e%2e//./b?c=%zz|", headers });
    expect(await server.received()).toBe(
      `GET /a/../%2e%2e//./b?c=%zz| HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n`,
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

  test("carries UTF-8 in its values", async () => {
    const server = await servers.plain(says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]));
    await get(server.port, { headers: [{ name: "X", value: "grün €" }] });
    expect(await server.received()).toContain("X: grün €\r\n");
  });

  test("does not use the proxies of the environment", async () => {
    const ok = says(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    const asked = [(await servers.plain(ok)).port, (await servers.tls(ok)).port];
    const dead = `http://127.0.0.1:${await freePort()}`;
    const names = ["http_proxy", "https_proxy", "all_proxy"];
    // Some clients read the environment only once, as their process begins.
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/probe-http-child.ts`, ...asked.map(String)],
      {
        env: {
          ...process.env,
          ...Object.fromEntries(
            names.flatMap((name) => [
              [name, dead],
              [name.toUpperCase(), dead],
            ]),
          ),
          NODE_USE_ENV_PROXY: "1",
          NO_PROXY: "",
          no_proxy: "",
        },
        stdout: "pipe",
        stderr: "inherit",
      },
    );
    expect(await new Response(child.stdout).text()).toBe("HTTP 200\nHTTPS 200\n");
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
      /^ConnectionFailed: malformed HTTP response "SSH-2\.0-OpenSSH_9\.2p1"/,
    ],
    "with a status that is none": [
      says(["HTTP/1.1 2OO OK\r\n\r\n"]),
      /^ConnectionFailed: malformed HTTP response "HTTP\/1\.1 2OO OK"/,
    ],
    "with a length that is none": [
      says(["HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nsecret"]),
      /^ConnectionFailed: malformed HTTP response "HTTP\/1\.1 200 OK": (?!.*secret).*Content-Length/,
    ],
    "of which only half a body comes": [
      says(["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok"]),
      "BodyFailed: unexpected EOF",
    ],
    "whose chunks are none": [
      says(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfour\r\nWiki"]),
      /^BodyFailed: (?!.*Wiki).*chunk size/,
    ],
    "from a server that resets within the body": [
      (socket) =>
        void socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", () =>
            setImmediate(() => socket.resetAndDestroy()),
          );
        }),
      /^BodyFailed: /,
    ],
    "with a header that is none": [
      says(["HTTP/1.1 200 OK\r\nno colon\r\n\r\n"]),
      /^ConnectionFailed: malformed HTTP response /,
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

  test.each(
    Object.entries({
      "of headers": ["HTTP/1.1 200 OK\r\n", `X: ${"x".repeat(4096)}\r\n`],
      "of interim answers": ["", "HTTP/1.1 100 Continue\r\n\r\n".repeat(200)],
      "of empty lines": ["", "\r\n".repeat(2000)],
    } as const),
  )("%s is cut off", async (_sentence, [head, piece]) => {
    const server = await servers.plain(flood(head, piece));
    expect(await rejection(get(server.port))).toBe(
      "ConnectionFailed: server response headers exceeded 262144 bytes; aborted",
    );
    await server.closed();
  });

  test("of trailers is cut off", async () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    const server = await servers.plain(flood(head, `X: ${"x".repeat(4096)}\r\n`));
    expect(await rejection(get(server.port))).toMatch(/^BodyFailed: .*overflow/);
    await server.closed();
  });

  test("of a chunk's size that never ends is cut off", async () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const server = await servers.plain(flood(head, "0".repeat(4096)));
    expect(await rejection(get(server.port))).toBe(
      "BodyFailed: server response exceeded 524288 bytes; aborted",
    );
    await server.closed();
  });

  test("that begins with a whole answer is that answer", async () => {
    const head = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${"x".repeat(600_000)}`;
    const server = await servers.plain(flood(head, "x".repeat(4096)));
    expect((await get(server.port)).body).toBe("ok");
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
    expect(await asked).toBe("Aborted: cancelled");
    await server.closed();
    expect(await rejection(get(server.port, {}, { ...CALL, signal: caller.signal }))).toBe(
      "Aborted: cancelled",
    );
  });
});
