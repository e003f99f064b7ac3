// `agent check`: the doctor on the real parts: a containerd that is well, one whose CRI is switched off, and a node with
// mistakes.

import { afterAll, expect } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { CheckResult } from "../../src/cli/check/finding.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { spawnDaemon } from "../harness/daemon.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
afterAll(() => stage.close());
const e2e = stage.test;

interface Checked {
  readonly code: number;
  readonly items: readonly CheckResult[];
}

async function check(agent: AgentProcess): Promise<Checked> {
  const { code, stdout, stderr } = await run(
    [agentBinary(), "check", "-o", "json", "--config", agent.paths.config],
    { timeout: 60_000 },
  );
  if (stdout === "") throw new Error(`${code}: ${stderr}`);
  return { code, ...(JSON.parse(stdout) as { readonly items: readonly CheckResult[] }) };
}

/** The levels of a check. */
function levels({ items }: Checked, name: string): readonly string[] {
  return items.filter((one) => one.check === name).map(({ level }) => level);
}

function findings({ items }: Checked, name: string): readonly CheckResult[] {
  return items.filter((one) => one.check === name && one.level !== "ok");
}

e2e("a machine that is well: the runtime, its network and the agent are found", async () => {
  const agent = stage.agent({ name: "well" });
  agent.writeManifest("web.yaml", JSON.stringify(stage.manifest({ name: "web" })));
  await agent.startReady();
  const checked = await check(agent);
  for (const name of ["configuration", "kernel", "libraries", "runtime", "sandbox image"])
    expect([name, ...levels(checked, name)]).toEqual([name, "ok"]);
  for (const name of ["network", "permissions", "trust", "manifests", "broker", "agent"])
    expect([name, ...levels(checked, name)]).toEqual([name, "ok"]);
  const [runtime] = checked.items.filter((one) => one.check === "runtime");
  expect(runtime?.message).toBe(`containerd ${stage.containerd.version} serves CRI v1`);
  expect(
    checked.items.filter((one) => one.check === "disk").map(({ message }) => message.split(" ")[0]),
  ).toEqual(["stateDir", "podLogsDir", "claimRoot", "images"]);
});

e2e("as text, and the exit code is 1 for errors only", async () => {
  const agent = stage.agent({ name: "text" });
  const { code, stdout } = await run([agentBinary(), "check", "--config", agent.paths.config], {
    timeout: 60_000,
  });
  expect(stdout).toMatch(/^(?:ok|warning|error) +configuration +/);
  expect(stdout).toMatch(/\n\d+ ok, \d+ warnings, \d+ errors\n$/);
  expect(code).toBe(stdout.endsWith(", 0 errors\n") ? 0 : 1);
  expect(stdout).toMatch(/\nwarning +agent +no agent is listening on /);
});

e2e("a containerd whose CRI plugin is switched off: the file and the line to change", async () => {
  const directory = stage.temp.directory("docker");
  const socket = join(directory, "c.sock");
  const config = join(directory, "config.toml");
  // As the packages of Docker write it, in the first version of the format.
  const lines = [
    `root = "${directory}/root"`,
    `state = "${directory}/state"`,
    "oom_score = 0",
    'disabled_plugins = ["cri"]',
    "[grpc]",
    `address = "${socket}"`,
    "[plugins.opt]",
    `path = "${directory}/opt"`,
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const child = spawnDaemon(["containerd", "--config", config], {
    temp: stage.temp,
    logFile: join(directory, "log"),
  });
  await eventually("containerd listens", () => existsSync(socket), { timeout: 30_000 });
  const agent = stage.agent({ name: "no-cri", endpoint: `unix://${socket}` });
  const checked = await eventually("the check has an answer of containerd", async () => {
    const found = await check(agent);
    return findings(found, "runtime")[0]?.message.includes("CRI plugin") === true
      ? found
      : undefined;
  });
  expect(checked.code).toBe(1);
  expect(findings(checked, "runtime")).toEqual([
    {
      check: "runtime",
      level: "error",
      message: `the CRI plugin of containerd is switched off in ${config}:4: disabled_plugins = ["cri"]`,
      remedy: `change line 4 of ${config} to disabled_plugins = [], and run systemctl restart containerd`,
    },
  ]);
  expect(levels(checked, "network")).toEqual(["warning"]);
  child.kill();
  await child.exited;
});

e2e("a node with mistakes: each has its finding and its remedy", async () => {
  const directory = stage.temp.directory("mistakes");
  const trust = join(directory, "trust.d");
  const auth = join(directory, "registry-auth.json");
  mkdirSync(trust);
  writeFileSync(join(trust, "root.pub"), "no key\n");
  writeFileSync(auth, "{}");
  chmodSync(auth, 0o644);
  const agent = stage.agent({
    name: "mistaken",
    endpoint: "unix:///nonexistent/containerd.sock",
    mqttUrl: "mqtt://127.0.0.1:1",
    config: { trustPath: trust, registryAuthFile: auth },
  });
  agent.writeManifest(
    "typo.yaml",
    "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {contaners: []}\n",
  );
  chmodSync(agent.paths.manifests, 0o777);
  chmodSync(join(agent.paths.manifests, "typo.yaml"), 0o664);
  const checked = await check(agent);
  expect(checked.code).toBe(1);
  expect(findings(checked, "runtime")[0]).toMatchObject({ level: "error" });
  expect(findings(checked, "permissions")).toMatchObject([
    { level: "error", remedy: `chmod go-w ${agent.paths.manifests}` },
    { level: "error", remedy: `chmod go-w ${join(agent.paths.manifests, "typo.yaml")}` },
    { level: "warning", remedy: `chmod 600 ${auth}` },
  ]);
  expect(findings(checked, "trust")[0]?.message).toContain(
    `${trust}/root.pub is not a public Ed25519 key`,
  );
  expect(findings(checked, "manifests")[0]?.message).toMatch(
    /typo\.yaml:4:8: spec\.contaners: unknown field/,
  );
  expect(findings(checked, "broker")[0]).toMatchObject({
    level: "error",
    remedy: "start the broker, or correct the port in mqtt.url",
  });
  for (const { remedy } of checked.items.filter(({ level }) => level !== "ok"))
    expect(remedy ?? "").not.toBe("");
});

e2e(
  "a configuration that is not valid is an error, and the rest is checked all the same",
  async () => {
    const agent = stage.agent({ name: "invalid", config: { maxPod: 3 } });
    const checked = await check(agent);
    expect(checked.code).toBe(1);
    expect(findings(checked, "configuration")[0]?.message).toContain("maxPod: unknown field");
    expect(levels(checked, "kernel")).toEqual(["ok"]);
  },
);

e2e("a broker that does not know the node's password", async () => {
  const directory = stage.temp.directory("passwords");
  const users = join(directory, "users");
  const passwordFile = join(directory, "password");
  const made = await run(["mosquitto_passwd", "-c", "-b", users, "node", "right"]);
  expect([made.code, made.stderr]).toEqual([0, ""]);
  writeFileSync(passwordFile, "wrong\n", { mode: 0o600 });
  const listener = ["allow_anonymous false", `password_file ${users}`];
  const broker = await startBroker(stage.temp, { name: "asking", listener });
  const agent = stage.agent({
    name: "guest",
    mqttUrl: broker.url,
    mqtt: { username: "node", passwordFile },
  });
  const [finding, ...others] = findings(await check(agent), "broker");
  expect([others, finding?.level]).toEqual([[], "error"]);
  expect(finding?.message).toMatch(/^the broker does not accept this node: .*not authori[sz]ed/i);
  expect(finding?.remedy).toContain("correct mqtt.username and mqtt.passwordFile");
  writeFileSync(passwordFile, "right\n", { mode: 0o600 });
  expect(levels(await check(agent), "broker")).toEqual(["ok", "ok"]);
  await broker.stop();
});
