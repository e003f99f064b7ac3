import { expect, test } from "bun:test";
import { createServer, connect, type Socket } from "node:net";
import { join } from "node:path";
import { createLogger } from "../../../src/lib/logger.ts";
import { ROOT } from "../../../src/server/access/find-user.ts";
import { UNIX_PEER } from "../../../src/server/access/peer.ts";
import { HttpDoor } from "../../../src/server/http/http-door.ts";
import type { ApiRequest, Reply } from "../../../src/server/http/exchange.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { nextData, untilClosed } from "./secure-stage.ts";

const newDirectory = temporaryDirectories();

interface OpenDoor extends Disposable {
  readonly clock: VirtualClock;
  readonly lines: readonly string[];
  connect(): Promise<Socket>;
}

/** Connections come by `accept`, as those of TLS do. */
async function open(reply: (request: ApiRequest) => Promise<Reply>): Promise<OpenDoor> {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLogger({ clock, level: "info", write: (line) => lines.push(line) });
  const leave = (): void => undefined;
  const door = new HttpDoor({
    clock,
    log,
    reply,
    admit: () => ({ type: "Admitted", user: ROOT, leave }),
    upgrade: () => Promise.resolve(101),
  });
  const path = join(newDirectory(), "door.sock");
  const listener = createServer({ allowHalfOpen: true }, (socket) =>
    door.accept(socket, UNIX_PEER),
  );
  await new Promise<void>((resolve) => listener.listen(path, resolve));
  return {
    clock,
    lines,
    connect: () =>
      new Promise((resolve) => {
        const client = connect(path, () => resolve(client));
      }),
    [Symbol.dispose]: () => {
      door.end();
      listener.close();
    },
  };
}

const echo = async ({ body }: ApiRequest): Promise<Reply> => {
  const bytes = await body(1000);
  return { status: 200, contentType: "text/plain", body: new TextDecoder().decode(bytes) };
};

test("a body is read as a whole", async () => {
  using door = await open(echo);
  const client = await door.connect();
  const answer = nextData(client);
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
  client.write("world");
  expect(await answer).toMatch(/^HTTP\/1\.1 200 [^]*helloworld$/);
  client.destroy();
});

test.each([
  ["Content-Length: 1001", "x".repeat(1001)],
  ["Content-Length: 1000000000", "x".repeat(2000)],
  ["Transfer-Encoding: chunked", `800\r\n${"x".repeat(2048)}\r\n`],
])("a body with %s is too large: 413, and the end", async (header, body) => {
  using door = await open(echo);
  const client = await door.connect();
  const answer = untilClosed(client);
  client.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n${body}`);
  expect(await answer).toStartWith("HTTP/1.1 413 ");
  expect(door.lines).toEqual([]);
});

test("a body that does not come within a minute is too slow: 408, and the end", async () => {
  const begun = Promise.withResolvers<void>();
  using door = await open((request) => {
    begun.resolve();
    return echo(request);
  });
  const client = await door.connect();
  const answer = untilClosed(client);
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
  await begun.promise;
  await door.clock.advance(59_000);
  expect(client.destroyed).toBe(false);
  await door.clock.advance(2_000);
  expect(await answer).toStartWith("HTTP/1.1 408 ");
});

test("a failure is a 500 with a line in the log", async () => {
  using door = await open(() => Promise.reject(new Error("broken")));
  const client = await door.connect();
  const answer = untilClosed(client);
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await answer).toMatch(/^HTTP\/1\.1 500 [^]*the agent could not answer: broken\n$/);
  expect(door.lines.join()).toContain("broken");
});

test("a stream waits for its reader, and takes no memory meanwhile", async () => {
  let written = 0;
  using door = await open(() =>
    Promise.resolve({
      status: 200,
      contentType: "text/plain",
      write: async (sink, signal) => {
        const part = new Uint8Array(64 * 1024);
        for (; !signal.aborted && written < 100_000; written += 1) await sink.write(part);
      },
    }),
  );
  const client = await door.connect();
  const first = nextData(client);
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await first;
  client.pause();
  let before = -1;
  while (before !== written) {
    before = written;
    for (let turns = 0; turns < 500; turns += 1)
      await new Promise((resolve) => setImmediate(resolve));
  }
  // The buffers of the kernel and of both ends: far below the 6 GB of the whole.
  expect(written * 64).toBeLessThan(32 * 1024);
  // A reader that pauses is not cut off.
  await door.clock.advance(3_600_000);
  expect(client.destroyed).toBe(false);
  client.destroy();
});
