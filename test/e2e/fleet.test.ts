// An operator's day with `agent fleet`: the compiled program, a real broker, a real containerd.

import { expect } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker, type Broker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps, runningPods } from "./support-b-stage.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();

function fleet(broker: Broker, ...args: readonly string[]): Promise<CommandResult> {
  return run([agentBinary(), "fleet", ...args, "--url", broker.url], { timeout: 90_000 });
}

/** The files of one operator. */
function desk(name: string): (file: string, content: string | object) => string {
  const directory = temp.directory(name);
  mkdirSync(directory, { recursive: true });
  return (file, content) => {
    const path = join(directory, file);
    writeFileSync(path, typeof content === "string" ? content : stringify(content));
    return path;
  };
}

async function untilOnline(broker: Broker, agent: AgentProcess): Promise<void> {
  await eventually(
    `${agent.nodeName} is online and has reported`,
    async () => {
      const { stdout } = await fleet(broker, "get", "nodes");
      if (!new RegExp(`^${agent.nodeName} +online +Ready`, "m").test(stdout))
        throw new Error(stdout);
      return true;
    },
    { timeout: 60_000, explain: () => agent.logTail(40) },
  );
}

e2e.concurrent(
  "plain manifests are applied, watched until they are healthy, shown and changed",
  async () => {
    const file = desk("fleet-desk");
    const broker = await startBroker(temp, { name: "fleet-broker" });
    const agent = makeAgent("fleet-1", { broker });
    await agent.startReady();
    await untilOnline(broker, agent);
    const web = file("web.yaml", plainPod("web", "1"));
    const map = file("map.yaml", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "c" },
      data: { a: "b" },
    });
    const node = ["--node", "fleet-1"];

    const applied = await fleet(broker, "apply", "-f", web, "-f", map, ...node, "--wait");
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.stdout).toStartWith("generation 1 of node fleet-1 is published, sha256:");
    expect(applied.stdout).toContain("fleet-1: Healthy\n");
    expect(await runningPods(containerd(), "fleet-1")).toEqual(["web"]);
    expect((await fleet(broker, "status")).stdout).toMatch(/^fleet-1 .*node 1 Healthy 200/m);
    expect((await fleet(broker, "get", "pods")).stdout).toMatch(
      /^fleet-1 +default +web +1\/1 +Running/m,
    );

    const both = file(
      "both.yaml",
      `${readFileSync(web, "utf8")}---\n${stringify(plainPod("extra"))}`,
    );
    expect((await fleet(broker, "diff", "-f", both, ...node)).stdout).toBe(
      "- ConfigMap default/c\n+ Pod default/extra\n",
    );
    expect(await fleet(broker, "apply", "-f", both, ...node, "--wait")).toMatchObject({ code: 0 });
    expect(await runningPods(containerd(), "fleet-1")).toEqual(["extra", "web"]);

    // What the node's own decoder refuses never leaves the desk.
    const broken = file(
      "broken.yaml",
      readFileSync(web, "utf8").replace("containers:", "contaners:"),
    );
    expect(await fleet(broker, "apply", "-f", broken, ...node)).toMatchObject({ code: 2 });

    await agent.kill();
  },
);

e2e.concurrent(
  "everything is removed, the broker is emptied, and the node goes on counting until it is forgotten",
  async () => {
    const file = desk("fleet-empty-desk");
    const broker = await startBroker(temp, { name: "fleet-empty-broker" });
    const agent = makeAgent("fleet-4", { broker });
    await agent.startReady();
    await untilOnline(broker, agent);
    const web = file("web.yaml", plainPod("web", "1"));
    const node = ["--node", "fleet-4"];
    expect(await fleet(broker, "apply", "-f", web, ...node, "--wait")).toMatchObject({ code: 0 });

    const nothing = file("nothing.yaml", "# nothing is left\n");
    expect(await fleet(broker, "apply", "-f", nothing, ...node, "--wait")).toMatchObject({
      code: 2,
    });
    expect(
      await fleet(broker, "apply", "-f", nothing, ...node, "--wait", "--allow-empty"),
    ).toMatchObject({ code: 0 });
    expect(await runningPods(containerd(), "fleet-4")).toEqual([]);

    // A broker that was emptied locks nobody out: the node's report says how far it was.
    await run([
      "mosquitto_pub",
      "-p",
      `${broker.port}`,
      "-t",
      "agent/v1/node/fleet-4/desired",
      "-r",
      "-n",
    ]);
    const again = await fleet(broker, "apply", "-f", web, ...node, "--wait");
    expect(again.stdout).toStartWith("generation 3 of node fleet-4 is published");
    expect(again.code).toBe(0);

    expect((await fleet(broker, "forget", "fleet-4", "--yes")).stderr).toContain("is online");
    await agent.kill();
    expect(await fleet(broker, "forget", "fleet-4", "--yes")).toMatchObject({ code: 0 });
    expect((await fleet(broker, "get", "nodes")).stderr).toContain("No nodes found.");
  },
);

e2e.concurrent(
  "a document that a person published with mosquitto_pub is the one that apply follows",
  async () => {
    const file = desk("fleet-plain-desk");
    const broker = await startBroker(temp, { name: "fleet-plain-broker" });
    const agent = makeAgent("fleet-2", { broker });
    await agent.startReady();
    const document = file(
      "desired.json",
      JSON.stringify({
        apiVersion: "agent/v1",
        kind: "DesiredState",
        generation: 7,
        resources: [plainPod("web", "1")],
      }),
    );
    const topic = "agent/v1/node/fleet-2/desired";
    const sent = await run([
      "mosquitto_pub",
      "-p",
      `${broker.port}`,
      "-q",
      "1",
      "-r",
      "-t",
      topic,
      "-f",
      document,
    ]);
    expect(sent.code).toBe(0);
    await eventually(
      "the pod runs",
      async () => {
        const pods = await runningPods(containerd(), "fleet-2");
        if (pods.join(" ") !== "web") throw new Error(pods.join(" "));
        return true;
      },
      { timeout: 60_000, explain: () => agent.logTail(40) },
    );
    const next = file("next.yaml", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web" },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "main",
            image: BUSYBOX_1.name,
            imagePullPolicy: "Never",
            command: ["sh", "-c", "while :; do echo tick; sleep 1; done"],
          },
        ],
      },
    });
    const applied = await fleet(broker, "apply", "-f", next, "--node", "fleet-2", "--wait");
    expect(applied.stdout).toStartWith("generation 8 of node fleet-2 is published");
    expect(applied.code).toBe(0);

    const tail = await fleet(broker, "logs", "fleet-2", "web", "--tail", "2");
    expect(tail).toMatchObject({ code: 0, stdout: "tick\ntick\n" });
    const command = ["logs", "fleet-2", "web", "-f", "--url", broker.url];
    const follow = Bun.spawn([agentBinary(), "fleet", ...command], { stdout: "pipe" });
    let shown = "";
    for await (const text of follow.stdout.pipeThrough(new TextDecoderStream())) {
      shown += text;
      if (shown.split("\n").length > 3) follow.kill("SIGINT");
    }
    expect(shown).toStartWith("tick\ntick\n");
    expect(await follow.exited).toBe(0);
    await agent.kill();
  },
);

e2e.concurrent("a node with a root key takes what its fleet signed, and nothing else", async () => {
  const file = desk("fleet-keys-desk");
  const broker = await startBroker(temp, { name: "fleet-keys-broker" });
  const keys = join(temp.directory("fleet-keys"), "keys");
  expect(await run([agentBinary(), "fleet", "keygen", "--dir", keys])).toMatchObject({ code: 0 });
  const trustPath = temp.directory("fleet-trust.d");
  copyFileSync(join(keys, "root.pub"), join(trustPath, "root.pub"));
  const agent = makeAgent("fleet-3", { broker, config: { trustPath } });
  await agent.startReady();
  await untilOnline(broker, agent);
  const node = ["--node", "fleet-3", "--wait"];
  const web = file("web.yaml", plainPod("web", "1"));
  const key = ["--key", join(keys, "signing.pem")];
  const trust = ["trust", "publish", "-f", join(keys, "trust.json")];
  expect(await fleet(broker, ...trust)).toMatchObject({ code: 0 });

  const unsigned = await fleet(broker, "apply", "-f", web, ...node);
  expect(unsigned.stdout).toContain("fleet-3: Rejected 401: ");
  expect(unsigned.code).toBe(1);
  expect(await runningPods(containerd(), "fleet-3")).toEqual([]);
  expect(await fleet(broker, "apply", "-f", web, ...node, ...key)).toMatchObject({ code: 0 });
  const [before] = await runningApps(containerd(), "fleet-3");

  expect(await fleet(broker, "restart", "fleet-3", "web")).toMatchObject({ code: 1 });
  expect(await fleet(broker, "restart", "fleet-3", "web", ...key)).toMatchObject({ code: 0 });
  const [after] = await runningApps(containerd(), "fleet-3");
  expect(after?.name).toBe("web");
  expect(after?.id).not.toBe(before?.id);
  expect(await fleet(broker, "logs", "fleet-3", "web", ...key)).toMatchObject({ code: 0 });

  // What was signed at a desk is published by whatever means.
  const document = file("doc.yaml", {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { node: "fleet-3" },
    generation: 50,
    policy: { minReadySeconds: 1 },
    resources: [plainPod("web", "2")],
  });
  const signed = file("signed.json", "");
  expect(
    await run([agentBinary(), "fleet", "sign", "-f", document, ...key, "-o", signed]),
  ).toMatchObject({ code: 0 });
  const topic = "agent/v1/node/fleet-3/desired";
  await run(["mosquitto_pub", "-p", `${broker.port}`, "-q", "1", "-r", "-t", topic, "-f", signed]);
  await eventually(
    "the signed document is healthy",
    async () => {
      const { stdout } = await fleet(broker, "status");
      if (!stdout.includes("node 50 Healthy 200")) throw new Error(stdout);
      return true;
    },
    { timeout: 60_000, explain: () => agent.logTail(40) },
  );
  await agent.kill();
});

e2e.concurrent("a broker that is not there is named at once", async () => {
  const result = await run([agentBinary(), "fleet", "status", "--url", "mqtt://127.0.0.1:1"], {
    timeout: 60_000,
  });
  expect(result.code).toBe(1);
  expect(result.stderr).toStartWith("Error: no connection to broker mqtt://127.0.0.1:1: ");
});
