// A card makes a device this node, once, and copies of a prepared image become nodes of their own: the compiled binary, with
// image archives on the card, a broker that asks for certificates, and a boot partition that cannot be written.

import { afterAll, expect } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { dockerArchive } from "../harness/images.ts";
import { run, runSync, type CommandResult } from "../harness/run-command.ts";
import { getNode, nodeCondition, startWithHostname } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";
import { READY, untilPod } from "./support-c-views.ts";
import { SecureBroker } from "./support-h-secure-broker.ts";
import { cardOf, eventsOf, eventMessages } from "./support-p-cards.ts";

const stage = await Stage.open();
const e2e = stage.test;
const LIMIT = 180_000;
/** Only the card has it. */
const IMAGE = "local/card:1";

afterAll(() => stage.close(), LIMIT);

function webPod(text = "one"): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", annotations: { text } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image: IMAGE,
          imagePullPolicy: "Never",
          command: ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1000 & wait $!; done"],
        },
      ],
    },
  };
}

/** Runs a verb on the agent's own configuration, without a running agent. */
function verb(agent: AgentProcess, ...words: readonly string[]): Promise<CommandResult> {
  return run([agentBinary(), ...words, "--config", agent.paths.config], { timeout: 60_000 });
}

e2e(
  "the first boot takes the card over, and its pods run from the card's archives; a second one takes nothing",
  async () => {
    const secure = await SecureBroker.start(stage.temp);
    const card = cardOf(stage.temp, "first");
    const agent = stage.agent({
      name: "first",
      instance: "first",
      nodeName: "carded",
      mqttUrl: secure.broker.url,
      env: { AGENT_PROVISIONING: card.path },
    });
    const tls = join(agent.paths.directory, "tls");
    const { caFile, certFile, keyFile } = secure.section("carded") as Record<string, string>;
    const own = {
      ca: join(tls, "ca.crt"),
      cert: join(tls, "node.crt"),
      key: join(tls, "node.key"),
    };
    agent.configure({
      endpoint: stage.containerd.endpoint,
      cgroupRoot: stage.containerd.cgroupRoot,
      instance: "first",
      mqttUrl: secure.broker.url,
      mqtt: { caFile: own.ca, certFile: own.cert, keyFile: own.key },
    });
    card.put("agent.yaml", readFileSync(agent.paths.config));
    rmSync(agent.paths.config);
    card.put("tls/ca.crt", readFileSync(caFile ?? ""));
    card.put("tls/node.crt", readFileSync(certFile ?? ""));
    card.put("tls/node.key", readFileSync(keyFile ?? ""));
    card.put("manifests/web.yaml", stringify(webPod()));
    card.put("manifests/broken.yaml", "kind: Pod\nspec: {containerz: []}\n");
    card.put("images/card.tar", dockerArchive({ name: IMAGE, version: "card" }));

    await agent.startReady();
    await untilPod(agent, "web", READY);
    // The key of the card has opened the broker.
    await using operator = await secure.operator();
    await eventually(
      "the node is online at the broker",
      async () =>
        (await operator.retained("agent/v1/node/carded/state"))?.includes("online") === true,
    );
    expect(statSync(own.key).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(card.path, "tls"))).toEqual(["ca.crt", "node.crt"]);
    expect(existsSync(agent.paths.images)).toBe(false);
    // One file was broken, and nothing else.
    const condition = await nodeCondition(agent, "ProvisioningIncomplete");
    expect(condition?.message).toMatch(/broken\.yaml .*containerz.*agent validate/);
    expect(readdirSync(agent.paths.manifests)).toEqual(["web.yaml"]);
    expect((await checkOf(agent, card.path)).stdout).toMatch(
      /error +provisioning +\S*broken\.yaml/,
    );
    expect(eventMessages(await eventsOf(agent), "Provisioned")).toMatch(/took over 5 files/);

    // Nothing of the card counts a second time.
    const id = await stage.running("web");
    card.put("manifests/web.yaml", stringify(webPod("two")));
    card.remove("manifests/broken.yaml");
    await agent.restart();
    await untilPod(agent, "web", READY);
    expect(await stage.running("web")).toBe(id);
    expect(readFileSync(join(agent.paths.manifests, "web.yaml"), "utf8")).toContain("one");
    expect(await nodeCondition(agent, "ProvisioningIncomplete")).toBeUndefined();
    expect(eventMessages(await eventsOf(agent), "ProvisioningIgnored")).toMatch(
      /web\.yaml is ignored: it differs .*agent provision --again/,
    );

    // A person orders it, once the agent is stopped.
    const card2 = ["provision", "--again", "--from", card.path] as const;
    const refused = await verb(agent, ...card2);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/another agent \(pid \d+\) already uses/);
    await agent.kill();
    expect(await verb(agent, ...card2)).toMatchObject({ code: 0 });
    await agent.startReady();
    await eventually("the pod of the changed card runs", async () => {
      const { metadata } = await untilPod(agent, "web", READY);
      return metadata.annotations?.["text"] === "two";
    });
    await agent.kill();
  },
  LIMIT,
);

e2e(
  "a boot partition that cannot be written keeps its key, and the node says so",
  async () => {
    const card = cardOf(stage.temp, "fixed");
    card.put("mqtt-password", "secret\n");
    card.put("manifests/web.yaml", stringify(webPod()));
    card.put("images/card.tar", dockerArchive({ name: IMAGE, version: "card" }));
    expect(runSync(["mount", "--bind", card.path, card.path]).code).toBe(0);
    expect(runSync(["mount", "-o", "remount,bind,ro", card.path]).code).toBe(0);
    const agent = stage.agent({
      name: "fixed",
      instance: "fixed",
      env: { AGENT_PROVISIONING: card.path },
    });
    await agent.startReady();
    await untilPod(agent, "web", READY);
    const condition = await nodeCondition(agent, "ProvisioningIncomplete");
    expect(condition).toMatchObject({ status: "True", reason: "SecretLeft" });
    expect(condition?.message).toMatch(
      /mqtt-password holds a secret .*EROFS.*; make the file system/,
    );
    expect(existsSync(join(card.path, "mqtt-password"))).toBe(true);

    expect(runSync(["umount", card.path]).code).toBe(0);
    await agent.restart();
    expect(await nodeCondition(agent, "ProvisioningIncomplete")).toBeUndefined();
    expect(existsSync(join(card.path, "mqtt-password"))).toBe(false);
    await agent.kill();
  },
  LIMIT,
);

e2e(
  "two copies of one prepared image are two nodes at the broker",
  async () => {
    const broker = await startBroker(stage.temp, { name: "copies" });
    const machine = { mqttUrl: broker.url, config: { nodeName: undefined } };
    const golden = stage.agent({ name: "golden", instance: "golden", ...machine });
    golden.writeManifest("golden.yaml", stage.manifest({ name: "golden" }));
    startWithHostname(golden, "gateway");
    await golden.waitReady();
    await stage.journalIs("golden", ["start a"]);
    expect((await getNode(golden)).metadata.name).toBe("gateway");

    const prepare = ["prepare-image", "--yes"] as const;
    const running = await verb(golden, ...prepare);
    expect([running.code, running.stderr]).toEqual([
      1,
      expect.stringMatching(/already uses stateDir .*systemctl stop agent/) as string,
    ]);
    await golden.kill();
    const withPods = await verb(golden, ...prepare);
    expect([withPods.code, withPods.stderr]).toEqual([
      1,
      expect.stringMatching(/1 container of pods still run.*agent shutdown/) as string,
    ]);
    expect(existsSync(join(golden.paths.state, "identity.json"))).toBe(true);

    startWithHostname(golden, "gateway");
    await golden.waitReady();
    expect((await golden.cli("shutdown")).code).toBe(0);
    await golden.kill();
    const prepared = await asOn("gateway", golden, ...prepare);
    expect([prepared.code, prepared.stdout]).toEqual([
      0,
      expect.stringContaining("the image is prepared") as string,
    ]);
    // Each file that the agent makes has its fate.
    expect(prepared.stdout).not.toContain("it is not the agent's");
    expect(readdirSync(golden.paths.state).toSorted()).toEqual([
      "agent.lock",
      "lib",
      "prepared.json",
    ]);

    const copies = ["castor", "pollux"].map((name) =>
      stage.agent({ name: `copy-${name}`, instance: name, ...machine }),
    );
    const names: string[] = [];
    for (const copy of copies) {
      cpSync(golden.paths.state, copy.paths.state, { recursive: true });
      const pod = copy.paths.directory.split("/").at(-1) ?? "";
      copy.writeManifest("pod.yaml", stage.manifest({ name: pod }));
      startWithHostname(copy, "gateway");
      await copy.waitReady();
      await stage.journalIs(pod, ["start a"]);
      names.push((await getNode(copy)).metadata.name);
    }
    expect(names).toEqual(
      names.map(() => expect.stringMatching(/^gateway-[0-9a-f]{6}$/) as string),
    );
    expect(new Set(names).size).toBe(2);
    await using client = await broker.client();
    for (const name of names)
      await eventually(
        `${name} is online at the broker`,
        async () =>
          (await client.retained(`agent/v1/node/${name}/state`))?.includes("online") === true,
      );
    for (const copy of copies) {
      expect(await nodeCondition(copy, "DuplicateIdentity")).toBeUndefined();
      await copy.kill();
    }
  },
  LIMIT,
);

function checkOf(agent: AgentProcess, card: string): Promise<CommandResult> {
  return run([agentBinary(), "check", "--config", agent.paths.config], {
    timeout: 60_000,
    env: { AGENT_PROVISIONING: card },
  });
}

/** As `verb`, on a machine of this name. */
function asOn(
  hostname: string,
  agent: AgentProcess,
  ...words: readonly string[]
): Promise<CommandResult> {
  const inside = `hostname ${hostname} && exec "$0" "$@"`;
  const own = [agentBinary(), ...words, "--config", agent.paths.config];
  return run(["unshare", "--uts", "sh", "-c", inside, ...own], { timeout: 60_000 });
}
