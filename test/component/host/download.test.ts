// One GET against real servers, honest and hostile ones.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { downloads } from "../../../src/host/http/download.ts";
import type { DownloadRequest } from "../../../src/host/http/download-edge.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const clock = new VirtualClock();
const download = downloads({ clock, userAgent: "agent/1.2.3 (linux/arm64)" });
const never = new AbortController().signal;
const temp = makeTempDirectory();
const ca = new CertificateAuthority(temp.path);
const text = (path: string): string => readFileSync(path, "utf8");
const open: { stop: () => void }[] = [];

afterEach(() => {
  for (const one of open.splice(0)) one.stop();
  expect(clock.pending).toBe(0);
});
afterAll(() => temp.remove());

type Handler = (request: Request) => Response | Promise<Response>;

function serve(fetch: Handler, tls?: { cert: string; key: string; ca?: string }): string {
  const own =
    tls === undefined
      ? {}
      : {
          tls: {
            cert: text(tls.cert),
            key: text(tls.key),
            ...(tls.ca === undefined
              ? {}
              : { ca: text(tls.ca), requestCert: true, rejectUnauthorized: true }),
          },
        };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch, ...own });
  open.push({ stop: () => void server.stop(true) });
  return `http${tls === undefined ? "" : "s"}://127.0.0.1:${server.port}`;
}

/** A server that writes bytes as it likes. */
async function raw(handle: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => handle(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ stop: () => void server.close() });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

/** Writes the text again and again, far beyond every limit, until the client has gone. */
function goOn(socket: Socket, text: string): void {
  let left = 10_000;
  const more = (): void => {
    if (socket.destroyed || left === 0) return;
    left -= 1;
    // The callback alone may come at once, before the end of the connection can be seen.
    socket.write(text, () => void setImmediate(more));
  };
  more();
}

function get(url: string, more: Partial<DownloadRequest> = {}) {
  return download({ url, headers: {}, maxBytes: 1000, ...more }, never);
}
async function textOf(url: string, more: Partial<DownloadRequest> = {}): Promise<string> {
  const answer = await get(url, more);
  return answer.type === "Text" ? new TextDecoder().decode(answer.bytes) : answer.type;
}
async function refusal(url: string, more: Partial<DownloadRequest> = {}): Promise<string> {
  const error: unknown = await get(url, more).then(
    (answer) => answer.type,
    (thrown: unknown) => thrown,
  );
  return error instanceof AgentError ? `${error.reason}: ${error.message}` : String(error);
}

describe("an answer", () => {
  test("is the text with its validators", async () => {
    const headers = { etag: '"1"', "last-modified": "Wed, 01 Jan 2020 00:00:00 GMT" };
    const answer = await get(serve(() => new Response("hello", { headers })));
    expect(answer).toEqual({
      type: "Text",
      bytes: new TextEncoder().encode("hello"),
      etag: '"1"',
      lastModified: headers["last-modified"],
    });
  });

  test("is not asked for again when the server still has the same", async () => {
    const asked: (string | null)[] = [];
    const url = serve(({ headers }) => {
      asked.push(headers.get("if-none-match"), headers.get("if-modified-since"));
      return new Response(undefined, { status: 304 });
    });
    expect(await get(url, { etag: '"1"', lastModified: "then" })).toEqual({ type: "NotModified" });
    expect(asked).toEqual(['"1"', "then"]);
    expect(await get(url)).toEqual({ type: "Status", status: 304 });
  });

  test("is asked for by the agent and its version, unless a header says otherwise", async () => {
    const url = serve(({ headers }) => new Response(headers.get("user-agent")));
    expect(await textOf(url)).toBe("agent/1.2.3 (linux/arm64)");
    expect(await textOf(url, { headers: { "user-agent": ["mine"] } })).toBe("mine");
  });

  test("of any other status is a status, with the time that the server wants to be left alone", async () => {
    const busy = () => new Response("", { status: 503, headers: { "retry-after": "90" } });
    expect(await get(serve(busy))).toEqual({ type: "Status", status: 503, retryAfterMs: 90_000 });
    for (const status of [204, 404, 500])
      expect(await get(serve(() => new Response(null, { status })))).toEqual({
        type: "Status",
        status,
      });
  });

  test("may be compressed", async () => {
    const headers = { "content-encoding": "gzip" };
    expect(await textOf(serve(() => new Response(gzipSync("hello"), { headers })))).toBe("hello");
  });

  test("comes from where the server redirects to; headers of the node go to the first server only", async () => {
    const seen: (string | null)[] = [];
    const other = serve(({ headers }) => {
      seen.push(headers.get("authorization"));
      return new Response("moved");
    });
    const url = serve(({ url: asked, headers }) => {
      seen.push(headers.get("authorization"));
      return Response.redirect(asked.endsWith("/a") ? "/b" : `${other}/c`);
    });
    expect(await textOf(`${url}/a`, { headers: { Authorization: ["Bearer x"] } })).toBe("moved");
    expect(seen).toEqual(["Bearer x", "Bearer x", null]);
  });
});

describe("refused is", () => {
  test("too much text, also in small compressed data or without an end", async () => {
    const long = "a".repeat(1001);
    const tooLarge =
      "TooLarge: the answer has more than 1,000 bytes; split it, or put the rest into files";
    expect(await refusal(serve(() => new Response(long)))).toBe(tooLarge);
    const headers = { "content-encoding": "gzip" };
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(
      await refusal(
        serve(() => new Response(bomb, { headers })),
        { maxBytes: 100_000 },
      ),
    ).toContain("TooLarge");
    const endless = await raw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      goOn(socket, "1\r\na\r\n".repeat(1000));
    });
    expect(await refusal(endless)).toBe(tooLarge);
    const heads = await raw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      goOn(socket, `a: ${"b".repeat(4000)}\r\n`);
    });
    expect(await refusal(heads)).not.toStartWith("Text");
  });

  test("what is not whole, not gzip, or no HTTP", async () => {
    const cut = await raw((socket) =>
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    );
    expect(await refusal(cut)).toBe(
      "ConnectionFailed: the connection ended before the answer was complete",
    );
    const headers = { "content-encoding": "gzip" };
    expect(await refusal(serve(() => new Response("no gzip", { headers })))).toBe(
      "BadAnswer: its gzip data is damaged",
    );
    expect(await refusal(await raw((socket) => socket.end("hello\r\n\r\n")))).toStartWith(
      "BadAnswer",
    );
  });

  test("a redirect without end, to another protocol, or away from TLS", async () => {
    const round = serve(({ url }) => Response.redirect(url));
    expect(await refusal(round)).toBe("BadRedirect: the server redirects more than 5 times");
    expect(await refusal(serve(() => Response.redirect("file:///etc/shadow")))).toStartWith(
      "BadRedirect",
    );
    const server = ca.issue("server", "redirecting", { altName: "IP:127.0.0.1" });
    const plain = serve(() => Response.redirect("http://127.0.0.1:1/"), server);
    expect(await refusal(plain, { ca: text(ca.cert) })).toContain("not safe");
  });

  test("no answer at all, when its time is over", async () => {
    const silent = await raw(() => undefined);
    const refused = refusal(silent);
    await clock.advance(121_000);
    expect(await refused).toBe("Timeout: no complete answer within 120 s");
    expect(await refusal("http://127.0.0.1:1/")).toContain("connection refused");
  });
});

describe("TLS", () => {
  const good = ca.issue("server", "good", { altName: "IP:127.0.0.1" });

  test("is verified against the CA that is given", async () => {
    const url = serve(() => new Response("safe"), good);
    expect(await textOf(url, { ca: text(ca.cert) })).toBe("safe");
    expect(await refusal(url)).toContain("ConnectionFailed: the server's certificate is refused");
  });

  test("refuses a certificate of another name, an expired one, and one of another CA", async () => {
    const other = new CertificateAuthority(temp.path, "other-ca");
    for (const server of [
      ca.issue("server", "named", { altName: "DNS:elsewhere" }),
      ca.issue("server", "old", { altName: "IP:127.0.0.1", days: -1 }),
      other.issue("server", "foreign", { altName: "IP:127.0.0.1" }),
    ])
      expect(
        await refusal(
          serve(() => new Response("no"), server),
          { ca: text(ca.cert) },
        ),
      ).toContain("staticPodURLCAFile");
  });

  test("no environment makes it lenient", async () => {
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      expect(await refusal(serve(() => new Response("no"), good))).toContain("is refused");
    } finally {
      delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    }
  });

  test("shows the client's certificate to a server that asks for it", async () => {
    const client = ca.issue("node-7", "client");
    const url = serve(() => new Response("known"), { ...good, ca: ca.cert });
    const keys = { cert: text(client.cert), key: text(client.key) };
    expect(await textOf(url, { ca: text(ca.cert), ...keys })).toBe("known");
    expect(await refusal(url, { ca: text(ca.cert) })).toStartWith("ConnectionFailed");
  });
});
