import { describe, expect, test } from "bun:test";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let agent: CliStage["agent"];
let run: CliStage["run"];
let terminal: CliStage["terminal"];
/** What the agent was asked for. */
let asked: string[];

eachOnCliStage((stage) => {
  ({ agent, run, terminal } = stage);
  asked = [];
  answer("default/web", () => Response.json({ kind: "Status", status: "Success" }));
});

function answer(pod: string, response: () => Response): void {
  agent.answers.set(`/pods/${pod}`, ({ method, url }) => {
    asked.push(`${method} ${url.slice(url.indexOf("/pods/"))}`);
    return response();
  });
}

describe("delete pod", () => {
  test.each([
    ["delete pod web --grace-period 5", 5],
    ["delete pod web --grace-period=0", 0],
    ["delete pods web --now", 1],
    ["delete po web --force", 0],
    ["delete pod web --force --grace-period 0", 0],
    ["delete pod/web --now", 1],
  ])("%s", async (command, seconds) => {
    expect(await run(command)).toBe(0);
    expect(asked).toEqual([`DELETE /pods/default/web?gracePeriodSeconds=${seconds}`]);
    expect(terminal.stdout).toBe(`pod/web has at most ${seconds} s to stop\n`);
    expect(terminal.stderr).toBe("");
  });

  test("of another namespace", async () => {
    answer("shop/db", () => Response.json({}));
    expect(await run("delete pod db -n shop --now")).toBe(0);
    expect(asked).toEqual(["DELETE /pods/shop/db?gracePeriodSeconds=1"]);
  });

  test.each([
    [
      "that a source wants",
      409,
      "pod default/web is declared by /m/web.yaml: remove it from there",
    ],
    ["that is not there", 404, 'pods "web" not found in namespace "default"'],
  ])("%s is exit code 1 and the agent's own sentence", async (_case, status, sentence) => {
    answer("default/web", () => new Response(`${sentence}\n`, { status }));
    expect(await run("delete pod web --now")).toBe(1);
    expect(terminal.stderr).toBe(`Error: ${sentence}\n`);
    expect(terminal.stdout).toBe("");
  });

  test("that the agent has trouble with is exit code 1, and says where it came from", async () => {
    answer("default/web", () => new Response("the agent could not answer", { status: 500 }));
    expect(await run("delete pod web --now")).toBe(1);
    expect(terminal.stderr).toBe(
      `Error: the agent on ${agent.socket} answered /pods/default/web with HTTP 500: the agent could not answer\n`,
    );
  });

  test.each([
    ["no time at all", "delete pod web", "give --grace-period SECONDS, --now or --force: "],
    ["no name", "delete pod --now", "missing required argument 'name'"],
    ["a negative time", "delete pod web --grace-period=-1", "--grace-period must be a whole"],
    ["a time with a unit", "delete pod web --grace-period 5s", "--grace-period must be a whole"],
    ["--now and a time", "delete pod web --now --grace-period 1", "--now and --grace-period"],
    ["--now and --force", "delete pod web --now --force", "--now and --force"],
    ["--force and a time", "delete pod web --force --grace-period 1", "--force and --grace-period"],
    ["two names", "delete pod web db --now", "too many arguments"],
    ["another kind", "delete node web --now", "unknown command 'node'"],
  ])("with %s is exit code 2 and asks nobody", async (_case, command, sentence) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toStartWith(`Error: ${sentence}`);
    expect(asked).toEqual([]);
  });
});
