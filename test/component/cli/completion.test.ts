// The scripts of `agent completion` in the shells that this machine has, and the words that they get from the agent.

import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fleetVerbs } from "../../../src/fleet/fleet-verbs.ts";
import { commandTree, allCommands } from "../../../src/cli/completion/command-tree.ts";
import { PROGRAM_FLAGS } from "../../../src/cli/flags.ts";
import { runCli } from "../../../src/cli/program.ts";
import { VERBS } from "../../../src/cli/verbs.ts";
import { run as runCommand } from "../../harness/run-command.ts";
import { testWhenAvailable } from "../../harness/skip-reasons.ts";
import { aPod } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;

eachOnCliStage((made) => {
  stage = made;
});

const MAIN = resolve(import.meta.dir, "../../../src/main.ts");

beforeEach(() => {
  const containers = [{ name: "app" }, { name: "proxy" }];
  stage.agent.pods = [
    aPod({ name: "web", spec: { containers } }),
    aPod({ name: "worker" }),
    aPod({ name: "db", metadata: { namespace: "shop" } }),
  ];
  stage.agent.answers.set("/api/v1/namespaces", () =>
    Response.json({ items: ["default", "shop"].map((name) => ({ metadata: { name } })) }),
  );
  stage.agent.answers.set("/images", () =>
    Response.json({ items: [{ id: "sha256:1", names: ["r.test/a:1"], sizeBytes: 1 }] }),
  );
});

/** What `agent __complete` answers, without the meanings. */
async function words(line: string): Promise<readonly string[]> {
  const { terminal } = stage;
  const argv = ["__complete", "--", ...line.split(" ").slice(1)];
  const loadFleet = () => Promise.resolve({ fleetVerbs });
  const loadAgent = () => Promise.reject(new Error("the agent was loaded"));
  expect(await runCli({ argv, version: "1", terminal, loadAgent, loadFleet })).toBe(0);
  expect(terminal.stderr).toBe("");
  return terminal.stdout
    .split("\n")
    .map((one) => one.split("\t")[0] ?? "")
    .filter((one) => one !== "");
}

describe("the words", () => {
  test.each([
    ["agent get", ["get"]],
    ["agent top ", ["pod", "node"]],
    ["agent help tr", ["trust"]],
    ["agent fleet tru", ["trust"]],
    ["agent fleet trust s", ["sign"]],
    ["agent get pods --no-h", ["--no-headers"]],
    ["agent apply -f a.yaml --fi", ["--filename", "--field-manager"]],
    ["agent get pods -A --all-n", []],
    ["agent get po", ["pods"]],
    ["agent get pods ", ["web", "worker"]],
    ["agent get pods web w", ["worker"]],
    ["agent get -n shop pod ", ["db"]],
    ["agent get --namespace=shop pod ", ["db"]],
    ["agent get pod/w", ["pod/web", "pod/worker"]],
    ["agent get pod/web no", ["node/"]],
    ["agent get pods -n s", ["shop"]],
    ["agent get pods --namespace=s", ["--namespace=shop"]],
    ["agent get -o cus", ["custom-columns="]],
    ["agent delete n", []],
    ["agent delete --dry-run ", ["none", "server"]],
    ["agent delete --wait=f", ["--wait=false"]],
    ["agent wait --for del", ["delete"]],
    ["agent logs w", ["web", "worker"]],
    ["agent logs web ", ["app", "proxy"]],
    ["agent logs pod/web -c ", ["app", "proxy"]],
    ["agent exec web -- l", []],
    [
      "agent exec web -",
      [
        "--namespace",
        "--container",
        "--stdin",
        "--tty",
        "--quiet",
        "--config",
        "--socket",
        "--color",
        "--help",
      ],
    ],
    ["agent cp w", ["web:", "worker:", ":files"]],
    ["agent top pods wo", ["worker"]],
    ["agent images rm r", ["r.test/a:1"]],
    ["agent validate ", [":files"]],
    ["agent --config ", [":files"]],
    ["agent schema pv", ["pvc"]],
    ["agent explain pod.spec.containers.liv", ["pod.spec.containers.livenessProbe"]],
    ["agent explain pod/we", ["pod/web"]],
    ["agent completion z", ["zsh"]],
  ] as const)("of %j", async (line, expected) => {
    expect(await words(line)).toEqual([...expected]);
  });

  test("are none, and no message, without an agent or with an unreadable configuration", async () => {
    stage.terminal.environment = { AGENT_SOCKET: join(stage.directory, "none") };
    expect(await words("agent get pods ")).toEqual([]);
    stage.terminal.environment = { AGENT_CONFIG: stage.file("bad.yaml", "a: [") };
    expect(await words("agent get pods ")).toEqual([]);
  });

  test("are none of an agent that does not answer in time", async () => {
    stage.agent.answers.set("/apis", () => new Promise(() => undefined));
    const found = words("agent get ");
    await stage.terminal.pass(500);
    expect(await found).toEqual([]);
  });

  test("have nothing in them that a shell would obey", async () => {
    stage.agent.pods = [aPod({ name: "$(reboot)" }), aPod({ name: "a;b" }), aPod({ name: "ok" })];
    expect(await words("agent get pods ")).toEqual(["ok"]);
  });
});

/** A directory with the program `agent`: this source. */
function program(): string {
  const path = join(stage.directory, "bin");
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, "agent"),
    `#!/bin/sh\nexport AGENT_SOCKET=${stage.agent.socket}\nexec ${process.execPath} ${MAIN} "$@"\n`,
  );
  chmodSync(join(path, "agent"), 0o755);
  return path;
}

describe("bash", () => {
  let script: string;

  beforeAll(async () => {
    script = (await runCommand([process.execPath, MAIN, "completion", "bash"])).stdout;
  });

  /** COMP_WORDS as readline divides the line. */
  async function replies(line: string): Promise<readonly string[]> {
    const divided = line.split(" ").flatMap((word) => word.match(/[:=]+|[^:=]+/g) ?? [""]);
    const commands = `source ${stage.file("agent.bash", script)}
COMP_WORDS=(${divided.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${divided.length - 1}
_agent agent
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { PATH: `${program()}:${process.env["PATH"] ?? ""}` };
    const { stdout, stderr } = await runCommand(["bash", "--norc", "-c", commands], { env });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((one) => one !== "");
  }

  test("reads without a fault, and its common part in dash too", async () => {
    const path = stage.file("agent.bash", script);
    const common = stage.file("agent.sh", script.slice(0, script.indexOf("_agent() {")));
    for (const command of [
      ["bash", "-n", path],
      ["dash", "-n", common],
    ])
      expect(await runCommand(command)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("knows every verb and flag without asking the agent", async () => {
    const fleet = { usage: "fleet", description: "", ...fleetVerbs(stage.terminal) };
    const commands = allCommands(commandTree([...VERBS, fleet], PROGRAM_FLAGS));
    expect(commands.length).toBeGreaterThan(50);
    const source = stage.file("agent.bash", script);
    const asked = commands.flatMap(({ path, below }) => [
      `__agent_candidates ${path.slice("agent".length)} -`,
      ...(below.length > 0 ? [`__agent_candidates ${path.slice("agent".length)} ''`] : []),
    ]);
    const lines = asked.map((command) => `${command} | cut -f1 | tr '\\n' ' '; echo`).join("\n");
    const { stdout, stderr } = await runCommand([
      "bash",
      "--norc",
      "-c",
      `source ${source}\nagent() { echo ASKED; }\n${lines}`,
    ]);
    expect(stderr).toBe("");
    const expected = commands.flatMap(({ flags, below }) => [
      flags.map(({ words: all }) => all.at(-1)),
      ...(below.length > 0 ? [below.map(({ words: all }) => all[0])] : []),
    ]);
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => line.trim()),
    ).toEqual(expected.map((all) => all.join(" ")));
  });

  test.each([
    ["agent tru", ["trust"]],
    ["agent images pu", ["pull"]],
    ["agent top pods --cont", ["--containers"]],
    ["agent get pods w", ["web", "worker"]],
    ["agent wait --for=del", ["delete"]],
    ["agent get pods --namespace=", ["default", "shop"]],
    ["agent images rm r.test/a:", ["1"]],
    ["agent cp web:/a wo", ["worker:"]],
    ["agent exec web -- ls -", []],
  ])("of %j", async (line, expected) => {
    expect(await replies(line)).toEqual(expected);
  });

  test("completes files where a file belongs", async () => {
    const path = stage.file("some.yaml", "");
    expect(await replies(`agent apply -f ${stage.directory}/some.y`)).toEqual([path]);
  });

  test("does all that for a person who types", async () => {
    const source = stage.file("agent.bash", script);
    // The words come out as the program would get them.
    const typed = [
      `source ${source}`,
      'agent() { if [ "$1" = __complete ]; then command agent "$@"; else printf \'<%s>\' "$@"; echo; fi; }',
      "agent wai\t--for=del\tpod/we\t",
      "agent logs we\tpro\t-n\tsho\t",
      "agent cp we\t/etc/hosts /tm\t",
      "exit",
    ];
    const command = "bash --norc --noprofile -i";
    const { stdout } = await runCommand(["script", "-qec", command, "/dev/null"], {
      stdin: typed.map((line) => `${line}\n`).join(""),
      env: { PATH: `${program()}:${process.env["PATH"] ?? ""}`, TERM: "dumb" },
    });
    expect(stdout).toContain("<wait><--for=delete><pod/web>");
    expect(stdout).toContain("<logs><web><proxy><-n><shop>");
    expect(stdout).toContain("<cp><web:/etc/hosts></tmp/>");
  });
});

describe.each([
  ["zsh", ["-n"]],
  ["fish", ["--no-execute"]],
])("%s", (shell, flags) => {
  test("has a script for every verb", async () => {
    const { stdout, stderr } = await runCommand([process.execPath, MAIN, "completion", shell]);
    expect(stderr).toBe("");
    for (const { usage } of VERBS) expect(stdout).toContain(usage.split(" ")[0] ?? "");
    expect(stdout).toContain("agent __complete --");
  });

  const unavailable = `${shell} is not on this machine, so its completion is not tried`;
  const testHere = Bun.which(shell) === null ? testWhenAvailable({ unavailable }) : test;
  testHere("reads its script without a fault", async () => {
    const { stdout } = await runCommand([process.execPath, MAIN, "completion", shell]);
    const path = stage.file(`agent.${shell}`, stdout);
    expect(await runCommand([shell, ...flags, path])).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

test("another shell is exit code 2", async () => {
  expect(await stage.run("completion csh")).toBe(2);
  expect(stage.terminal.stderr).toBe(
    'Error: "csh" is no shell that is known here: name bash, zsh, fish\n',
  );
});
