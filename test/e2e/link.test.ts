// The line to the broker as it is in the field: certificates that are renewed, a broker that hangs, one that is hostile.

import { expect } from "bun:test";
import { copyFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { CertificateAuthority, type KeyPair } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf, Upstream } from "./support-b-upstream.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();

/** Kibibytes of a field of /proc/PID/status. */
function memory(agent: AgentProcess, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${agent.pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
}

function ends(agent: AgentProcess): readonly string[] {
  return agent
    .logLines()
    .filter(({ msg }) => msg === "the connection to the broker ended")
    .map((line) => `${String(line["by"])} ${String(line["message"])}`);
}

e2e(
  "a certificate that is renewed on the disk is used at the next connect",
  async () => {
    const directory = temp.directory("renewal");
    const ca = new CertificateAuthority(directory);
    const otherCa = new CertificateAuthority(directory, "other-ca");
    const server = ca.issue("broker", "server", { altName: "IP:127.0.0.1" });
    const first = ca.issue("first", "first");
    const second = ca.issue("second", "second");
    const paths = { cert: join(directory, "live.pem"), key: join(directory, "live.key") };
    const use = ({ cert, key }: KeyPair): void => {
      copyFileSync(cert, paths.cert);
      copyFileSync(key, paths.key);
    };
    const caFile = join(directory, "live-ca.pem");
    copyFileSync(otherCa.cert, caFile);

    const broker = await startBroker(temp, {
      name: "renewal-broker",
      listener: [
        `cafile ${ca.cert}`,
        `certfile ${server.cert}`,
        `keyfile ${server.key}`,
        "require_certificate true",
        "use_identity_as_username true",
      ],
    });
    const seen = (): string => readFileSync(broker.logFile, "utf8");
    const mqtt = { caFile, certFile: paths.cert, keyFile: paths.key };
    const agent = makeAgent("renewal", { broker, mqtt });
    await agent.startReady();
    const { pid } = agent;
    const explain = { explain: () => agent.logTail(), timeout: 60_000 };
    const getNode = async (): Promise<string> => {
      return (await agent.cli("get", "node", "-o", "yaml")).stdout;
    };
    await eventually(
      "a missing certificate is a condition of the node",
      async () => (await getNode()).includes("CertificateUnreadable"),
      explain,
    );
    use(first);
    await eventually(
      "the agent says what is wrong with the CA",
      () => JSON.stringify(agent.logLines()).includes("is not signed by a CA of mqtt.caFile"),
      explain,
    );
    copyFileSync(ca.cert, caFile);
    await eventually("the first is shown", () => /as renewal .*u'first'/.test(seen()), explain);
    expect(await getNode()).not.toContain("CertificateUnreadable");

    use(second);
    await broker.restart();
    await eventually("the second is shown", () => /as renewal .*u'second'/.test(seen()), explain);
    expect(agent.pid).toBe(pid);
    expect(agent.running).toBe(true);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e(
  "a broker that hangs is noticed within 1.5 keep-alives, and found again when it goes on",
  async () => {
    const broker = await startBroker(temp, { name: "hung-broker" });
    const agent = makeAgent("hung", { broker, mqtt: { keepAliveSeconds: 4 } });
    await agent.startReady();
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, "hung");
    const document = desired("hung", { generation: 1, resources: [plainPod("web", "hung")] });
    await publishDesired(broker, "hung", document);
    await upstream.ack("200 is told", ({ code }) => code === 200);
    const [pod] = await runningApps(containerd(), "hung");

    broker.signal("SIGSTOP");
    const stoppedAt = performance.now();
    await eventually("the end is noticed", () => ends(agent).length > 0, { timeout: 60_000 });
    const seconds = (performance.now() - stoppedAt) / 1_000;
    expect(ends(agent)).toEqual(["network Keepalive timeout"]);
    console.log(`a hung broker was noticed after ${seconds.toFixed(1)} s of 6 s allowed`);
    expect(seconds).toBeLessThan(12);
    expect(await runningApps(containerd(), "hung")).toEqual(pod === undefined ? [] : [pod]);

    broker.signal("SIGCONT");
    await eventually(
      "it is connected again",
      () => agent.logLines().filter(({ msg }) => msg === "connected to the broker").length > 1,
      { timeout: 60_000, explain: () => agent.logTail() },
    );
    await upstream.untilState("online");
    expect(await runningApps(containerd(), "hung")).toEqual(pod === undefined ? [] : [pod]);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

const DEEP = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
const RUBBISH: readonly (string | Uint8Array)[] = [
  "",
  "null",
  "[]",
  "42",
  '"text"',
  "\u0000\u0001\u0002",
  "{",
  "- a: [",
  DEEP,
  `{"apiVersion":"agent/v1","kind":"DesiredState","generation":9,"resources":${DEEP}}`,
  `{"apiVersion":"agent/v1","kind":"DesiredState","generation":"9","resources":{"a":1}}`,
  `{"apiVersion":1,"kind":["DesiredState"],"target":[],"generation":-1,"resources":"all"}`,
  `{"payloadType":5,"payload":{},"signatures":"none"}`,
  `a: &a [${"x,".repeat(50)}]\nb: [${"*a,".repeat(1_000)}]`,
  new Uint8Array([0xff, 0xfe, 0xc3, 0x28, 0x00]),
  new Uint8Array(200_000).fill(0x7b),
];

e2e(
  "a hostile broker fills no memory and moves no pod, and the truth counts right afterwards",
  async () => {
    const broker = await startBroker(temp, { name: "hostile", extra: ["max_queued_messages 0"] });
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, "hostile");
    const agent = makeAgent("hostile", { broker });
    await agent.startReady();
    const first = desired("hostile", { generation: 1, resources: [plainPod("web", "hostile")] });
    await publishDesired(broker, "hostile", first);
    await upstream.ack("200 is told", ({ code }) => code === 200);
    const pods = await runningApps(containerd(), "hostile");
    expect(pods).toHaveLength(1);
    const rss = memory(agent, "VmRSS");
    const logBytes = statSync(agent.paths.log).size;

    const topics = [topicOf("hostile", "desired"), topicOf("hostile", "command"), "agent/v1/trust"];
    for (const topic of topics)
      for (const payload of RUBBISH) await client.publish(topic, payload, { retain: true });
    for (let sent = 0; sent < 10_000; sent += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          client.publish(
            topics[index % 3] ?? "",
            `{"flood": ${sent + index}, "${"x".repeat(500)}": []`,
          ),
        ),
      );
    const told = async (generation: number): Promise<void> => {
      const document = desired("hostile", { generation, resources: [plainPod("web", "hostile")] });
      await publishDesired(broker, "hostile", document);
      const isIt = (ack: { readonly generation: number | null; readonly code: number }): boolean =>
        ack.generation === generation && ack.code === 200;
      await upstream.ack(`generation ${generation} is told`, isIt, 120_000);
    };
    // The broker keeps order: what comes after the flood is answered after the flood.
    await told(2);
    const grew = (memory(agent, "VmHWM") - rss) / 1024;
    const logged = (statSync(agent.paths.log).size - logBytes) / 1024;

    // A session has to bring it, and it is larger than what the agent takes.
    await client.publish(topics[2] ?? "", new Uint8Array(10_000_000), { retain: true });
    await agent.kill();
    await agent.startReady();
    await told(3);
    expect(await runningApps(containerd(), "hostile")).toEqual(pods);
    console.log(
      `10,000 messages: memory at most ${grew.toFixed(0)} MiB more; ${logged.toFixed(0)} KiB of log`,
    );
    expect(grew).toBeLessThan(100);
    expect(agent.running).toBe(true);
    expect((await upstream.retainedReport()).pods).toMatchObject([{ name: "web", restarts: 0 }]);
    await agent.kill();
    await broker.stop();
  },
  300_000,
);
