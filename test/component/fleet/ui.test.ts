// The page of the fleet with a real mosquitto: rows come as server-sent events, change, and go; a rollout is changed with a
// session only; and a node is asked for a log with a signed command.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { request } from "node:http";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { orderIn } from "../../../src/fleet/rollout/rollout-topic.ts";
import {
  isSignedBy,
  makeKeyPair,
  readSigner,
  signMessage,
  type Signer,
} from "../../../src/fleet/trust/signing-keys.ts";
import { MAX_BODY_BYTES, MAX_STREAMS } from "../../../src/fleet/ui/ui-server.ts";
import { PAGE_FILES } from "../../../src/fleet/ui/page-files.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { readSignedMessage } from "../../../src/protocol/dsse.ts";
import { ROLLOUT as ROLLOUT_TYPE, type RolloutOrder } from "../../../src/protocol/rollout-order.ts";
import { jsonBytes } from "../../../src/protocol/wire-text.ts";
import { startBroker, type Broker } from "../../harness/broker.ts";
import { BrokerClient } from "../../harness/broker-client.ts";
import { eventually } from "../../harness/eventually.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { startFleetUi } from "./fleet-ui.ts";

const temp = makeTempDirectory();
const clock = systemClock();
const stop = new AbortController();
let broker: Broker;
let client: BrokerClient;
let ended: Promise<0>;
let origin = "";
let token = "";
let signer: Signer;

beforeAll(async () => {
  broker = await startBroker(temp);
  client = await BrokerClient.connect(broker.url);
  await publishState("pi-1", "online");
  const { privatePem } = makeKeyPair();
  const key = join(temp.path, "key.pem");
  writeFileSync(key, privatePem);
  signer = readSigner(key);
  const options = { clock, directory: temp.path, flags: { url: broker.url, key: [key] } };
  ({ origin, token, ended } = await startFleetUi(options, stop.signal));
}, 120_000);

afterAll(async () => {
  stop.abort();
  await ended;
  await client[Symbol.asyncDispose]();
  await broker.stop();
  temp[Symbol.dispose]();
});

function publishState(node: string, state: string): Promise<void> {
  const message = { state, incarnation: "i1", session: 1, agent: "1.2.3", protocol: 1 };
  return client.publish(`agent/v1/node/${node}/state`, message, { retain: true });
}

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` }, ...init });
}

/** Reads events until the text so far has `wanted`. */
async function readUntil(
  reader: { read(): Promise<{ readonly value?: Uint8Array | undefined }> },
  wanted: RegExp,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  while (!wanted.test(text)) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(`ended without ${wanted}: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}

test("a page gets all nodes, then only what changes, and what is removed", async () => {
  const abort = new AbortController();
  const answer = await ask("/api/nodes", {
    signal: abort.signal,
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const reader = answer.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  await readUntil(reader, /"isReset":true.*"name":"pi-1","state":"online","version":"1\.2\.3"/);
  await publishState("pi-2", "lost");
  const next = await readUntil(reader, /"name":"pi-2","state":"lost"/);
  expect(next).not.toContain("pi-1");
  await client.publish("agent/v1/node/pi-2/state", "", { retain: true });
  await readUntil(reader, /"removed":\["pi-2"\]/);
  abort.abort();
}, 120_000);

test("a node is shown with what it reported, and its last events", async () => {
  const pods = [{ namespace: "default", name: "<b>web</b>", phase: "Running", ready: "1/1" }];
  const report = { kind: "ReportedState", time: "2026-11-21T07:59:00Z", clockTrusted: true, pods };
  await client.publish("agent/v1/node/pi-1/reported", report, { retain: true });
  const events = [{ type: "Warning", reason: "BackOff", message: "again" }];
  await client.publish("agent/v1/node/pi-1/event", { events });
  for (let text = ""; !text.includes("BackOff"); await clock.sleep(50))
    text = await (await ask("/api/node/pi-1")).text();
  expect(await (await ask("/api/node/pi-1")).json()).toMatchObject({
    name: "pi-1",
    podLines: [{ name: "<b>web</b>", ready: "1/1" }],
    events: [{ reason: "BackOff" }],
  });
  expect((await ask("/api/node/nobody")).status).toBe(404);
}, 120_000);

/** Files that a file of the page names. */
function named(text: string): readonly string[] {
  const names = text.matchAll(/(?:\b(?:src|href)=|\bfrom )"(?:\.\/)?([\w-]+\.(?:js|css))"/g);
  return [...names].map(([, name = ""]) => name);
}

test("the files allow nothing from elsewhere, and data needs the token", async () => {
  const page = await fetch(`${origin}/`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).not.toMatch(/https?:/);
  // The scripts that a script imports too.
  const files = new Set(named(text));
  for (const name of files) {
    const file = await fetch(`${origin}/${name}`);
    expect(file.status, name).toBe(200);
    const content = await file.text();
    expect(content, name).not.toMatch(/https?:|innerHTML|outerHTML|insertAdjacentHTML/);
    for (const next of named(content)) files.add(next);
  }
  expect([...files].toSorted()).toEqual(
    Object.keys(PAGE_FILES)
      .map((path) => path.slice(1))
      .filter((name) => name !== "")
      .toSorted(),
  );
  expect((await fetch(`${origin}/api/nodes`)).status).toBe(401);
  expect((await fetch(`${origin}/unknown.js`)).status).toBe(404);
});

type Sent = Readonly<Record<string, string>>;

function without(headers: Sent, name: string): Sent {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}

/** As any client on the network can write it. */
async function raw(
  path: string,
  { method = "GET", ...headers }: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | undefined; readonly allow: string | undefined }> {
  const answered = Promise.withResolvers<{
    status: number | undefined;
    allow: string | undefined;
  }>();
  const sent = request(`${origin}${path}`, { method, headers }, (answer) => {
    answer.resume();
    answered.resolve({ status: answer.statusCode, allow: answer.headers.allow });
  });
  sent.once("error", answered.reject);
  sent.end(method === "POST" ? JSON.stringify({ generation: 1, percent: 10 }) : undefined);
  return answered.promise;
}

describe("a change", () => {
  const PAUSE = "/api/rollout/kiosks/pause";
  const ROLLOUT = "agent/v1/group/kiosks/rollout";
  let own: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const document = {
      apiVersion: "agent/v1",
      kind: "DesiredState",
      target: { group: "kiosks" },
      generation: 1,
      policy: { staged: true },
      resources: [],
      allowEmpty: true,
    };
    await publishSigned("agent/v1/group/kiosks/desired", "desired", jsonBytes(document));
    await publishOrder(10);
    const begun = await fetch(`${origin}/api/session`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, origin },
    });
    const { key } = (await begun.json()) as { readonly key: string };
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    own = { method: "POST", origin, cookie, "agent-session-key": key };
  }, 120_000);

  async function publishSigned(
    topic: string,
    kind: "desired" | "rollout",
    payload: Uint8Array,
  ): Promise<void> {
    await client.publish(topic, signMessage(kind, payload, [signer]), { retain: true });
  }

  function publishOrder(percent: number): Promise<void> {
    const order: RolloutOrder = {
      apiVersion: "agent/v1",
      kind: "Rollout",
      group: "kiosks",
      epoch: "",
      generation: 1,
      percent,
      match: {},
      paused: false,
      salt: "s",
      issuedAt: clock.now() - 60_000,
    };
    return publishSigned(ROLLOUT, "rollout", jsonBytes(ROLLOUT_TYPE.write(order)));
  }

  async function order(): Promise<RolloutOrder | undefined> {
    return orderIn(Buffer.from((await client.retained(ROLLOUT)) ?? ""), [signer]);
  }

  const refused: Readonly<
    Record<
      string,
      readonly [number, (own: Readonly<Record<string, string>>) => Readonly<Record<string, string>>]
    >
  > = {
    "of another origin": [403, (all) => ({ ...all, origin: "http://evil.test" })],
    "under a foreign name": [403, (all) => ({ ...all, host: "evil.test" })],
    "that does not say where it comes from": [403, (all) => without(all, "origin")],
    "with the cookie alone": [401, (all) => without(all, "agent-session-key")],
    "with the key alone": [401, (all) => without(all, "cookie")],
    "with the token alone": [
      401,
      (all) => ({ ...without(all, "cookie"), authorization: `Bearer ${token}` }),
    ],
    "with another key": [401, (all) => ({ ...all, "agent-session-key": "other" })],
    "with GET": [405, (all) => ({ ...all, method: "GET" })],
  };
  test.each(Object.entries(refused))("%s is refused", async (_, [status, changed]) => {
    const before = await order();
    const answer = await raw(PAUSE, changed(own));
    expect(answer.status).toBe(status);
    expect(answer.allow).toBe(status === 405 ? "POST" : undefined);
    expect(await order()).toEqual(before);
  });

  test("that cannot be read is refused", async () => {
    for (const [body, status] of [
      ["no JSON", 400],
      [JSON.stringify({ generation: "1", percent: 10 }), 400],
      ["x".repeat(MAX_BODY_BYTES + 1), 413],
    ] as const)
      expect(
        (await fetch(`${origin}${PAUSE}`, { headers: own, method: "POST", body })).status,
      ).toBe(status);
  });

  test("of the page is signed, and a percent that another operator has set since is not overwritten", async () => {
    const body = JSON.stringify({ generation: 1, percent: 5 });
    const undo = `${origin}/api/rollout/kiosks/undo`;
    expect((await fetch(undo, { headers: own, method: "POST", body })).status).toBe(202);
    const error = await shown(/"error":"([^"]*has meanwhile set[^"]*)"/);
    expect(error).toContain("from 5 % to 10 %");
    expect(await order()).toMatchObject({ paused: false, percent: 10 });
    expect((await fetch(`${origin}${PAUSE}`, { headers: own, method: "POST", body })).status).toBe(
      202,
    );
    await shown(/"change":"pause"[^}]*"isRunning":false/);
    expect(await order()).toMatchObject({ paused: true, percent: 10, generation: 1 });
  }, 60_000);

  test("of nothing that there is shows its error", async () => {
    const body = JSON.stringify({ generation: 7, percent: 5 });
    const path = `${origin}/api/rollout/kiosks/resume`;
    expect((await fetch(path, { headers: own, method: "POST", body })).status).toBe(202);
    expect(await shown(/"error":"([^"]*published generation 1[^"]*)"/)).toContain("decide again");
  }, 60_000);

  test("by a log command is signed for the node, and control characters of its lines are escaped", async () => {
    const commands = await client.collect("agent/v1/node/pi-1/command");
    const body = JSON.stringify({ namespace: "default", pod: "web" });
    const path = `${origin}/api/node/pi-1/logs`;
    const asked = fetch(path, { headers: own, method: "POST", body });
    const { payload } = await commands.next(() => true);
    const message = Buffer.from(payload);
    expect(isSignedBy([signer], message)).toBe(true);
    const read = readSignedMessage(message);
    if (read.type !== "Signed") throw new Error(read.type);
    const command = JSON.parse(Buffer.from(read.envelope.payload).toString()) as { id: string };
    expect(command).toMatchObject({ verb: "logs", target: { node: "pi-1" }, session: 1 });
    const lines = [{ text: "one" }, { text: "\u001B[31mtwo" }];
    const answer = { id: command.id, phase: "done", code: 200, data: { lines } };
    await client.publish("agent/v1/node/pi-1/response", answer);
    expect(await (await asked).json()).toEqual({ lines: ["one", "\\u001b[31mtwo"] });
  }, 60_000);

  test("by a log command shows why the node is not asked", async () => {
    await publishState("pi-3", "lost");
    const body = JSON.stringify({ namespace: "default", pod: "web" });
    const path = `${origin}/api/node/pi-3/logs`;
    const answer = await fetch(path, { headers: own, method: "POST", body });
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain("commands reach only nodes that are online");
  }, 60_000);

  /** What the stream of a page shows of it; a group in the expression, else all. */
  async function shown(wanted: RegExp): Promise<string> {
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${token}` };
    const reader = (await ask("/api/nodes", { headers, signal: abort.signal })).body?.getReader();
    if (reader === undefined) throw new Error("no body");
    const text = await readUntil(reader, wanted);
    abort.abort();
    return wanted.exec(text)?.[1] ?? text;
  }
});

test("so many pages may be open, and the next one is refused", async () => {
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const open = (): Promise<Response> => ask("/api/nodes", { headers, signal: abort.signal });
  // Kept: an answer that nobody holds may be closed. The pages of other tests may take a moment to be gone.
  const opened: Response[] = [];
  let next = await open();
  for (; next.status === 200 && opened.length < 2 * MAX_STREAMS; next = await open())
    opened.push(next);
  expect(next.status).toBe(503);
  expect(opened.length).toBeGreaterThan(0);
  expect(opened.length).toBeLessThanOrEqual(MAX_STREAMS);
  abort.abort();
  // The server sees a moment later that they are gone, and the test that comes next opens a page.
  await eventually("a page may be open again", async () => {
    const closed = new AbortController();
    const { status } = await ask("/api/nodes", { headers, signal: closed.signal });
    closed.abort();
    return status === 200;
  });
}, 120_000);
