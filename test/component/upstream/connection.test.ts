import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { VirtualClock } from "../../fakes/fake-clock.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import {
  COMMAND,
  DESIRED,
  dice,
  REPORTED,
  STATE,
  TRUST,
  UpstreamNode,
  world,
} from "./upstream-world.ts";

function states(texts: readonly string[]): readonly string[] {
  return texts.map((text) => {
    const value: unknown = JSON.parse(text);
    const { state, session } = value as { readonly state: string; readonly session: number };
    return `${state} ${session}`;
  });
}

describe("a session", () => {
  test("subscribes first, then tells birth, then publishes what waits", async () => {
    const { clock, broker, node } = world();
    node.outbox.put(REPORTED, "{}", "reported");
    node.start();
    await clock.advance(1000);
    expect(broker.subscribes).toEqual([[TRUST, DESIRED, COMMAND]]);
    expect(broker.publications.map(({ topic }) => topic)).toEqual([STATE, REPORTED]);
    expect(JSON.parse(broker.retained(STATE) ?? "")).toEqual({
      state: "online",
      incarnation: "cafe",
      session: 1,
      time: "2026-11-21T08:00:00Z",
      bootID: "boot",
      agent: "0.1.0",
      protocol: 1,
    });
    expect(node.connection.session()).toBe(1);
    expect(broker.connects.map(({ protocolVersion }) => protocolVersion)).toEqual([5]);
    expect(node.freshSessions).toBe(1);
    await node.stop();
  });

  test("hears a retained document whenever it is there, also on a resumed session", async () => {
    const { clock, broker, node } = world();
    broker.publish(DESIRED, "one");
    node.start();
    await clock.advance(1000);
    broker.close("pi-1");
    broker.publish(DESIRED, "two");
    await clock.advance(2000);
    expect(broker.subscribes).toHaveLength(2);
    expect(node.freshSessions).toBe(1);
    expect(node.received.map(({ text }) => text)).toContain("one");
    expect(node.received.at(-1)).toEqual({ topic: DESIRED, text: "two", retained: true });
    await node.stop();
  });

  test("subscribes to the topics of its groups, eight filters a packet", async () => {
    const { clock, broker, node } = world();
    node.groups = ["a", "b"];
    node.start();
    await clock.advance(1000);
    expect(broker.subscribes.map((filters) => filters.length)).toEqual([8, 1]);
    await node.stop();
  });

  test("tells birth again a minute after connecting with MQTT 5, five seconds with 3.1.1", async () => {
    for (const [protocolVersion, again] of [
      [5, 60_000],
      [4, 5000],
    ] as const) {
      const { clock, broker, node } = world({ config: { protocolVersion } });
      node.start();
      await clock.advance(500);
      await clock.advance(again - 1);
      expect(states(broker.texts(STATE))).toEqual(["online 1"]);
      await clock.advance(1);
      expect(states(broker.texts(STATE))).toEqual(["online 1", "online 1"]);
      node.connection.announce();
      await clock.settle();
      expect(broker.texts(STATE)).toHaveLength(3);
      await node.stop();
    }
  });

  test("leaves a will that a short drop does not publish with MQTT 5", async () => {
    const { clock, broker, node } = world({ random: dice(0.9) });
    node.start();
    await clock.advance(1000);
    expect(broker.connectOptions.get("pi-1")?.will).toMatchObject({
      topic: STATE,
      qos: 1,
      retain: true,
      delaySeconds: 30,
    });
    broker.cut("pi-1");
    await clock.advance(5000);
    expect(states(broker.texts(STATE))).toEqual(["online 1", "online 2"]);
    broker.faults.refuse = "unreachable";
    broker.cut("pi-1");
    await clock.advance(31_000);
    expect(states(broker.texts(STATE))).toEqual(["online 1", "online 2", "lost 2"]);
    await node.stop();
  });

  test("has the last word over a late will on 3.1.1", async () => {
    const { clock, broker, node } = world({ config: { protocolVersion: 4 } });
    node.start();
    await clock.advance(1000);
    broker.cut("pi-1");
    await clock.advance(2000);
    // A second broker of the cluster notices the old connection only now.
    broker.publish(STATE, '{"state":"lost","session":1}');
    await clock.advance(5000);
    expect(states([broker.retained(STATE) ?? ""])).toEqual(["online 2"]);
    await node.stop();
  });
});

describe("a clean stop", () => {
  test("publishes offline and drops the will", async () => {
    const { clock, broker, node } = world();
    node.start();
    await clock.advance(1000);
    await node.stop();
    await clock.advance(60_000);
    expect(states(broker.texts(STATE))).toEqual(["online 1", "offline 1"]);
    expect(broker.isConnected("pi-1")).toBe(false);
  });

  test("takes two seconds at most when the broker answers nothing", async () => {
    const { clock, broker, node } = world();
    node.start();
    await clock.advance(1000);
    broker.faults.losePubacks = true;
    let stopped = false;
    void node.stop().then(() => (stopped = true));
    await clock.advance(1999);
    expect(stopped).toBe(false);
    await clock.advance(1);
    expect(stopped).toBe(true);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  test("ends a wait for the broker at once", async () => {
    const { clock, broker, node } = world();
    broker.faults.refuse = "unreachable";
    node.start();
    await clock.advance(100_000);
    await node.stop();
    expect(clock.pending).toBe(0);
  });
});

describe("a broker that is not there", () => {
  test("is tried for ever, at the latest every reconnectMax", async () => {
    const { clock, broker, node } = world({
      random: dice(0.999),
      config: { reconnectMaxMs: 60_000 },
    });
    broker.faults.refuse = "unreachable";
    node.start();
    await clock.advance(3_600_000);
    const tries = broker.connects.map(({ at }) => at);
    const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_000);
    expect(tries.length).toBeGreaterThan(55);
    expect(node.connection.session()).toBeUndefined();
    expect(new Set(broker.connects.map(({ protocolVersion }) => protocolVersion))).toEqual(
      new Set([5]),
    );
    expect(JSON.parse(node.logged.at(-1) ?? "")).toMatchObject({
      msg: "cannot connect to the broker",
      error: "no connection to broker",
    });
    broker.start();
    await clock.advance(60_000);
    expect(broker.isConnected("pi-1")).toBe(true);
    await node.stop();
  });

  test("that was wiped gets everything again", async () => {
    const { clock, broker, node } = world();
    node.start();
    await clock.advance(1000);
    broker.stop(true);
    await clock.advance(10_000);
    broker.start();
    await clock.advance(10_000);
    expect(node.freshSessions).toBe(2);
    await node.stop();
  });

  test("that does not speak MQTT 5 gets 3.1.1 at once and from then on", async () => {
    const { clock, broker, node } = world();
    broker.faults.versions = [4];
    node.start();
    await clock.advance(500);
    broker.close("pi-1");
    await clock.advance(2000);
    expect(broker.connects.map(({ protocolVersion }) => protocolVersion)).toEqual([5, 4, 4]);
    await node.stop();
  });

  test("is given a fresh session number for every will", async () => {
    const { clock, broker, node } = world();
    broker.faults.refuse = 0x87;
    node.start();
    await clock.advance(1000);
    broker.start();
    await clock.advance(5000);
    const [text = ""] = broker.texts(STATE);
    expect(states([text])).toEqual([`online ${broker.connects.length}`]);
    await node.stop();
  });
});

describe("DuplicateIdentity", () => {
  for (const protocolVersion of [4, 5] as const) {
    test(`is said by both devices with one name, which then leave each other alone (MQTT ${protocolVersion === 5 ? "5" : "3.1.1"})`, async () => {
      const { clock, broker, node } = world({ config: { protocolVersion } });
      const rival = new UpstreamNode(clock, broker, {
        config: { protocolVersion },
        random: dice(0.3, 0.8),
      });
      node.start();
      await clock.advance(20_000);
      rival.start();
      await clock.advance(400_000);
      expect(node.conditionTypes()).toContain("DuplicateIdentity");
      expect(rival.conditionTypes()).toContain("DuplicateIdentity");
      const times = broker.connects.map(({ at }) => at);
      for (const [index, at] of times.entries())
        expect((times[index + 4] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(60_000);
      await rival.stop();
      await clock.advance(60_000 + 300_000);
      expect(node.conditionTypes()).toEqual([]);
      expect(broker.isConnected("pi-1")).toBe(true);
      await node.stop();
    });
  }
});

describe("subscriptions", () => {
  test("one that is denied is named, the rest works; it is asked for again every hour", async () => {
    const { clock, broker, node } = world();
    broker.faults.subackCodes.set(TRUST, 0x87);
    broker.publish(DESIRED, "wanted");
    node.put(REPORTED, "{}", "reported");
    node.start();
    await clock.advance(5000);
    expect(node.conditions).toEqual([
      {
        type: "SubscribeDenied",
        status: "True",
        reason: "TopicRefused",
        message: `${TRUST} was refused with SUBACK code 0x87`,
      },
    ]);
    expect(node.received).toHaveLength(1);
    expect(broker.retained(REPORTED)).toBe("{}");
    broker.faults.subackCodes.clear();
    await clock.advance(3_600_000);
    expect(node.conditions).toEqual([]);
    expect(broker.subscribes).toHaveLength(2);
    await node.stop();
  });

  test("one that ends the connection three times is found, set aside and named", async () => {
    const { clock, broker, node } = world();
    broker.faults.closesOn.add(TRUST);
    broker.publish(DESIRED, "wanted");
    node.start();
    await clock.advance(180_000);
    expect(broker.isConnected("pi-1")).toBe(true);
    expect(node.conditionTypes()).toContain("SubscribeDenied");
    expect(node.conditions.at(-1)?.message).toBe(
      `${TRUST} was in flight at three disconnects in a row`,
    );
    expect(node.received.at(-1)?.text).toBe("wanted");
    await clock.advance(400_000);
    expect(node.conditionTypes()).toEqual(["SubscribeDenied"]);
    await node.stop();
  });

  test("one with an oversized retained message is found on 3.1.1 and set aside", async () => {
    const { clock, broker, node } = world({ config: { protocolVersion: 4 } });
    broker.publish(TRUST, new Uint8Array(300_000));
    broker.publish(DESIRED, "wanted");
    node.start();
    await clock.advance(30_000);
    expect(node.conditionTypes()).toEqual(["OversizedRetained"]);
    expect(node.conditions[0]?.message).toContain(TRUST);
    expect(broker.isConnected("pi-1")).toBe(true);
    expect(node.received.at(-1)?.text).toBe("wanted");
    broker.publish(TRUST, "small again");
    await clock.advance(3_600_000);
    expect(node.conditionTypes()).toEqual([]);
    expect(node.received.at(-1)?.text).toBe("small again");
    await node.stop();
  });

  test("a SUBACK that never comes ends the session after half a minute", async () => {
    const { clock, broker, node } = world();
    broker.faults.loseSubacks = true;
    node.start();
    await clock.advance(29_000);
    expect(broker.connects).toHaveLength(1);
    broker.faults.loseSubacks = false;
    await clock.advance(5000);
    expect(broker.connects).toHaveLength(2);
    expect(node.connection.session()).toBe(2);
    await node.stop();
  });
});

describe("certificates", () => {
  const directory = mkdtempSync(join(tmpdir(), "agent-certificates-"));
  const certFile = join(directory, "client.pem");
  const live = join(directory, "live.pem");
  const { cert } = new CertificateAuthority(directory, "ca", { days: 3650 });
  const config = { caFile: cert, certFile: live, keyFile: join(directory, "ca.key") };
  /** From today on, because openssl issues no certificate that ended long ago. */
  const worldOfToday = (): ReturnType<typeof world> => {
    const today = world({ config });
    today.clock.stepWall(Date.now() - today.clock.now());
    return today;
  };
  /** Writes a client certificate that ends `days` after the virtual clock's present time. */
  const renew = (clock: VirtualClock, days: number): void => {
    const authority = new CertificateAuthority(directory, "issuer");
    const issued = authority.issue("pi-1", "client", {
      days: Math.ceil((clock.now() - Date.now()) / 86_400_000) + days,
    });
    expect(issued.cert).toBe(certFile);
    rmSync(live, { force: true });
    symlinkSync(certFile, live);
  };
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test("are told thirty days before their end, and until they are renewed, without a reconnect", async () => {
    const { clock, broker, node } = worldOfToday();
    renew(clock, 32);
    node.start();
    await clock.advance(1000);
    expect(broker.isConnected("pi-1")).toBe(true);
    expect(node.conditions).toEqual([]);
    await clock.advance(4 * 86_400_000);
    expect(node.conditions).toMatchObject([{ type: "CertificateExpiring", reason: "ExpiresSoon" }]);
    expect(node.conditions[0]?.message).toStartWith(`mqtt.certFile ${live} expires on 20`);
    renew(clock, 300);
    await clock.advance(6 * 3_600_000);
    expect(node.conditions).toEqual([]);
    expect(broker.connects).toHaveLength(1);
    await node.stop();
    expect(clock.pending).toBe(0);
  });

  test("are not judged by a clock that is not synchronised", async () => {
    const { clock, node } = worldOfToday();
    renew(clock, 5);
    node.clockTrusted = false;
    node.start();
    await clock.advance(86_400_000);
    expect(node.conditions).toEqual([]);
    node.clockTrusted = true;
    await clock.advance(6 * 3_600_000);
    expect(node.conditionTypes()).toEqual(["CertificateExpiring"]);
    await node.stop();
  });

  test("that cannot be read are named while the agent keeps trying", async () => {
    const { clock, broker, node } = world({ config });
    rmSync(live, { force: true });
    node.start();
    await clock.advance(10_000);
    expect(node.conditions).toMatchObject([
      { type: "CertificateUnreadable", reason: "FileError", status: "True" },
    ]);
    expect(node.conditions[0]?.message).toContain(live);
    expect(broker.connects).toHaveLength(0);
    renew(clock, 300);
    await clock.advance(30_000);
    expect(node.conditions).toEqual([]);
    expect(broker.isConnected("pi-1")).toBe(true);
    await node.stop();
  });
});

test("a message that somebody stumbles over is logged and forgotten, the next one counts", async () => {
  const { clock, broker, node } = world();
  node.stumbles = true;
  node.start();
  broker.publish(DESIRED, "poison");
  await clock.advance(1000);
  node.stumbles = false;
  broker.publish(DESIRED, "wanted");
  await clock.advance(1000);
  expect(node.received.map(({ text }) => text)).toEqual(["wanted"]);
  expect(broker.connects).toHaveLength(1);
  expect(node.logged.join("")).toContain("a message from the broker could not be handled");
  expect(node.logged.join("")).not.toContain("poison");
  await node.stop();
});

test("CONNECT asks for what the contract says", async () => {
  const { clock, broker, node } = world({ config: { keepAliveSeconds: 45 } });
  node.start();
  await clock.advance(1000);
  expect(broker.connectOptions.get("pi-1")).toMatchObject({
    clientId: "pi-1",
    protocolVersion: 5,
    keepAliveSeconds: 45,
    sessionExpirySeconds: 7 * 86_400,
    will: { topic: STATE, qos: 1, retain: true, delaySeconds: 30 },
  });
  expect(broker.connectOptions.get("pi-1")?.clean ?? false).toBe(false);
  await node.stop();
});

describe("a broker that allows little", () => {
  test.each([
    ["no retained messages", { retainAvailable: false }, { retain: false }],
    ["QoS 0 only", { maximumQos: 0 }, { qos: 0 }],
  ] as const)("%s: gets a will it takes, at once and from then on", async (_, allows, will) => {
    const { clock, broker, node } = world();
    broker.faults.allows = allows;
    broker.faults.refusesWills = true;
    node.start();
    await clock.advance(1000);
    expect(broker.isConnected("pi-1")).toBe(true);
    broker.close("pi-1");
    await clock.advance(2000);
    expect(broker.connects.map(({ accepted }) => accepted)).toEqual([false, true, true]);
    expect(broker.connectOptions.get("pi-1")?.will).toMatchObject(will);
    expect(broker.publications.at(0)).toMatchObject({ topic: STATE, ...will });
    // What it allows one day is asked for again.
    broker.faults.allows = {};
    for (const _session of ["learns it", "asks for it"]) {
      await clock.advance(400_000);
      broker.close("pi-1");
      await clock.advance(2000);
    }
    expect(broker.connectOptions.get("pi-1")?.will).toMatchObject({ retain: true, qos: 1 });
    await node.stop();
  });
});

test("password and certificates are read anew at each connect", async () => {
  const directory = mkdtempSync(join(tmpdir(), "agent-upstream-"));
  try {
    const path = (name: string): string => join(directory, name);
    writeFileSync(path("password"), "first\n");
    writeFileSync(path("ca.pem"), "CA 1");
    const { clock, broker, node } = world({
      config: {
        username: "pi",
        passwordFile: path("password"),
        caFile: path("ca.pem"),
        certFile: path("cert.pem"),
      },
    });
    node.start();
    await clock.advance(1000);
    expect(broker.connects).toHaveLength(0);
    const failure = node.logged.at(-1) ?? "";
    expect(failure).toContain("cannot connect to the broker");
    expect(failure).toContain("cert.pem");
    writeFileSync(path("cert.pem"), "CERT");
    await clock.advance(5000);
    expect(broker.connectOptions.get("pi-1")).toMatchObject({
      username: "pi",
      password: "first",
      ca: "CA 1",
      cert: "CERT",
    });
    writeFileSync(path("password"), "second");
    broker.close("pi-1");
    await clock.advance(20_000);
    expect(broker.connectOptions.get("pi-1")?.password).toBe("second");
    expect(node.logged.join("")).not.toContain("second");
    await node.stop();
  } finally {
    rmSync(directory, { recursive: true });
  }
});
