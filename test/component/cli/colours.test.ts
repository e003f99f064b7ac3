import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { COLOURS } from "../../../src/cli/terminal/palette.ts";
import { run as runCommand } from "../../harness/run-command.ts";
import { aNode, aPod, aStatus } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;

eachOnCliStage((made) => {
  stage = made;
});

const MAIN = resolve(import.meta.dir, "../../../src/main.ts");

describe("in colour", () => {
  test.each([
    ["get pods", "\u001b[1mNAME\u001b[0m", "\u001b[32mRunning\u001b[0m"],
    ["get pods --no-headers", "web   1/1", "\u001b[32mRunning\u001b[0m"],
    ["describe pod web", "\u001b[1mName:\u001b[0m ", "\u001b[32mRunning\u001b[0m"],
    ["describe node", "\u001b[1mConditions:\u001b[0m", "Ready"],
    ["explain pod.spec.restartPolicy", "\u001b[1mDESCRIPTION:\u001b[0m", "Always"],
    ["get --help", "\u001b[1mUsage:\u001b[0m", "\u001b[1mOptions:\u001b[0m"],
  ])("%s is the same text", async (command, title, word) => {
    const { agent, terminal, run } = stage;
    agent.pods = [aPod({ name: "web", spec: { nodeName: "pi-1" } })];
    agent.node = aNode();
    expect(await run(command)).toBe(0);
    const plain = terminal.stdout;
    expect(plain).not.toContain("\u001b");
    [terminal.stdout, terminal.palette] = ["", COLOURS];
    expect(await run(command)).toBe(0);
    for (const text of [title, word]) expect(terminal.stdout).toContain(text);
    expect(Bun.stripANSI(terminal.stdout)).toBe(plain);
  });

  test("an escape sequence of a pod stays text", async () => {
    const { agent, terminal, run } = stage;
    terminal.palette = COLOURS;
    const reason = "\u001b[31mRunning";
    const state = { waiting: { reason, message: "" } };
    agent.pods = [aPod({ status: { containerStatuses: [aStatus("a", { state })] } })];
    await run("get pods");
    expect(terminal.stdout).toContain("\\u001b[31mRunning");
  });
});

describe("the process", () => {
  /** On a terminal of its own, which `script` makes. */
  async function onTerminal(
    words: string,
    environment: Record<string, string> = {},
  ): Promise<string> {
    const command = `${process.execPath} ${MAIN} ${words}`;
    const env = { PATH: process.env["PATH"] ?? "", TERM: "xterm", ...environment };
    const { stdout } = await runCommand(["script", "-qec", command, "/dev/null"], { env });
    return stdout;
  }

  test("has colours on a terminal, and not where they are not wanted", async () => {
    const get = `get pods --socket ${stage.agent.socket}`;
    stage.agent.pods = [aPod({ name: "web" })];
    expect(await onTerminal(get)).toContain("\u001b[1mNAME\u001b[0m");
    expect(await onTerminal("get pods --socket /nonexistent")).toStartWith(
      "\u001b[31mError\u001b[0m:",
    );
    for (const plain of [
      onTerminal(get, { NO_COLOR: "1" }),
      onTerminal(get, { TERM: "dumb" }),
      onTerminal(`${get} --color never`),
      onTerminal(`${get} | cat`),
    ])
      expect(await plain).not.toContain("\u001b");
    expect(await onTerminal(`${get} --color=always | cat`)).toContain("\u001b[32mRunning");
  });

  test("refuses another word of --color", async () => {
    expect(await stage.run("get pods --color sometimes")).toBe(2);
    expect(stage.terminal.stderr).toContain("Allowed choices are auto, always, never");
  });
});
