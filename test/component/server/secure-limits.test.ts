import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { statSync } from "node:fs";
import { eventually } from "../../harness/eventually.ts";
import { freePort } from "../../harness/free-port.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { counted } from "../../fakes/counted.ts";
import {
  expectUnauthorized,
  nextData,
  openSecure,
  untilClosed,
  type Made,
  type SecureStage,
} from "./secure-stage.ts";

const newDirectory = temporaryDirectories();
const GET = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const WATCH = "GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** So many connections with a request on each, and the first answer of each. */
async function requests(
  stage: SecureStage,
  as: Made,
  { count, request }: { readonly count: number; readonly request: string },
): Promise<{ readonly clients: readonly Socket[]; readonly answers: readonly string[] }> {
  const clients: Socket[] = [];
  const answers: string[] = [];
  while (clients.length < count) {
    const some = await Promise.all(Array.from({ length: 32 }, () => stage.tls(as)));
    const first = some.map(nextData);
    for (const client of some) client.write(request);
    clients.push(...some);
    answers.push(...(await Promise.all(first)).map((answer) => answer.slice(9, 12)));
  }
  return { clients, answers };
}

describe("a connection ends if within ten seconds", () => {
  const cases: Readonly<Record<string, (stage: SecureStage) => Promise<Socket>>> = {
    "it sends nothing": (stage) => stage.tcp(),
    "it sends half a handshake": async (stage) => {
      const client = await stage.tcp();
      client.write(Buffer.from("16030100c8010000c40303", "hex"));
      return client;
    },
    "it sends no request after the handshake": (stage) => stage.tls({}),
    "it sends half a head": async (stage) => {
      const client = await stage.tls({});
      client.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
      return client;
    },
    "a known user sends half a head": async (stage) => {
      const client = await stage.tls(await stage.make());
      client.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
      return client;
    },
  };
  test.each(Object.entries(cases))("%s", async (_sentence, open) => {
    using stage = await openSecure({ directory: newDirectory() });
    const client = await open(stage);
    const closed = untilClosed(client);
    await stage.local("/healthz");
    await stage.clock.advance(9_900);
    await stage.local("/healthz");
    expect(client.destroyed).toBe(false);
    await stage.clock.advance(200);
    expect(await closed).toBe("");
  });
});

describe("a connection of a known user", () => {
  test("waits two minutes for the next request", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const client = await stage.tls(await stage.make());
    const first = nextData(client);
    client.write(GET);
    expect(await first).toStartWith("HTTP/1.1 200");
    await stage.local("/healthz");
    await stage.clock.advance(119_000);
    const second = nextData(client);
    client.write(GET);
    expect(await second).toStartWith("HTTP/1.1 200");
    const closed = untilClosed(client);
    await stage.local("/healthz");
    await stage.clock.advance(121_000);
    expect(await closed).toBe("");
  });

  test("may watch for hours", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const { clients, answers } = await requests(stage, await stage.make(), {
      count: 32,
      request: WATCH,
    });
    expect(new Set(answers)).toEqual(new Set(["200"]));
    await stage.clock.advance(3 * 3_600_000);
    await stage.local("/healthz");
    expect(clients.filter(({ destroyed }) => destroyed)).toEqual([]);
    for (const client of clients) client.destroy();
  });

  test("is kept from too many requests at once, and the others are not", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const viewer = await stage.make("user=viewer&access=ReadOnly");
    const second = await stage.make("user=second&access=ReadOnly");
    const admin = await stage.make();
    const all = await requests(stage, viewer, { count: 128, request: WATCH });
    expect(all.answers.every((status) => status === "200")).toBe(true);
    const refused = await stage.get("/healthz", viewer);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    // All read-only users together.
    const more = await requests(stage, second, { count: 64, request: WATCH });
    expect(more.answers.every((status) => status === "200")).toBe(true);
    expect((await stage.get("/healthz", second)).status).toBe(429);
    expect((await stage.get("/healthz", admin)).status).toBe(200);
    // A place is free again when a request ends.
    const [first] = all.clients;
    const closed = new Promise((resolve) => first?.once("close", resolve));
    first?.destroy();
    await closed;
    while ((await stage.get("/healthz", viewer)).status === 429);
    for (const client of [...all.clients, ...more.clients]) client.destroy();
  });

  test("gets what it asks for while others hold every place that they can", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    const silent = await Promise.all(Array.from({ length: 300 }, () => stage.tcp()));
    const guessing = await Promise.all(Array.from({ length: 40 }, () => stage.tls({})));
    for (const client of guessing) client.write(GET);
    for (let count = 0; count < 20; count += 1)
      expect((await stage.get("/healthz", admin)).status).toBe(200);
    // Of those that wait there are 128 at most.
    await Promise.all(silent.slice(0, 150).map((client) => ended(client)));
    for (const client of [...silent, ...guessing]) client.destroy();
  });
});

function ended(client: Socket): Promise<unknown> {
  return client.destroyed ? Promise.resolve() : untilClosed(client);
}

test("answers to unknown users become slow, and those to known ones do not", async () => {
  using stage = await openSecure({ directory: newDirectory() });
  const admin = await stage.make();
  for (let count = 0; count < 20; count += 1)
    expect((await stage.get("/", { token: "guess" })).status).toBe(401);
  let isAnswered = false;
  const late = stage.get("/", { token: "guess" }).then((response) => {
    isAnswered = true;
    return response.status;
  });
  for (let count = 0; count < 5; count += 1)
    expect((await stage.get("/healthz", admin)).status).toBe(200);
  expect(isAnswered).toBe(false);
  await stage.clock.advance(2_000);
  expect(await late).toBe(401);
  const lines = stage.lines.filter((line) => line.includes("unknown user"));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThanOrEqual(5);
});

describe("TLS handshakes", () => {
  const limited = (burst: number, all = 1_000) => ({
    handshakes: { ofAddress: { burst, perSecond: 1 }, all: { burst: all, perSecond: 1 } },
  });
  const isOpened = (stage: SecureStage, as: Made): Promise<boolean> =>
    stage.get("/healthz", as).then(
      ({ status }) => status === 200,
      () => false,
    );

  test.each([
    ["of one address", limited(5)],
    ["of all together", limited(1_000, 5)],
  ])("%s have a rate: beyond it connections are closed before theirs", async (_of, settings) => {
    using stage = await openSecure({ directory: newDirectory(), settings });
    const admin = await stage.make();
    for (let count = 0; count < 5; count += 1) expect(await isOpened(stage, admin)).toBe(true);
    for (let count = 0; count < 3; count += 1) expect(await isOpened(stage, admin)).toBe(false);
    expect(counted(stage.meter, "agent_api_handshakes_total")).toEqual([
      'agent_api_handshakes_total{result="completed"} 5',
      'agent_api_handshakes_total{result="refused"} 3',
    ]);
    expect((await stage.local("/healthz")).status).toBe(200);
    await stage.clock.advance(1_000);
    expect(await isOpened(stage, admin)).toBe(true);
    expect(await isOpened(stage, admin)).toBe(false);
  });
});

test("requests are counted by verb and code, and whatever clients send there are few of each", async () => {
  using stage = await openSecure({ directory: newDirectory() });
  const admin = await stage.make();
  const send = async (request: string): Promise<void> => {
    const client = await stage.tls(admin);
    const closed = untilClosed(client);
    client.write(`${request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    await closed;
  };
  await send("GET /healthz");
  await send("GET /nothing");
  await send("DELETE /nothing");
  await send("PROPFIND /nothing");
  const watch = await stage.tls(admin);
  const begun = nextData(watch);
  watch.write(WATCH);
  await begun;
  watch.destroy();
  await expectUnauthorized(await stage.get("/healthz", {}));
  const requests = (): readonly string[] => counted(stage.meter, "agent_api_requests_total");
  await eventually("the watch is over", () => requests().join().includes('"WATCH"'));
  // The stage itself has asked more often.
  const others = requests().filter((line) => !line.includes('verb="GET",code="200"'));
  expect(others.map((line) => line.replace("agent_api_requests_total", "")).toSorted()).toEqual([
    '{verb="DELETE",code="404"} 1',
    '{verb="GET",code="401"} 1',
    '{verb="GET",code="404"} 1',
    '{verb="POST",code="200"} 1',
    '{verb="WATCH",code="200"} 1',
    '{verb="other",code="404"} 1',
  ]);
});

describe("a body", () => {
  test("that is not read is not taken in", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const client = await stage.tls(await stage.make());
    const answer = untilClosed(client);
    client.write("POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n");
    const timer = setInterval(() => void client.write(Buffer.alloc(64 * 1024)), 1);
    expect(await answer).toStartWith("HTTP/1.1 404");
    clearInterval(timer);
  });

  test("of an unknown user is not taken in", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const client = await stage.tls({});
    const answer = untilClosed(client);
    client.write("POST /hold HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect(await answer).toStartWith("HTTP/1.1 401");
  });
});

test("a head is not larger than 32 KiB", async () => {
  using stage = await openSecure({ directory: newDirectory() });
  const client = await stage.tls(await stage.make());
  const closed = untilClosed(client);
  client.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(40_000)}\r\n\r\n`);
  expect(await closed).not.toContain("200 OK");
});

test("a client that does not read its answer is cut off, and costs little memory until then", async () => {
  const events = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    type: "Normal" as const,
    reason: "Starting",
    object: { kind: "Node" as const, name: "pi-1" },
    message: "x".repeat(1000),
    count: 1,
    first: 0,
    last: 0,
    host: "pi-1",
  }));
  using stage = await openSecure({ directory: newDirectory(), facts: { events: () => events } });
  const client = await stage.tls(await stage.make());
  const first = nextData(client);
  client.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await first;
  client.pause();
  for (let count = 0; count < 50; count += 1) await stage.local("/healthz");
  await stage.clock.advance(61_000);
  const rest = untilClosed(client);
  client.resume();
  expect((await rest).length).toBeLessThan(20_000_000);
});

test("an address that is taken is tried again, and the unix socket is open meanwhile", async () => {
  const port = freePort();
  const taken = Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  const settings = { listen: { host: "127.0.0.1", port } };
  using stage = await openSecure({ directory: newDirectory(), settings, isClosed: true });
  const refused = await stage.local("/kubeconfig?user=a&access=Full", { method: "POST" });
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain(`cannot listen on 127.0.0.1:${port}`);
  taken.stop(true);
  await stage.clock.advance(60_000);
  await eventually("it is open", async () => (await stage.get("/healthz", {})).status === 401);
  const errors = stage.lines.filter((line) => line.includes("trying again"));
  expect(errors.length).toBe(1);
});

test("an open listener without clients has no timer, and its clients leave none", async () => {
  using stage = await openSecure({ directory: newDirectory() });
  expect(stage.clock.pending).toBe(0);
  expect((await stage.get("/healthz", await stage.make())).status).toBe(200);
  await eventually("the connection is closed", () => stage.clock.pending === 0);
});

test("a group that does not exist leaves the socket to root", async () => {
  const directory = newDirectory();
  using stage = await openSecure({ directory, socketGroup: "no-such-group" });
  expect((await stage.local("/healthz")).status).toBe(200);
  expect(stage.lines.join()).toContain("socketGroup cannot be used");
  expect(statSync(stage.socket).mode & 0o777).toBe(0o600);
});

test.each([["0"], ["root"]])("the group %s may use the socket", async (socketGroup) => {
  using stage = await openSecure({ directory: newDirectory(), socketGroup });
  const { mode, gid } = statSync(stage.socket);
  expect([mode & 0o777, gid]).toEqual([0o660, 0]);
});
