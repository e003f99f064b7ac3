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
  for (const place of ["", "/pods/default/web", "/pods/shop/db"])
    for (const verb of ["hold", "release"])
      answer(`${place}/${verb}`, () => Response.json({ kind: "Status", status: "Success" }));
});

function answer(path: string, response: () => Response): void {
  agent.answers.set(path, ({ method, url }) => {
    asked.push(`${method} ${new URL(url).pathname}`);
    return response();
  });
}

test.each([
  ["hold web", "POST /pods/default/web/hold", "pod/web held: updates wait until agent release"],
  ["hold pod/web", "POST /pods/default/web/hold", "pod/web held: updates wait until agent release"],
  ["hold db -n shop", "POST /pods/shop/db/hold", "pod/db held: updates wait until agent release"],
  ["hold --all", "POST /hold", "all pods held: updates wait until agent release --all"],
  ["release web", "POST /pods/default/web/release", "pod/web released: updates go on"],
  ["release po/db -n shop", "POST /pods/shop/db/release", "pod/db released: updates go on"],
  ["release --all", "POST /release", "all pods released: updates go on"],
])("%s", async (command, request, sentence) => {
  expect(await run(command)).toBe(0);
  expect(asked).toEqual([request]);
  expect([terminal.stdout, terminal.stderr]).toEqual([`${sentence}\n`, ""]);
});

describe.each(["hold", "release"])("%s", (verb) => {
  test.each([
    ["of a pod that nobody knows", 404, 'pods "web" not found in namespace "default"'],
    ["of a pod of a file", 409, "pod default/web is declared by /m/web.yaml: edits are not held"],
  ])("%s is exit code 1 and the agent's own sentence", async (_case, status, sentence) => {
    answer(`/pods/default/web/${verb}`, () => new Response(`${sentence}\n`, { status }));
    expect(await run(`${verb} web`)).toBe(1);
    expect([terminal.stdout, terminal.stderr]).toEqual(["", `Error: ${sentence}\n`]);
  });

  test("that could not be written down is exit code 1, and says where it came from", async () => {
    const sentence = "nothing was changed: the disk is full; try again";
    answer(`/${verb}`, () => new Response(`${sentence}\n`, { status: 500 }));
    expect(await run(`${verb} --all`)).toBe(1);
    expect(terminal.stdout).toBe("");
    expect(terminal.stderr).toBe(
      `Error: the agent on ${agent.socket} answered /${verb} with HTTP 500: ${sentence}\n`,
    );
  });

  test.each([
    ["without a pod", verb, `give either a pod name or --all: agent ${verb} NAME`],
    [
      "with a kind and no name",
      `${verb} pod/`,
      `give either a pod name or --all: agent ${verb} NAME`,
    ],
    [
      "with a pod and --all",
      `${verb} web --all`,
      `give either a pod name or --all: agent ${verb} NAME`,
    ],
    ["with two pods", `${verb} web db`, "too many arguments"],
  ])("%s is exit code 2 and asks nobody", async (_case, command, sentence) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toStartWith(`Error: ${sentence}`);
    expect(asked).toEqual([]);
  });
});

describe("agent restart", () => {
  test("says which containers run again", async () => {
    agent.answers.set("/pods/shop/web/restart", ({ url, method }) => {
      asked.push(`${method} ${new URL(url).search}`);
      const containers = [{ name: "main", restartCount: 3 }];
      return Response.json({ apiVersion: "agent/v1", kind: "Restarted", containers });
    });
    expect(await run("restart pod/web -n shop -c main")).toBe(0);
    expect(terminal.stdout).toBe("pod/web restarted: main (restart 3)\n");
    expect(asked).toEqual(["POST ?container=main"]);
  });

  test.each([
    [404, 'pods "web" not found in namespace "default"'],
    [409, "no container of the pod runs, so there is none to restart"],
    [504, "not restarted in time: main; the verb explain shows why"],
  ])("a refusal %i is the agent's sentence", async (status, sentence) => {
    agent.answers.set("/pods/default/web/restart", () => new Response(sentence, { status }));
    expect(await run("restart web")).toBe(1);
    expect(terminal.stderr).toBe(`Error: ${sentence}\n`);
  });
});
