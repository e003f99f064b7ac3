// The connection that `agent check` makes to a broker, over real TLS on loopback.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTcp, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { decodeConfig, type MqttConfig } from "../../../src/config/config.ts";
import { askBroker } from "../../../src/cli/check/probe-broker.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";

const directory = mkdtempSync(join(tmpdir(), "agent-check-"));
const servers: Server[] = [];
let ports: Readonly<Record<"tls" | "tcp" | "mute", number>>;
let ca: string;

beforeAll(async () => {
  const authority = new CertificateAuthority(directory);
  const pair = authority.issue("broker", "broker", { altName: "IP:127.0.0.1" });
  ca = authority.cert;
  const tls = createTls({ cert: readFileSync(pair.cert), key: readFileSync(pair.key) });
  tls.on("tlsClientError", () => undefined);
  ports = {
    tls: await listening(tls),
    tcp: await listening(createTcp()),
    mute: await listening(createTcp()),
  };
});

afterAll(() => {
  for (const server of servers) server.close();
  rmSync(directory, { recursive: true });
});

function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on("connection", (socket) => socket.on("error", () => undefined));
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function mqtt(fields: object): MqttConfig {
  const decoded = decodeConfig({ mqtt: fields });
  if (!decoded.ok || decoded.value.mqtt === undefined) throw new Error(JSON.stringify(decoded));
  return decoded.value.mqtt;
}

const never = new AbortController().signal;

describe("the broker", () => {
  test("over TLS with its CA: when its certificate expires", async () => {
    const answer = await askBroker(
      mqtt({ url: `mqtts://127.0.0.1:${ports.tls}`, caFile: ca }),
      never,
    );
    expect(answer.type).toBe("Connected");
    if (answer.type === "Connected") expect(answer.expires).toBeGreaterThan(0);
  });

  test("over TLS without its CA is refused, with the reason", async () => {
    const answer = await askBroker(mqtt({ url: `mqtts://127.0.0.1:${ports.tls}` }), never);
    expect(answer).toMatchObject({ type: "Failed", address: `mqtts://127.0.0.1:${ports.tls}` });
    if (answer.type === "Failed") expect(answer.message).toMatch(/self.signed|issuer|verify/i);
  });

  test("with a CA file that is missing", async () => {
    const caFile = join(directory, "none.pem");
    const answer = await askBroker(mqtt({ url: "mqtts://127.0.0.1:1", caFile }), never);
    expect(answer.type === "Failed" ? answer.message : "").toContain("ENOENT");
  });

  test("without TLS", async () => {
    const url = `mqtt://127.0.0.1:${ports.tcp}`;
    expect(await askBroker(mqtt({ url }), never)).toEqual({
      type: "Connected",
      address: url,
      expires: undefined,
    });
  });

  test("that accepts and is silent: ends with the deadline", async () => {
    const stop = new AbortController();
    const asking = askBroker(
      mqtt({ url: `mqtts://127.0.0.1:${ports.mute}`, caFile: ca }),
      stop.signal,
    );
    stop.abort();
    expect(await asking).toMatchObject({ type: "Failed", message: "it does not answer" });
  });
});
