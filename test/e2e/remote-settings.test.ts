// Settings that a signed document sets, on a real node with real brokers: it moves to another broker, stays where it is when
// the other one does not work, and is never without a broker, wherever it is killed in between.

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { ReportedSettings, ReportedState } from "../../src/protocol/reported-state.ts";
import { Broker, startBroker } from "../harness/broker.ts";
import { CertificateAuthority } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { agentBinary } from "../harness/agent-process.ts";
import { run } from "../harness/run-command.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { publishDesired, Upstream } from "./support-b-upstream.ts";
import { makeKey, signed, type TestKey } from "./support-f-signing.ts";
import {
  answering,
  ends,
  isRefusedWith,
  nextDocument,
  type Answering,
} from "./support-g-answers.ts";

const stage = await openStage();
const { e2e, temp, containerd } = stage;
const LIMIT = 360_000;

async function settings(
  upstream: Upstream,
  matches: (settings: ReportedSettings) => boolean,
): Promise<ReportedState> {
  return eventually(
    "the settings stand as they should",
    () => upstream.reports().find((one) => one.settings !== undefined && matches(one.settings)),
    {
      timeout: 120_000,
      explain: () => JSON.stringify(upstream.reports().at(-1)?.settings),
    },
  );
}

function withSettings(node: Answering, root: TestKey, fields: object): string {
  return signed(nextDocument(node.name, fields), [root]);
}

/** The pods of the node are the ones of its start. */
async function isUntouched(node: Answering): Promise<void> {
  expect(await runningApps(containerd(), node.name)).toEqual([...node.pods]);
}

e2e.concurrent(
  "a node moves to a broker with TLS whose CA the document has, and stays there over kill -9",
  async () => {
    const root = makeKey();
    const node = await answering(stage, "settings-move", { root });
    const directory = temp.directory("settings-move-certificates");
    const ca = new CertificateAuthority(directory);
    const { cert, key } = ca.issue("broker", "broker", { altName: "IP:127.0.0.1" });
    const other = new Broker(temp, {
      name: "settings-move-other",
      listener: ["allow_anonymous true", `certfile ${cert}`, `keyfile ${key}`],
    });
    await other.start();
    const pem = readFileSync(ca.cert, "utf8");
    const there = await Upstream.follow(await other.client({ ca: pem }), node.name);
    const mqtt = { url: other.url, ca: pem, keepAliveSeconds: 30, profile: "normal" };
    await publishDesired(node.broker, node.name, withSettings(node, root, { config: { mqtt } }));
    const report = await settings(there, ({ phase }) => phase === "InForce");
    expect(report.settings).toMatchObject({
      phase: "InForce",
      code: 200,
      inForce: { source: "node", generation: 6 },
    });
    await there.untilState("online");
    await node.upstream.untilState("offline");
    await isUntouched(node);
    const { config } = node.agent.paths;
    const { stdout } = await run([agentBinary(), "config", "print", "--config", config]);
    expect(stdout).toContain(`url: ${other.url}`);
    expect(stdout).toMatch(
      /^# from generation 6 of mqtt:node, in force since .*: mqtt\.url, .*mqtt\.ca \(1 /m,
    );
    expect(stdout).not.toContain("BEGIN CERTIFICATE");
    await node.restart();
    await there.untilState("online");
    expect((await node.upstream.retainedState()).state).toBe("offline");
    // Without settings in its document the node stays where it is; with empty ones it goes back.
    const later = signed(nextDocument(node.name, { generation: 7 }), [root]);
    await there.client.publish(`agent/v1/node/${node.name}/desired`, later, { retain: true });
    await there.ack(
      "generation 7 is healthy",
      ({ generation, code }) => generation === 7 && code === 200,
    );
    const back = signed(nextDocument(node.name, { generation: 8, config: {} }), [root]);
    await there.client.publish(`agent/v1/node/${node.name}/desired`, back, { retain: true });
    await node.upstream.untilState("online");
    await isUntouched(node);
    await ends(node);
  },
  LIMIT,
);

e2e.concurrent(
  "a broker of another CA, and one that takes no report, are not used, and the reason is reported",
  async () => {
    const root = makeKey();
    const node = await answering(stage, "settings-bad", { root });
    const directory = temp.directory("settings-bad-certificates");
    const ca = new CertificateAuthority(directory);
    const foreign = new CertificateAuthority(directory, "foreign");
    const { cert, key } = ca.issue("broker", "broker", { altName: "IP:127.0.0.1" });
    const secure = new Broker(temp, {
      name: "settings-bad-ca",
      listener: ["allow_anonymous true", `certfile ${cert}`, `keyfile ${key}`],
    });
    await secure.start();
    const pem = readFileSync(foreign.cert, "utf8");
    const wrongCA = { config: { mqtt: { url: secure.url, ca: pem } } };
    await publishDesired(node.broker, node.name, withSettings(node, root, wrongCA));
    const undone = await settings(node.upstream, ({ code }) => code === 424);
    expect(undone.settings).toMatchObject({ phase: "Undone", wanted: { generation: 6 } });
    expect(undone.settings?.message).toContain("certificate");
    const acl = join(directory, "silent.acl");
    writeFileSync(acl, "topic read #\n");
    const silent = await startBroker(temp, {
      name: "settings-bad-acl",
      listener: ["allow_anonymous true"],
      extra: [`acl_file ${acl}`],
    });
    const noReport = { generation: 7, config: { mqtt: { url: silent.url } } };
    await publishDesired(node.broker, node.name, withSettings(node, root, noReport));
    const refused = await settings(
      node.upstream,
      ({ code, wanted }) => code === 424 && wanted?.generation === 7,
    );
    expect(refused.settings?.message).toContain("the broker refuses the report");
    const { stdout } = await node.agent.cli("get", "events");
    expect(stdout).toContain("SettingsUndone");
    // Known as bad: the same again is not tried.
    await node.restart();
    const again = { generation: 8, config: noReport.config };
    await publishDesired(node.broker, node.name, withSettings(node, root, again));
    await node.upstream.ack(
      "generation 8 is healthy",
      ({ generation, code }) => generation === 8 && code === 200,
    );
    expect((await node.upstream.retainedReport()).settings).toMatchObject({ phase: "Undone" });
    await isUntouched(node);
    await ends(node);
  },
  LIMIT,
);

e2e.concurrent(
  "settings of an unsigned document, a key, and any other field are refused by name",
  async () => {
    const root = makeKey();
    const node = await answering(stage, "settings-refused", { root });
    const pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    const keyed = { config: { mqtt: { url: "mqtts://broker.example", ca: pem } } };
    await isRefusedWith(node, {
      what: "a key",
      code: 400,
      says: /config\.mqtt\.ca: .*a key never comes by a document/,
      payload: withSettings(node, root, keyed),
    });
    const other = { config: { mqtt: { keyFile: "/etc/key.pem" }, maxPods: 3 } };
    await isRefusedWith(node, {
      what: "other fields",
      code: 400,
      says: /config\.mqtt\.keyFile: no document sets this field.*config\.maxPods|config\.maxPods: no document sets this field.*config\.mqtt\.keyFile/,
      payload: withSettings(node, root, other),
    });
    await ends(node);
    const plain = await answering(stage, "settings-unsigned");
    const config = { mqtt: { keepAliveSeconds: 20 } };
    await isRefusedWith(plain, {
      what: "an unsigned document with settings",
      code: 401,
      says: /^config: an unsigned document cannot change settings of the agent/,
      payload: nextDocument(plain.name, { config }),
    });
    await ends(plain);
  },
  LIMIT,
);

e2e.concurrent(
  "a node that is killed at any moment of a change is at the old or the new broker, and ends at the new one",
  async () => {
    const root = makeKey();
    const node = await answering(stage, "settings-killed", { root });
    const other = await startBroker(temp, { name: "settings-killed-other" });
    const there = await Upstream.follow(await other.client(), node.name);
    const sides = [
      { broker: node.broker, upstream: node.upstream },
      { broker: other, upstream: there },
    ];
    for (const [round, delay] of [0, 150, 400, 900, 1600, 2400].entries()) {
      const [from, to] = round % 2 === 0 ? sides : sides.toReversed();
      if (from === undefined || to === undefined) throw new Error("two sides");
      const generation = 6 + round;
      const config = { mqtt: { url: to.broker.url } };
      await publishDesired(
        from.broker,
        node.name,
        withSettings(node, root, { generation, config }),
      );
      await Bun.sleep(delay);
      await node.restart();
      const report = await settings(
        to.upstream,
        ({ phase, inForce }) => phase === "InForce" && inForce?.generation === generation,
      );
      expect(report.node).toBe(node.name);
      await to.upstream.untilState("online");
      await isUntouched(node);
    }
    await ends(node);
  },
  LIMIT,
);
