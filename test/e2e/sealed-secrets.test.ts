// Secrets that are sealed to the keys of nodes: the compiled program, a real broker with a reader of everything, a real
// containerd.

import { expect } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { copyFileSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { eventually } from "../harness/eventually.ts";
import { execSync } from "../harness/exec-sync.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";

const { e2e, temp, containerd, agent: makeAgent } = await openStage();
const [FIRST, SECOND] = ["vault-1", "vault-2"] as const;
const digestOf = (value: string): string => createHash("sha256").update(value).digest("hex");

function secretOf(value: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "login" },
    stringData: { password: value },
  };
}

/** Has the Secret in its environment. */
function reader(): object {
  return plainPod("reader", "1", {
    containers: [
      {
        name: "main",
        image: "local/busybox:1",
        command: ["sh", "-c", "exec sleep 3600"],
        env: [
          { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "login", key: "password" } } },
        ],
      },
    ],
  });
}

/** sha256 of what the pod has. */
async function seenBy(node: string): Promise<string | undefined> {
  const [app] = await runningApps(containerd(), node);
  if (app === undefined) return undefined;
  const command = ["sh", "-c", 'printf %s "$PASSWORD" | sha256sum'];
  const { stdout } = await execSync(containerd(), app.id, command);
  return stdout.split(" ")[0];
}

function columns({ stdout }: CommandResult): string {
  return stdout.replaceAll(/ +/g, " ");
}

/** Files of the agent on its disk; what a Secret's own volume holds is in memory. */
function filesBelow(directory: string, dev = lstatSync(directory).dev): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    const stat = lstatSync(path);
    if (stat.dev !== dev) return [];
    if (stat.isDirectory()) return filesBelow(path, dev);
    return stat.isFile() ? [path] : [];
  });
}

e2e(
  "a Secret sealed to nodes is opened by them alone, and nobody reads it on the way",
  async () => {
    const broker = await startBroker(temp, { name: "vault-broker" });
    await using client = await broker.client();
    const heard = await client.collect("#");
    const desk = temp.directory("vault-desk");
    const keys = join(desk, "keys");
    expect(await run([agentBinary(), "fleet", "keygen", "--dir", keys])).toMatchObject({ code: 0 });
    const trustPath = temp.directory("vault-trust.d");
    copyFileSync(join(keys, "root.pub"), join(trustPath, "root.pub"));
    const start = async (name: string): Promise<AgentProcess> => {
      const mqtt = { groups: [{ name: "vaults" }] };
      const agent = makeAgent(name, { broker, mqtt, config: { trustPath, logLevel: "debug" } });
      await agent.startReady();
      return agent;
    };
    const [one, two] = [await start(FIRST), await start(SECOND)];
    const known = join(desk, "fleet-keys");
    const fleet = (...args: readonly string[]): Promise<CommandResult> =>
      run([agentBinary(), "fleet", ...args, "--url", broker.url], { timeout: 120_000 });
    const bundle = ["trust", "publish", "-f", join(keys, "trust.json")];
    expect(await fleet(...bundle)).toMatchObject({ code: 0 });
    const nodes = join(desk, "fleet.yaml");
    const groups = { vaults: [FIRST, SECOND] };
    writeFileSync(nodes, stringify({ mqtt: { url: broker.url }, nodes: [FIRST, SECOND], groups }));
    const file = (name: string, ...objects: readonly object[]): string => {
      const path = join(desk, `${name}.yaml`);
      writeFileSync(path, objects.map((object) => stringify(object)).join("---\n"));
      return path;
    };
    const value = `canary-${randomBytes(12).toString("hex")}`;
    const sign = ["--key", join(keys, "signing.pem"), "--nodes", nodes];
    const withKeys = ["--keys", known];
    const apply = (...args: readonly string[]): Promise<CommandResult> =>
      fleet("apply", ...args, ...sign, ...withKeys);
    const app = file("app", secretOf(value), reader());

    // No key counts before a person has compared it.
    const toGroup = ["-f", app, "--group", "vaults", "--seal", "--wait"];
    const unknown = await apply(...toGroup);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain(`the key of ${FIRST} is not accepted yet`);
    const list = (...args: readonly string[]): Promise<CommandResult> =>
      fleet("keys", ...args, "--nodes", nodes, ...withKeys);
    const shown = await list();
    for (const agent of [one, two]) {
      const { stdout } = await agent.cli("trust", "show");
      const [fingerprint] = /sha256:[0-9a-f]{64}/.exec(stdout) ?? [];
      expect(columns(shown)).toContain(`${agent.nodeName} New ${fingerprint}`);
    }
    const accepted = await list("--accept", `${FIRST},${SECOND}`);
    expect(columns(accepted)).toContain(`${FIRST} Accepted`);

    const sealed = await apply(...toGroup);
    expect(sealed.stderr).not.toContain("has not signed");
    expect(sealed).toMatchObject({ code: 0 });
    for (const name of [FIRST, SECOND])
      expect(sealed.stdout).toContain(`${name}: has opened 1 sealed Secrets, and signed that`);
    expect(await seenBy(FIRST)).toBe(digestOf(value));
    expect(await seenBy(SECOND)).toBe(digestOf(value));

    // For one node, in a file of its own: another node cannot open it, and under another name no node can.
    const own = join(desk, "sealed.json");
    const seal = ["seal", "-f", file("secret", secretOf(value)), "--node", FIRST, "-o", own];
    expect(await fleet(...seal, "--nodes", nodes, ...withKeys)).toMatchObject({ code: 0 });
    const wrongNode = await apply("-f", own, "--node", SECOND, "--wait", "--timeout", "60s");
    expect(wrongNode.stdout).toMatch(/vault-2: Rejected 412: .*is sealed to other keys/);
    const moved = readFileSync(own, "utf8").replace('"login"', '"other"');
    const elsewhere = join(desk, "moved.json");
    writeFileSync(elsewhere, moved);
    const renamed = await apply("-f", elsewhere, "--node", FIRST, "--wait", "--timeout", "60s");
    expect(renamed.stdout).toMatch(/vault-1: Rejected 400: .*was sealed for another document/);

    // With a new key, what was sealed before is still opened, and the next document is sealed to the new one.
    const rotated = await one.cli("trust", "rotate-key");
    expect(rotated).toMatchObject({ code: 0 });
    await one.kill();
    await one.startReady();
    expect(await seenBy(FIRST)).toBe(digestOf(value));
    await eventually("its birth has the new key", async () => {
      const text = columns(await list());
      if (!text.includes(`${FIRST} Rotated`)) throw new Error(text);
      return true;
    });
    const next = `canary-${randomBytes(12).toString("hex")}`;
    const second = file("second", secretOf(next), reader());
    const again = await apply("-f", second, "--group", "vaults", "--seal", "--wait");
    expect(again).toMatchObject({ code: 0 });
    expect(again.stderr).toContain(`${FIRST} has a new key, for which the one before vouches`);

    // A node that was made anew is not taken for the one before.
    await two.kill();
    rmSync(join(two.paths.state, "node.key"));
    await two.startReady();
    await eventually("its key is another one", async () => {
      const text = columns(await list());
      if (!text.includes(`${SECOND} Changed`)) throw new Error(text);
      return true;
    });
    const changed = await apply("-f", second, "--group", "vaults", "--seal");
    expect(changed.stderr).toContain(`the key of ${SECOND} is not the one that was accepted`);
    const seen = await two.cli("get", "secrets");
    expect(seen.stdout + seen.stderr).toContain("is sealed to other keys than this node's");

    // Nobody else has read any of it.
    const messages = heard.messages.map(({ payload }) => payload);
    const documents = messages.flatMap((text) => {
      const [, payload = ""] = /"payload":"([^"]+)"/.exec(text) ?? [];
      return [text, Buffer.from(payload, "base64").toString("latin1")];
    });
    expect(documents.some((text) => text.includes('"SealedSecret"'))).toBe(true);
    const files = [one, two].flatMap(({ paths }) => filesBelow(paths.directory));
    const stored = files.map((path) => readFileSync(path).toString("latin1"));
    expect(files.some((path) => path.endsWith("agent.db"))).toBe(true);
    for (const secret of [value, next]) {
      const forms = [
        secret,
        Buffer.from(secret).toString("base64"),
        Buffer.from(secret).toString("hex"),
      ];
      const leaks = [...documents, ...stored].filter((text) =>
        forms.some((form) => text.includes(form)),
      );
      expect(leaks).toEqual([]);
    }
    for (const agent of [one, two]) await agent.kill();
    await broker.stop();
  },
  300_000,
);
