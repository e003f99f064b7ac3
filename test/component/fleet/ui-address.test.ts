// The page of the fleet on another address: with a certificate and a token of its own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { fleetUi } from "../../../src/fleet/ui/ui.ts";
import { systemClock, systemRandom } from "../../../src/lib/system-clock.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { capturedTerminal } from "../../../src/fleet/ui/captured-terminal.ts";
import { startBroker, type Broker } from "../../harness/broker.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";

const TOKEN = "a-token-of-many-letters";
const temp = makeTempDirectory();
const clock = systemClock();
const stop = new AbortController();
const printed: string[] = [];
let broker: Broker;
let ended: Promise<0>;
let port = 0;
let ca = "";

beforeAll(async () => {
  broker = await startBroker(temp);
  port = await freePort();
  const authority = new CertificateAuthority(temp.path);
  const { cert, key } = authority.issue("fleet.test", "page", { altName: "DNS:fleet.test" });
  ca = readFileSync(authority.cert, "utf8");
  const tokenFile = join(temp.path, "token");
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const isPrinted = Promise.withResolvers<void>();
  const terminal = capturedTerminal({ clock, environment: {} }, stop.signal, (line) => {
    printed.push(line);
    if (line.startsWith("https:")) isPrinted.resolve();
  });
  ended = fleetUi(
    { terminal, link: new MqttjsLink(clock), random: systemRandom },
    {
      url: broker.url,
      listen: `0.0.0.0:${port}`,
      tlsCert: cert,
      tlsKey: key,
      tokenFile,
      steps: [],
      bake: 0,
      maxFailures: 0,
      onFailure: "pause",
      history: join(temp.path, "history"),
      keys: "fleet-keys",
      timeout: 0,
    },
  );
  await Promise.race([isPrinted.promise, ended]);
}, 120_000);

afterAll(async () => {
  stop.abort();
  await ended;
  await broker.stop();
  temp[Symbol.dispose]();
});

async function freePort(): Promise<number> {
  const listening = Promise.withResolvers<void>();
  const server = createServer().listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  server.close();
  return address === null || typeof address === "string" ? 0 : address.port;
}

interface Answer {
  readonly status: number | undefined;
  readonly cookie: string;
}

function ask(path: string, headers: Readonly<Record<string, string>>, method = "GET") {
  const answered = Promise.withResolvers<Answer>();
  const options = { host: "127.0.0.1", port, path, method, headers, ca, servername: "fleet.test" };
  const sent = request(options, (answer) => {
    const cookie = answer.headers["set-cookie"]?.[0] ?? "";
    answered.resolve({ status: answer.statusCode, cookie });
    answer.destroy();
  });
  sent.once("error", answered.reject);
  sent.end();
  return answered.promise;
}

test("the token of a file is not printed, and opens the page", async () => {
  expect(printed.join("\n")).toContain(`:${port}/`);
  expect(printed.join("\n")).not.toContain(TOKEN);
  const host = `fleet.test:${port}`;
  expect((await ask("/api/nodes", { host })).status).toBe(401);
  expect((await ask("/api/nodes", { host, authorization: `Bearer ${TOKEN}` })).status).toBe(200);
});

test("a browser gets a cookie that goes over TLS only", async () => {
  const host = `fleet.test:${port}`;
  const headers = { host, origin: `https://${host}`, authorization: `Bearer ${TOKEN}` };
  const { status, cookie } = await ask("/api/session", headers, "POST");
  expect(status).toBe(201);
  expect(cookie).toMatch(/^__Host-agent-fleet-\d+=.*HttpOnly; SameSite=Strict; Secure$/);
  const plain = { ...headers, origin: `http://${host}` };
  expect((await ask("/api/session", plain, "POST")).status).toBe(403);
});

test("the names of the certificate are answered, and addresses, and no other name", async () => {
  expect((await ask("/", { host: `fleet.test:${port}` })).status).toBe(200);
  expect((await ask("/", { host: `127.0.0.1:${port}` })).status).toBe(200);
  expect((await ask("/", { host: `evil.test:${port}` })).status).toBe(403);
});
