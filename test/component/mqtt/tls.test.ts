import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type Server, type TlsOptions } from "node:tls";

import { messageOf } from "../../../src/lib/errors.ts";
import type { ConnectOptions } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { certificateExpiries } from "../../../src/mqtt/parse-certificates.ts";
import { eventually } from "../../harness/eventually.ts";
import { CertificateAuthority, type KeyPair } from "../../harness/certificates.ts";
import { FrameBroker } from "./frame-broker.ts";
import { connectTo, optionsFor, outcome } from "./link-client.ts";
import { Mosquitto } from "./mosquitto.ts";
import { WebSocketDoor } from "./websocket-door.ts";

const directory = mkdtempSync(join(tmpdir(), "agent-tls-"));
const ca = new CertificateAuthority(directory);
const otherCa = new CertificateAuthority(directory, "other-ca");
const here = { altName: "IP:127.0.0.1" };
const server = ca.issue("broker", "server", here);
const expired = ca.issue("broker", "expired", { ...here, days: -1 });
const elsewhere = ca.issue("broker", "elsewhere", { altName: "IP:127.0.0.2,DNS:broker.example" });
const client = ca.issue("pi-1", "client");
const stranger = otherCa.issue("pi-1", "stranger");

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function pem(path: string): string {
  return readFileSync(path, "utf8");
}

function pair({ cert, key }: KeyPair): { readonly cert: string; readonly key: string } {
  return { cert: pem(cert), key: pem(key) };
}

function listenerWith({ cert, key }: KeyPair): readonly string[] {
  return [
    `cafile ${ca.cert}`,
    `certfile ${cert}`,
    `keyfile ${key}`,
    "require_certificate true",
    "use_identity_as_username true",
  ];
}

describe("mosquitto with client certificates", () => {
  let broker: Mosquitto;
  let url: string;
  beforeAll(async () => {
    broker = await Mosquitto.start(listenerWith(server));
    url = broker.url.replace("mqtt:", "mqtts:");
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  for (const protocolVersion of [5, 4] as const)
    test(`is spoken to with MQTT ${protocolVersion === 5 ? "5" : "3.1.1"} over TLS`, async () => {
      const options = { ca: pem(ca.cert), ...pair(client), protocolVersion };
      const session = await connectTo(url, options);
      const message = { topic: "x", payload: new Uint8Array([1]), qos: 1, retain: false } as const;
      expect(await session.publish(message)).toBe(0);
      await session.end();
    });

  test("is verified with any of several CAs in one file", async () => {
    const both = pem(otherCa.cert) + pem(ca.cert);
    expect(await outcome(connectTo(url, { ca: both, ...pair(client) }))).toBe("connected");
  });

  test("is refused when another CA made its certificate, and the message names the setting", async () => {
    const answer = await outcome(connectTo(url, { ca: pem(otherCa.cert), ...pair(client) }));
    expect(answer).toStartWith(`ConnectFailed: no connection to broker ${url}`);
    expect(answer).toEndWith("(the broker's certificate is not signed by a CA of mqtt.caFile)");
    const unknown = await outcome(connectTo(url, pair(client)));
    expect(unknown).toContain(
      "not signed by a CA of this system; set mqtt.caFile to use another CA",
    );
  });

  test("refuses a client without a certificate, or with one of another CA", async () => {
    const nobody = await outcome(connectTo(url, { ca: pem(ca.cert) }));
    const remedy = "(the broker rejects the client certificate (mqtt.certFile, mqtt.keyFile))";
    expect(nobody).toStartWith("ConnectFailed");
    expect(nobody).toEndWith(remedy);
    const foreign = { ca: pem(ca.cert), ...pair(stranger) };
    const refused = await outcome(connectTo(url, foreign));
    expect(refused).toEndWith(remedy);
  });

  test("a key that does not belong to the certificate is said", async () => {
    const mixed = { ca: pem(ca.cert), cert: pem(client.cert), key: pem(stranger.key) };
    expect(await outcome(connectTo(url, mixed))).toMatch(/^ConnectFailed: .*(mismatch|key)/i);
  });
});

test("a server certificate that has expired is refused, with the clock as a reason to look at", async () => {
  await using broker = await Mosquitto.start(listenerWith(expired));
  const url = broker.url.replace("mqtt:", "mqtts:");
  const answer = await outcome(connectTo(url, { ca: pem(ca.cert), ...pair(client) }));
  expect(answer).toContain("certificate has expired");
  expect(answer).toContain("by this machine's clock");
});

test("a server certificate for another address is refused", async () => {
  await using broker = await Mosquitto.start(listenerWith(elsewhere));
  const url = broker.url.replace("mqtt:", "mqtts:");
  const answer = await outcome(connectTo(url, { ca: pem(ca.cert), ...pair(client) }));
  expect(answer).toContain("is for another address than mqtt.url's");
});

/** A TLS server that answers every first word with CONNACK. */
class TlsBroker implements Disposable {
  /** ALPN and TLS version of each connection. */
  readonly seen: string[] = [];
  readonly resumed: boolean[] = [];
  readonly #server: Server;

  private constructor(options: TlsOptions) {
    this.#server = createServer({ ...pair(server), ...options }, (socket) => {
      this.seen.push(`${socket.alpnProtocol} ${socket.getProtocol()}`);
      this.resumed.push(socket.isSessionReused());
      socket.on("error", () => undefined); // The client hangs up as it likes.
      socket.on("data", () => void socket.write(new Uint8Array([0x20, 3, 0, 0, 0])));
    });
  }

  static async start(options: TlsOptions = {}): Promise<TlsBroker> {
    const broker = new TlsBroker(options);
    const { promise, resolve } = Promise.withResolvers<void>();
    broker.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return broker;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" ? (address?.port ?? 0) : 0;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

test("the ALPN list is sent", async () => {
  using broker = await TlsBroker.start({ ALPNProtocols: ["h2", "x-amzn-mqtt-ca"] });
  const url = `mqtts://127.0.0.1:${broker.port}`;
  const options = { ca: pem(ca.cert), alpn: ["mqtt", "x-amzn-mqtt-ca"] };
  const session = await connectTo(url, options);
  expect(broker.seen).toEqual(["x-amzn-mqtt-ca TLSv1.3"]);
  session.abort();
});

test("TLS 1.2 is the oldest that is spoken, over a WebSocket too", async () => {
  using modern = await TlsBroker.start({ maxVersion: "TLSv1.2" });
  const session = await connectTo(`mqtts://127.0.0.1:${modern.port}`, { ca: pem(ca.cert) });
  expect(modern.seen).toEqual(["false TLSv1.2"]);
  session.abort();

  using old = await TlsBroker.start({ minVersion: "TLSv1", maxVersion: "TLSv1.1" });
  for (const scheme of ["mqtts", "wss"]) {
    const url = `${scheme}://127.0.0.1:${old.port}`;
    const answer = await outcome(connectTo(url, { ca: pem(ca.cert) }));
    expect(answer).toContain("(TLS 1.2 is the oldest supported version)");
  }
  expect(old.seen).toEqual([]);
  // The server is there for whoever asks for less.
  const careless = connect({
    host: "127.0.0.1",
    port: old.port,
    ca: pem(ca.cert),
    minVersion: "TLSv1",
  });
  await new Promise((resolve) => careless.once("secureConnect", resolve));
  expect(careless.getProtocol()).toBe("TLSv1.1");
  careless.destroy();
});

describe("a line that costs by the byte", () => {
  async function thrice(url: string, last: Partial<ConnectOptions>): Promise<void> {
    const link = new MqttjsLink(systemClock());
    const known = { ca: pem(ca.cert), ...pair(client), resumeTls: true };
    for (const options of [known, known, { ...known, ...last }]) {
      const session = await connectTo(url, options, undefined, link);
      const message = { topic: "x", payload: new Uint8Array(1), qos: 0, retain: false } as const;
      await session.publish(message);
      // What resumes comes with the first bytes after the handshake.
      await session.subscribe(["x"]).catch(() => undefined);
      await session.end();
    }
  }

  test("resumes its TLS session, and begins anew with another certificate", async () => {
    using broker = await TlsBroker.start();
    const renewed = pair(ca.issue("pi-1", "renewed"));
    await thrice(`mqtts://127.0.0.1:${broker.port}`, renewed);
    expect(broker.resumed).toEqual([false, true, false]);
  });

  test("can talk to a mosquitto that wants client certificates", async () => {
    await using broker = await Mosquitto.start(listenerWith(server));
    await thrice(broker.url.replace("mqtt:", "mqtts:"), {});
  });
});

describe("WebSockets", () => {
  let broker: Mosquitto;
  beforeAll(async () => {
    broker = await Mosquitto.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  test("a proxy sees the version of the agent", async () => {
    using door = new WebSocketDoor(broker.port);
    const link = new MqttjsLink(systemClock(), "agent/1.2.3 (linux/arm64)");
    const session = await connectTo(door.url, {}, undefined, link);
    await session.end();
    expect(door.userAgents).toEqual(["agent/1.2.3 (linux/arm64)"]);
  });

  test("ws:// speaks MQTT through a proxy, with its path and subprotocol", async () => {
    using door = new WebSocketDoor(broker.port);
    const heard: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const session = await connectTo(door.url, {}, ({ topic, payload }) => {
      heard.push(`${topic} ${payload.length}`);
      arrived.resolve();
    });
    expect(door.asked).toEqual(["/mqtt mqtt"]);
    expect(await session.subscribe(["big"])).toEqual([1]);
    const message = {
      topic: "big",
      payload: new Uint8Array(200_000),
      qos: 1,
      retain: false,
    } as const;
    expect(await session.publish(message)).toBe(0);
    await arrived.promise;
    expect(heard).toEqual(["big 200000"]);
    await session.end();
  });

  test("wss:// is verified like TLS without it", async () => {
    using door = new WebSocketDoor(broker.port, pair(server));
    expect(await outcome(connectTo(door.url, { ca: pem(ca.cert) }))).toBe("connected");
    const wrong = await outcome(connectTo(door.url, { ca: pem(otherCa.cert) }));
    expect(wrong).toEndWith("(the broker's certificate is not signed by a CA of mqtt.caFile)");
    using late = new WebSocketDoor(broker.port, pair(expired));
    const over = await outcome(connectTo(late.url, { ca: pem(ca.cert) }));
    expect(over).toContain("by this machine's clock");
    using other = new WebSocketDoor(broker.port, pair(elsewhere));
    const misled = await outcome(connectTo(other.url, { ca: pem(ca.cert) }));
    expect(misled).toContain("is for another address than mqtt.url's");
  });

  test("ws:// leaves no connection to a server that never answers", async () => {
    const open = new Set<object>();
    using silent = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => void open.add(socket),
        data: () => undefined,
        close: (socket) => void open.delete(socket),
      },
    });
    const url = `ws://127.0.0.1:${silent.port}`;
    const stop = new AbortController();
    const attempts = [
      outcome(connectTo(url, { connectTimeoutMs: 200 })),
      outcome(new MqttjsLink(systemClock()).connect(optionsFor(url), () => undefined, stop.signal)),
    ];
    await eventually("both are there", () => open.size === 2);
    stop.abort();
    for (const attempt of attempts) expect(await attempt).not.toBe("connected");
    await eventually("both are gone", () => open.size === 0);
  });

  test("a flood of pings over wss:// ends the session", async () => {
    const pings = Array.from({ length: 200 }, () => [0x89, 0]).flat();
    using flooder = new FrameBroker(pings, pair(server));
    const options = { ca: pem(ca.cert), receiveRate: { burst: 100, perSecond: 1 } };
    const end = await connectTo(flooder.url, options).then(
      async ({ ended }) => (await ended).message,
      messageOf,
    );
    expect(end).toContain("the broker sent more than 100 WebSocket frames at once");
  });

  test("wss:// shows the client's certificate to who asks for it", async () => {
    using door = new WebSocketDoor(broker.port, { ...pair(server), clientCa: pem(ca.cert) });
    const nobody = await outcome(connectTo(door.url, { ca: pem(ca.cert) }));
    expect(nobody).toContain("(the broker rejects the client certificate");
    const known = { ca: pem(ca.cert), ...pair(client) };
    expect(await outcome(connectTo(door.url, known))).toBe("connected");
  });
});

describe("the dates of certificates", () => {
  test("are those of every certificate in the file, in order", () => {
    const [first = 0, second = 0, ...more] = certificateExpiries(
      `Bag Attributes\n${pem(client.cert)}\n${pem(expired.cert)}`,
    );
    expect(more).toEqual([]);
    expect(Math.round((first - Date.now()) / 86_400_000)).toBe(365);
    expect(Math.round((second - Date.now()) / 86_400_000)).toBe(-1);
  });

  test.each([
    ["an empty file", ""],
    ["a key", pem(client.key)],
  ])("are not found in %s", (_, text) => {
    expect(() => certificateExpiries(text)).toThrow("holds no certificate in PEM");
  });

  test("are not found in a damaged certificate", () => {
    const damaged = pem(client.cert).replace("CERTIFICATE-----\nM", "CERTIFICATE-----\nA");
    expect(() => certificateExpiries(damaged)).toThrow("certificate that cannot be read");
  });
});
