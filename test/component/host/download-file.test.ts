// A large file from real servers: whole, in parts, and from hostile ones.

import { afterAll, afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";

import { fileDownloads } from "../../../src/host/http/download-file.ts";
import { reasonOf } from "../../../src/lib/errors.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const temp = makeTempDirectory();
const clock = new VirtualClock();
const download = fileDownloads({ clock, userAgent: "agent/1.2.3 (linux/arm64)" });
const never = new AbortController().signal;
const open: { close: () => void }[] = [];
const CONTENT = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
let files = 0;

afterEach(() => {
  for (const one of open.splice(0)) one.close();
  expect(clock.pending).toBe(0);
});
afterAll(() => temp.remove());

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handle: Handler): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/agent`;
}

function place(content?: Uint8Array): string {
  files += 1;
  const path = join(temp.path, `file-${files}`);
  if (content !== undefined) writeFileSync(path, content);
  return path;
}

/** As a server that knows ranges. */
const withRanges: Handler = (request, response) => {
  const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined) return void response.end(CONTENT);
  const from = Number(first);
  if (from >= CONTENT.length) return void response.writeHead(416).end();
  const range = { "content-range": `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` };
  response.writeHead(206, range).end(CONTENT.subarray(from));
};

async function get(url: string, path: string, maxBytes = CONTENT.length): Promise<string> {
  const onBytes = (): void => undefined;
  return download({ url, path, maxBytes, onBytes }, never).then(
    () => "whole",
    (error: unknown) => reasonOf(error, "Other"),
  );
}

test("a file arrives, and its bytes are counted", async () => {
  const [url, path] = [await serve(withRanges), place()];
  const seen: number[] = [];
  const onBytes = (bytes: number): void => void seen.push(bytes);
  await download({ url, path, maxBytes: CONTENT.length, onBytes }, never);
  expect(readFileSync(path).equals(CONTENT)).toBe(true);
  expect(seen.at(-1)).toBe(CONTENT.length);
});

test("the server sees the version of the agent that asks", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    asked.push(request.headers["user-agent"]);
    withRanges(request, response);
  });
  await get(url, place());
  expect(asked).toEqual(["agent/1.2.3 (linux/arm64)"]);
});

test("what is there is not asked for again", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    asked.push(request.headers.range);
    withRanges(request, response);
  });
  const path = place(CONTENT.subarray(0, 60_000));
  expect(await get(url, path)).toBe("whole");
  expect(readFileSync(path).equals(CONTENT)).toBe(true);
  expect(await get(url, path)).toBe("whole");
  expect(asked).toEqual(["bytes=60000-", "bytes=100000-"]);
});

test("a server without ranges sends all of it again", async () => {
  const [url, path] = [await serve((_, response) => response.end(CONTENT)), place(CONTENT)];
  writeFileSync(path, "wrong bytes");
  expect(await get(url, path)).toBe("whole");
  expect(readFileSync(path).equals(CONTENT)).toBe(true);
});

test("what has arrived before the connection ended stays", async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { "content-length": CONTENT.length });
    response.write(CONTENT.subarray(0, 50_000), () => response.destroy());
  });
  const path = place();
  expect(await get(url, path)).toBe("ConnectionFailed");
  expect(readFileSync(path).equals(CONTENT.subarray(0, readFileSync(path).length))).toBe(true);
});

test("no byte beyond the bound is written", async () => {
  const url = await serve((_, response) => {
    const more = (): void => {
      while (response.write(CONTENT));
      response.once("drain", more);
    };
    more();
  });
  const path = place();
  expect(await get(url, path, 150_000)).toBe("TooLarge");
  expect(readFileSync(path).length).toBeLessThanOrEqual(150_000);
});

test("a range that was not asked for is not taken", async () => {
  const url = await serve((_, response) => {
    response.writeHead(206, { "content-range": "bytes 0-9/10" }).end("0123456789");
  });
  const path = place(CONTENT.subarray(0, 5));
  expect(await get(url, path)).toBe("BadAnswer");
  expect(readFileSync(path).length).toBe(5);
});

test("a redirect is followed, but not for ever", async () => {
  const target = await serve(withRanges);
  const once = await serve(
    (_, response) => void response.writeHead(302, { location: target }).end(),
  );
  const path = place();
  expect(await get(once, path)).toBe("whole");
  const round = await serve(
    (_, response) => void response.writeHead(302, { location: "/x" }).end(),
  );
  expect(await get(round, place())).toBe("BadRedirect");
});

test("another status and an encoding are refused, and write nothing", async () => {
  const path = place();
  expect(await get(await serve((_, response) => void response.writeHead(404).end()), path)).toBe(
    "BadAnswer",
  );
  const gzip: Handler = (_, response) =>
    void response.writeHead(200, { "content-encoding": "gzip" }).end("x");
  expect(await get(await serve(gzip), path)).toBe("BadAnswer");
  expect(existsSync(path)).toBe(false);
});

test("a server that is silent is left, and so is one when the caller stops", async () => {
  const asked = Promise.withResolvers<void>();
  const url = await serve(() => asked.resolve());
  const silent = get(url, place());
  await asked.promise;
  await clock.advance(60_000);
  expect(await silent).toBe("Timeout");
  const stop = new AbortController();
  const onBytes = (): void => undefined;
  const stopped = download({ url, path: place(), maxBytes: 5, onBytes }, stop.signal);
  stop.abort();
  expect(await stopped.catch((error: unknown) => reasonOf(error, "Other"))).toBe("Aborted");
});
