// What `agent support-bundle` gathers: with an agent, without one, with one that hangs; and what it must not contain.

import { expect, test } from "bun:test";
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../../harness/eventually.ts";
import { HungFileSystem, whyNoFuse } from "../../harness/hung-file-system.ts";
import { aPod, aStatus } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

const VALUES = {
  plain: "hunter2-plain",
  encoded: "hunter2-encoded",
  broker: "hunter2-broker",
  registry: "hunter2-registry",
  header: "hunter2-header",
  variable: "hunter2-variable",
  comment: "hunter2-comment",
  running: "hunter2-running",
};

let stage: CliStage;
let config: string;
eachOnCliStage((given) => {
  stage = given;
  const manifests = join(stage.directory, "manifests");
  mkdirSync(manifests);
  mkdirSync(join(stage.directory, "state"));
  writeFileSync(
    join(manifests, "web.yaml"),
    `# ${VALUES.comment}
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {plain: ${VALUES.plain}, pin: "1234"}
data: {encoded: ${btoa(VALUES.encoded)}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {note: "was ${VALUES.encoded}"}}
spec:
  containers:
    - name: main
      image: busybox
      env: [{name: LOG_LEVEL, value: debug}, {name: DB_PASSWORD, value: ${VALUES.variable}}]
`,
  );
  writeFileSync(join(manifests, "broken.yaml"), `token: [${VALUES.comment}`);
  const auth = btoa(`user:${VALUES.registry}`);
  config = stage.file(
    "agent.yaml",
    stringify({
      staticPodPath: manifests,
      stateDir: join(stage.directory, "state"),
      containerRuntimeEndpoint: `unix://${stage.directory}/no-runtime.sock`,
      registryAuthFile: stage.file("registry.json", JSON.stringify({ auths: { r: { auth } } })),
      staticPodURLHeader: { Authorization: [`Bearer ${VALUES.header}`] },
      mqtt: {
        url: "mqtt://127.0.0.1:1",
        passwordFile: stage.file("password", `${VALUES.broker}\n`),
      },
    }),
  );
});

/** By name, without the directory that holds them. */
function unpacked(path: string): ReadonlyMap<string, string> {
  const run = (...args: string[]): string => {
    const { stdout, exitCode } = Bun.spawnSync(["tar", ...args, "-f", path]);
    expect(exitCode).toBe(0);
    return stdout.toString();
  };
  const names = run("-tz").trim().split("\n");
  return new Map(
    names.map((name) => {
      const { stdout } = Bun.spawnSync(["tar", "-xzOf", path, name]);
      return [name.split("/").slice(1).join("/"), stdout.toString()];
    }),
  );
}

async function made(flags = ""): Promise<ReadonlyMap<string, string>> {
  const path = join(stage.directory, "bundle.tar.gz");
  expect(await stage.run(`support-bundle -o ${path} --config ${config} ${flags}`)).toBe(0);
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  return unpacked(path);
}

/** Where any of the values stands in any form. */
function leaks(files: ReadonlyMap<string, string>): readonly string[] {
  const forms = Object.values(VALUES).flatMap((value) => [value, btoa(value).replace(/=+$/, "")]);
  return [...files].flatMap(([name, text]) =>
    forms.filter((form) => text.includes(form)).map((form) => `${name}: ${form}`),
  );
}

function withAnswers(): void {
  const { agent } = stage;
  const containerStatuses = [aStatus("main", { restartCount: 1 })];
  agent.pods = [aPod({ status: { phase: "Running", containerStatuses } })];
  agent.answers.set("/version", () => Response.json({ version: "9.9.9" }));
  agent.answers.set("/api/v1/secrets", ({ url }) => {
    const data = url.includes("showSecrets=false")
      ? { key: "<hidden: 15 bytes>" }
      : { key: btoa(VALUES.running) };
    return Response.json({ kind: "SecretList", items: [{ kind: "Secret", data }] });
  });
  agent.answers.set(
    "/metrics",
    () => new Response(`# ${VALUES.running}\nup{url="mqtt://u:${VALUES.broker}@b"} 1\n`),
  );
  agent.answers.set(
    "/healthz",
    () => new Response(`broker: ${VALUES.broker} refused\n`, { status: 503 }),
  );
  const lines = [`said ${VALUES.running}`];
  agent.answers.set("/explain/default/web", () =>
    Response.json({ kind: "Explanation", well: false, containers: [{ name: "main", lines }] }),
  );
  agent.answers.set("/api/v1/namespaces/default/pods/web/log", ({ url }) => {
    expect(url).toContain("tailLines=");
    return new Response(`first\n--token ${VALUES.running} and password=x\n`);
  });
}

test("with an agent: everything is there, listed, and no secret is in it", async () => {
  withAnswers();
  const files = await made();
  expect(stage.terminal.stderr).toContain("look through it before you pass it on");
  const wanted = [
    "README.md",
    "version.txt",
    "config.json",
    "check.json",
    "manifests/web.yaml.json",
    "machine/kernel.txt",
    "machine/sizes.txt",
    "agent/version.json",
    "agent/health.txt",
    "pods.json",
    "pods.txt",
    "node.json",
    "events.json",
    "events.txt",
    "secrets.json",
    "rejections.json",
    "metrics/metrics.txt",
    "explain/default_web.json",
  ];
  expect(wanted.filter((name) => !files.has(name))).toEqual([]);
  expect(leaks(files)).toEqual([]);
  const readme = files.get("README.md") ?? "";
  for (const name of files.keys())
    if (name !== "README.md") expect(readme).toContain(`| ${name} |`);
  expect(readme).toMatch(/\| manifests\/broken\.yaml\.json \| it is not valid YAML or JSON/);
  expect(readme).toContain("--logs adds it");
  // What is no secret is still there, and so is the sign that something was taken out.
  expect(files.get("pods.txt")).toContain("web");
  expect(files.get("agent/health.txt")).toBe("broker: <hidden> refused\n");
  expect(files.get("explain/default_web.json")).not.toContain("said");
  expect(JSON.parse(files.get("manifests/web.yaml.json") ?? "")).toMatchObject([
    { stringData: { plain: "<hidden: 13 bytes>", pin: "<hidden: 4 bytes>" } },
    {
      metadata: { annotations: { note: "was <hidden>" } },
      spec: {
        containers: [
          { env: [{ value: "debug" }, { name: "DB_PASSWORD", value: "<hidden: 16 bytes>" }] },
        ],
      },
    },
  ]);
  expect([...files.keys()].filter((name) => name.startsWith("logs/"))).toEqual([]);
});

test("with --logs: what containers wrote, without what is known to be secret", async () => {
  withAnswers();
  const files = await made("--logs --tail 7");
  expect(files.get("logs/default_web/main.log")).toBe(
    "first\n--token <hidden> and password=<hidden>\n",
  );
  expect(files.has("logs/default_web/main.previous.log")).toBe(true);
  expect(files.get("explain/default_web.json")).toContain("said <hidden>");
  expect(files.get("README.md")).toContain("tailLines=7");
  expect(leaks(files)).toEqual([]);
});

test("without an agent: what the machine has, and what is missing", async () => {
  stage.terminal.environment["AGENT_SOCKET"] = join(stage.directory, "none.sock");
  const files = await made();
  expect(stage.terminal.stderr).toContain(
    "left out: everything that the agent answers: no agent is listening on",
  );
  expect(files.get("README.md")).toContain("no agent is listening on");
  expect(files.get("config.json")).toContain('"Authorization": [');
  for (const name of ["check.json", "manifests/web.yaml.json", "machine/sizes.txt"])
    expect([name, files.has(name)]).toEqual([name, true]);
  expect([...files.keys()].filter((name) => name.startsWith("agent/"))).toEqual([]);
  expect(leaks(files)).toEqual([]);
});

test("a configuration that cannot be read is no reason for no bundle", async () => {
  config = stage.file("wrong.yaml", `nodNam: ${VALUES.variable}\n`);
  const files = await made();
  expect(files.get("README.md")).toMatch(
    /\| config\.json \| the configuration is invalid: .*nodNam/,
  );
  expect(files.has("check.json")).toBe(true);
});

test("a part that hangs is left out, and the others are not", async () => {
  withAnswers();
  let isAsked = false;
  stage.agent.answers.set("/metrics", () => {
    isAsked = true;
    return new Promise<Response>(() => undefined);
  });
  const bundle = made();
  await eventually("all others are done", () => isAsked && stage.terminal.pending === 1);
  await stage.terminal.pass(20_000);
  const files = await bundle;
  expect(files.has("metrics/metrics.txt")).toBe(false);
  expect(files.get("README.md")).toContain("| metrics/metrics.txt | it took more than 20 s |");
  expect(files.has("pods.json")).toBe(true);
});

test.skipIf(whyNoFuse() !== undefined)(
  "a file system that hangs holds up no other part",
  async () => {
    const path = join(stage.directory, "hung");
    using _hung = await HungFileSystem.mount(path);
    const settings = { staticPodPath: path, podLogsDir: `${path}/logs` };
    config = stage.file("hung.yaml", stringify(settings));
    const bundle = made();
    // Whether it answers, then the checks that ask it themselves.
    await stage.terminal.pass(3_000);
    const { terminal } = stage;
    await eventually(
      "only checks are left",
      () => terminal.waits(60_000) && !terminal.waits(20_000),
    );
    await terminal.pass(10_000);
    const files = await bundle;
    const readme = files.get("README.md") ?? "";
    expect(readme).toContain("| manifests/ | its file system does not answer |");
    expect(readme).toContain(`| values | the secret values in ${path} could not`);
    expect(files.get("machine/sizes.txt")).toContain(
      `== podLogsDir ${path}/logs\nits file system does not answer\n`,
    );
    for (const name of ["config.json", "machine/kernel.txt", "check.json"])
      expect([name, files.has(name)]).toEqual([name, true]);
  },
);

test("an existing file is left as it is, and no link leads elsewhere", async () => {
  const victim = stage.file("victim", "mine");
  expect(await stage.run(`support-bundle -o ${victim}`)).toBe(1);
  expect(stage.terminal.stderr).toContain("exists and is left as it is");
  symlinkSync(victim, join(stage.directory, ".bundle.tar.gz.tmp"));
  await made();
  expect(readFileSync(victim, "utf8")).toBe("mine");
  expect(lstatSync(join(stage.directory, "bundle.tar.gz")).isSymbolicLink()).toBe(false);
  expect(await stage.run(`support-bundle --tail 5`)).toBe(2);
});
