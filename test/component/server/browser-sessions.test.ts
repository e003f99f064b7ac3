// `agent ui` at the door: an address works once, for a while, for one browser, and proves no more than it must.

import { describe, expect, test } from "bun:test";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { MAX_SESSIONS, MAX_TOKENS } from "../../../src/server/access/browser-access.ts";
import { BrowserSessions } from "../../../src/server/access/browser-sessions.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { eventually } from "../../harness/eventually.ts";
import { freePort } from "../../harness/free-port.ts";
import { nextData, openSecure, untilClosed, type SecureStage } from "./secure-stage.ts";

const newDirectory = temporaryDirectories();
const ADMIN = { user: "admin", access: "Full" } as const;
const HTML = { accept: "text/html,application/xhtml+xml" };

/** What `agent ui` gets, and the token in it. */
async function order(stage: SecureStage, query = "user=admin&access=Full") {
  const response = await stage.local(`/ui/tokens?${query}`, { method: "POST" });
  const { url } = (await response.json()) as { readonly url: string };
  return { url, token: url.split("#token=")[1] ?? "" };
}

function own(stage: SecureStage): Record<string, string> {
  return { origin: `https://127.0.0.1:${stage.port}`, "sec-fetch-site": "same-origin" };
}

/** What the page does with its address. */
function begin(stage: SecureStage, token: string, headers = own(stage)): Promise<Response> {
  const authorization = `Bearer ${token}`;
  return stage.get("/ui/session", {}, { method: "POST", headers: { ...headers, authorization } });
}

interface Session {
  readonly cookie: string;
  readonly "agent-session-key": string;
}

async function session(stage: SecureStage, query?: string): Promise<Session> {
  const begun = await begin(stage, (await order(stage, query)).token);
  expect(begun.status).toBe(200);
  const [cookie = ""] = (begun.headers.get("set-cookie") ?? "").split(";");
  const { key } = (await begun.json()) as { readonly key: string };
  return { cookie, "agent-session-key": key };
}

async function asked(
  stage: SecureStage,
  call: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const [method = "", path = ""] = call.split(" ");
  return (await stage.get(path, {}, { method, headers })).status;
}

describe("an address of agent ui", () => {
  test("leads to a page without a session, which begins one and then reads", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const { url, token } = await order(stage);
    expect(url).toStartWith(`https://127.0.0.1:${stage.port}/ui/login#token=`);
    expect(token).toMatch(/^[\w-]{43}$/);
    const page = await stage.get("/ui/login", {}, { headers: HTML });
    expect(page.status).toBe(401);
    expect(page.headers.get("content-security-policy")).toMatch(/script-src 'sha256-[\w+/]{43}='/);
    expect(await page.text()).toContain("sudo agent ui");
    const begun = await begin(stage, token);
    expect(begun.headers.get("set-cookie")).toMatch(
      new RegExp(
        `^__Host-agent-${stage.port}=[\\w-]{43}; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$`,
      ),
    );
    expect(begun.headers.get("cache-control")).toBe("no-store");
    const mine = await session(stage);
    expect(await asked(stage, "GET /ui/", { cookie: mine.cookie })).toBe(200);
    expect(await asked(stage, "GET /api/v1/pods", { ...mine })).toBe(200);
    expect(stage.lines.join()).not.toContain(token);
    expect(stage.lines.join()).not.toContain("unknown user");
  });

  test("works once, whichever comes first, and not after its time by any clock", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const { token } = await order(stage);
    const both = await Promise.all([begin(stage, token), begin(stage, token)]);
    expect(both.map(({ status }) => status)).toContain(401);
    expect(both.map(({ status }) => status)).toContain(200);
    const refused = await begin(stage, token);
    expect(await refused.text()).toContain('run \\"sudo agent ui\\" on the node for a new address');
    const [early, late] = [await order(stage), await order(stage)];
    stage.clock.stepWall(-40 * 365 * 86_400_000);
    await stage.clock.advance(119_000);
    stage.clock.stepWall(80 * 365 * 86_400_000);
    expect((await begin(stage, early.token)).status).toBe(200);
    await stage.clock.advance(1_000);
    expect((await begin(stage, late.token)).status).toBe(401);
  });

  test("is one of few, however many are ordered", () => {
    const clock = new VirtualClock();
    const sessions = new BrowserSessions({ clock, random: systemRandom, end: () => undefined });
    const tokens = Array.from({ length: 10_000 }, () => sessions.offer(ADMIN));
    expect(new Set(tokens).size).toBe(10_000);
    const begun = tokens.map((token) => sessions.begin(token, undefined) !== undefined);
    expect(begun.filter(Boolean)).toHaveLength(MAX_TOKENS);
    expect(begun.slice(-MAX_TOKENS).every(Boolean)).toBe(true);
    expect(sessions.list()).toHaveLength(MAX_SESSIONS);
  });

  test("is not guessed: each guess waits after the first ones, and no session of others does", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const mine = await session(stage);
    const { token } = await order(stage);
    let answered = 0;
    const guesses = Array.from({ length: 30 }, async (_, index) => {
      const { status } = await begin(stage, `${index}${token.slice(2)}`);
      answered += 1;
      return status;
    });
    await eventually("the first ones are answered", () => answered >= 18);
    expect(await asked(stage, "GET /pods", { ...mine })).toBe(200);
    expect((await begin(stage, token)).status).toBe(200);
    expect(answered).toBeLessThan(25);
    await stage.clock.advance(2_000);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]));
  });

  test("is made by root on the node only, and used over TLS only", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const admin = await stage.make();
    const mine = await session(stage);
    const path = "/ui/tokens?user=a&access=Full";
    expect((await stage.get(path, admin, { method: "POST" })).status).toBe(403);
    expect(await asked(stage, `POST ${path}`, { ...mine, ...own(stage) })).toBe(403);
    const named = await stage.local("/ui/tokens?user=system:a", { method: "POST" });
    expect([named.status, await named.text()]).toEqual([
      409,
      'the name "system:a" of the user must not begin with "system:", which is reserved\n',
    ]);
    const { token } = await order(stage);
    const authorization = `Bearer ${token}`;
    const locally = await stage.local("/ui/session", {
      method: "POST",
      headers: { authorization },
    });
    expect(locally.status).toBe(404);
    // It is a token of one path: for any other it is unknown, and stays good.
    expect((await stage.get("/pods", { token })).status).toBe(401);
    expect((await begin(stage, token)).status).toBe(200);
  });

  test.each([
    ["another page", { origin: "https://evil.example" }, 403],
    ["another port", { origin: "https://127.0.0.1:1" }, 403],
    ["a neighbour", { "sec-fetch-site": "same-site" }, 403],
    ["no page", {}, 403],
    ["a foreign name", { host: "evil.example", origin: "https://evil.example" }, 421],
  ])("begins no session for %s, and stays good", async (_who, headers, status) => {
    using stage = await openSecure({ directory: newDirectory() });
    const { token } = await order(stage);
    expect((await begin(stage, token, headers as Record<string, string>)).status).toBe(status);
    expect((await begin(stage, token)).status).toBe(200);
  });
});

describe("a session", () => {
  test("needs cookie and key, and the page for a change", async () => {
    let holds = 0;
    const facts = { changeHold: () => ({ type: "Done" as const, isNew: (holds += 1) > 0 }) };
    using stage = await openSecure({ directory: newDirectory(), facts });
    const [mine, other] = [await session(stage), await session(stage)];
    const key = { "agent-session-key": mine["agent-session-key"] };
    const page = own(stage);
    const cases: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
      ["GET /pods", { ...mine }, 200],
      ["GET /pods", { cookie: mine.cookie }, 401],
      ["GET /pods", key, 401],
      ["GET /pods", { ...key, cookie: other.cookie }, 401],
      ["GET /configz", { cookie: mine.cookie }, 401],
      ["POST /hold", { ...page, cookie: mine.cookie }, 401],
      ["POST /hold", { ...mine }, 403],
      ["POST /hold", { ...mine, origin: "https://evil.example" }, 403],
      ["POST /hold", { ...mine, ...page, host: "evil.example" }, 401],
      ["GET /api/v1/secrets", { ...mine }, 200],
      ["GET /api/v1/pods", { ...mine, host: "evil.example" }, 401],
    ];
    for (const [call, headers, status] of cases)
      expect([call, headers, await asked(stage, call, headers)]).toEqual([call, headers, status]);
    expect(holds).toBe(0);
    expect(await asked(stage, "POST /hold", { ...mine, ...page })).toBe(200);
    expect(holds).toBe(1);
  });

  test("that only reads changes nothing and sees no Secrets", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const mine = { ...(await session(stage, "user=viewer")), ...own(stage) };
    expect(await asked(stage, "GET /api/v1/pods", mine)).toBe(200);
    for (const call of ["GET /api/v1/secrets", "POST /hold", "POST /trust/reset", "POST /shutdown"])
      expect([call, await asked(stage, call, mine)]).toEqual([call, 403]);
  });

  test("opens no WebSocket", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const mine = { ...(await session(stage)), ...own(stage) };
    const client = await stage.tls({});
    const answer = untilClosed(client);
    const headers = Object.entries({ ...mine, host: `127.0.0.1:${stage.port}` });
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const path = "/api/v1/namespaces/a/pods/b/exec?command=sh";
    client.write(
      `GET ${path} HTTP/1.1\r\n${lines}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 403 [^]*opens no stream into a container/);
  });

  test("is not chosen by the browser, and replaces the one before", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const planted = `__Host-agent-${stage.port}=planted-by-another`;
    const { token } = await order(stage);
    const begun = await begin(stage, token, { ...own(stage), cookie: planted });
    expect(begun.headers.get("set-cookie")).not.toContain("planted");
    expect(await asked(stage, "GET /ui/", { cookie: planted })).toBe(401);
    const mine = await session(stage);
    const again = await order(stage);
    await begin(stage, again.token, { ...own(stage), cookie: mine.cookie });
    expect(await asked(stage, "GET /pods", { ...mine })).toBe(401);
  });

  test("ends after half a day by no wall clock, and what runs for it ends too", async () => {
    using stage = await openSecure({ directory: newDirectory() });
    const mine = await session(stage);
    stage.clock.stepWall(40 * 365 * 86_400_000);
    const { ended } = await watch(stage, mine);
    await stage.clock.advance(43_199_000);
    expect(await asked(stage, "GET /pods", { ...mine })).toBe(200);
    await stage.clock.advance(1_000);
    await ended;
    expect(await asked(stage, "GET /pods", { ...mine })).toBe(401);
  });

  test.each([
    ["the user is revoked", "/kubeconfig?user=admin", undefined],
    ["the user logs out", undefined, "DELETE /ui/session"],
  ])("ends when %s", async (_why, local, call) => {
    using stage = await openSecure({ directory: newDirectory() });
    const mine = await session(stage);
    const { token } = await order(stage);
    const other = await session(stage, "user=viewer");
    expect(await (await stage.local("/kubeconfig")).json()).toMatchObject({
      items: [
        { user: "admin", access: "Full", credential: "Session", notAfter: "2026-11-21T20:00:00Z" },
        { user: "viewer", access: "ReadOnly", credential: "Session" },
      ],
    });
    const { ended } = await watch(stage, mine);
    if (local !== undefined) await stage.local(local, { method: "DELETE" });
    if (call !== undefined) expect(await asked(stage, call, { ...mine })).toBe(403);
    if (call !== undefined) expect(await asked(stage, call, { ...mine, ...own(stage) })).toBe(200);
    await ended;
    expect(await asked(stage, "GET /pods", { ...mine })).toBe(401);
    expect(await asked(stage, "GET /pods", { ...other })).toBe(200);
    if (local !== undefined) expect((await begin(stage, token)).status).toBe(401);
  });

  test("ends with a restart, and when the API is closed", async () => {
    const [directory, port] = [newDirectory(), freePort()];
    const options = {
      directory,
      settings: { listen: undefined, fallback: { host: "127.0.0.1", port } },
    };
    const first = await openSecure({ ...options, port, isClosed: true });
    const mine = await session(first);
    await first.local("/kubeconfig/listen", { method: "DELETE" });
    const again = await session(first);
    expect(await asked(first, "GET /pods", { ...mine })).toBe(401);
    expect(await asked(first, "GET /pods", { ...again })).toBe(200);
    first[Symbol.dispose]();
    expect(first.clock.pending).toBe(0);
    using second = await openSecure({ ...options, port });
    expect(await asked(second, "GET /pods", { ...again })).toBe(401);
  });
});

/** A running watch; `ended` resolves when the agent ends it. */
async function watch(
  stage: SecureStage,
  mine: Session,
): Promise<{ readonly ended: Promise<string> }> {
  const client = await stage.tls({});
  const ended = untilClosed(client);
  const lines = Object.entries(mine).map(([name, value]) => `${name}: ${value}\r\n`);
  const host = `Host: 127.0.0.1:${stage.port}\r\n`;
  client.write(`GET /api/v1/pods?watch=true HTTP/1.1\r\n${host}${lines.join("")}\r\n`);
  expect(await nextData(client)).toStartWith("HTTP/1.1 200");
  return { ended };
}
