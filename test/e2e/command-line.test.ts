// What only the compiled binary on a real node shows of the command line: waiting, deletion by selector, completion, colours.

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { KUBECTLS, SocketPort } from "../harness/kubectl.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { getPods } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
let agent: AgentProcess;
let manifests: string;

const POD = (name: string): string => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: cli}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: local/busybox:1
      command: [sleep, "100000"]
      readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
`;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({ nodeName: "pi-1" });
  await agent.startReady();
  manifests = stage.temp.directory("written");
  mkdirSync(join(manifests, "below"));
  writeFileSync(join(manifests, "one.yaml"), POD("one"));
  writeFileSync(join(manifests, "below/two.yaml"), POD("two"));
}, 180_000);

afterAll(() => {
  stage.close();
}, 60_000);

/** The standard output of a command that must succeed. */
async function out(result: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await result;
  expect(`${code} ${stderr}`).toBe("0 ");
  return stdout;
}

/** On a terminal, which `script` makes. */
async function onTerminal(command: string, env: Record<string, string> = {}): Promise<string> {
  const words = ["script", "-qec", command, "/dev/null"];
  return out(run(words, { env: { TERM: "xterm", ...env } }));
}

stage.test("waits for pods as kubectl does, and deletes them by their label", async () => {
  const waits = ["wait", "pod", "-l", "app=cli", "--timeout", "30s"];
  const ready = agent.cli("wait", "pod/one", "pod/two", "--for=create", "--timeout", "30s");
  expect(await out(agent.cli("apply", "-R", "-f", manifests))).toBe(
    "pod/two serverside-applied\npod/one serverside-applied\n",
  );
  expect(await out(ready)).toBe("pod/one condition met\npod/two condition met\n");
  const met = "pod/one condition met\npod/two condition met\n";
  expect(await out(agent.cli(...waits, "--for=condition=Ready"))).toBe(met);
  expect(await out(agent.cli(...waits, "--for=jsonpath={.status.phase}=Running"))).toBe(met);
  using port = await SocketPort.open(agent.paths.socket);
  const home = stage.temp.directory("home");
  for (const client of KUBECTLS.filter(({ path }) => typeof path === "string"))
    expect(await out(port.kubectl(client, [...waits, "--for=condition=Ready"], { home }))).toBe(
      met,
    );
  const gone = agent.cli(...waits, "--for=delete");
  const never = await agent.cli(
    "wait",
    "pod",
    "one",
    "--for=condition=Ready=False",
    "--timeout=1s",
  );
  expect([never.code, never.stderr]).toEqual([
    1,
    "error: timed out waiting for the condition on pods/one\n",
  ]);
  expect(await out(agent.cli("delete", "pods", "-l", "app=cli"))).toBe(
    'pod "one" deleted\npod "two" deleted\n',
  );
  expect((await gone).stdout).toBe(met);
  expect(await getPods(agent)).toEqual([]);
});

stage.test("has its version as kubectl's, and that of the running agent", async () => {
  const { socket } = agent.paths;
  const text = await out(agent.cli("version", "-o", "json", "--socket", socket));
  expect(JSON.parse(text)).toMatchObject({
    clientVersion: {
      gitVersion: expect.stringMatching(/^v\d+\.\d+\.\d+/) as string,
      buildDate: expect.stringMatching(/^20\d\d-.*Z$/) as string,
      platform: expect.stringMatching(/^linux\/(?:amd64|arm64)$/) as string,
    },
    serverVersion: {
      major: "1",
      buildDate: expect.stringMatching(/^20\d\d-.*Z$/) as string,
      platform: expect.stringMatching(/^linux\/(?:amd64|arm64)$/) as string,
    },
  });
});

stage.test("completes names of pods in bash, and shows them in colour on a terminal", async () => {
  agent.writeManifest("web.yaml", POD("web"));
  await out(agent.cli("wait", "pod", "web", "--for=create"));
  await out(agent.cli("wait", "pod", "web", "--for=condition=Ready"));
  const bin = stage.temp.directory("bin");
  symlinkSync(agentBinary(), join(bin, "agent"));
  const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, AGENT_SOCKET: agent.paths.socket };
  const typed = ["source <(agent completion bash)", "agent get po\twe\t-o\tna\t", "exit"];
  const shell = run(["script", "-qec", "bash --norc --noprofile -i", "/dev/null"], {
    stdin: typed.map((line) => `${line}\n`).join(""),
    env: { ...env, TERM: "dumb" },
  });
  expect((await shell).stdout).toContain("\r\npod/web\r\n");
  const table = await onTerminal("agent get pods", env);
  expect(table).toContain("\u001b[1mNAME\u001b[0m   ");
  expect(table).toContain("\u001b[32mRunning\u001b[0m   ");
  expect(await onTerminal("agent get pods", { ...env, NO_COLOR: "1" })).not.toContain("\u001b");
});
