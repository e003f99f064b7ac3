// The page of the fleet with a real mosquitto: rows come as server-sent events, change, and go.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Terminal } from "../../../src/cli/process-io.ts";
import { PLAIN } from "../../../src/cli/terminal/palette.ts";
import { MAX_STREAMS } from "../../../src/fleet/ui/ui-server.ts";
import { fleetUi } from "../../../src/fleet/ui/ui.ts";
import { systemClock, systemRandom } from "../../../src/lib/system-clock.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { startBroker, type Broker } from "../../harness/broker.ts";
import { BrokerClient } from "../../harness/broker-client.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const temp = makeTempDirectory();
const clock = systemClock();
const stop = new AbortController();
let broker: Broker;
let client: BrokerClient;
let ended: Promise<0>;
let origin = "";
let token = "";

beforeAll(async () => {
  broker = await startBroker(temp);
  client = await BrokerClient.connect(broker.url);
  await publishState("pi-1", "online");
  const address = Promise.withResolvers<string>();
  const terminal: Terminal = {
    out: (text) => address.resolve(text.trim()),
    err: () => undefined,
    outBytes: () => undefined,
    drained: () => Promise.resolve(),
    isTerminal: false,
    palette: PLAIN,
    isErrTerminal: false,
    columns: undefined,
    isInteractive: false,
    environment: {},
    clock,
    interrupted: () => stop.signal,
    readInput: () => Promise.resolve(new Uint8Array()),
    readLine: () => Promise.resolve(""),
  };
  const parts = { terminal, link: new MqttjsLink(clock), random: systemRandom };
  ended = fleetUi(parts, { url: broker.url, port: 0 });
  const printed = await Promise.race([address.promise, ended.then(() => "")]);
  [origin = "", token = ""] = printed.split("/#token=");
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

test("the files allow nothing from elsewhere, and data needs the token", async () => {
  const page = await fetch(`${origin}/`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).not.toMatch(/https?:/);
  expect((await fetch(`${origin}/api/nodes`)).status).toBe(401);
  const evil = { host: "evil.test", authorization: `Bearer ${token}` };
  expect((await fetch(`${origin}/api/node/pi-1`, { headers: evil })).status).toBe(403);
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
}, 120_000);
