import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PRESENT, SocketPort, testWith } from "../../harness/kubectl.ts";
import type { PodView } from "../../../src/node/api-views.ts";
import { aPod } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let agent: CliStage["agent"];
let directory: CliStage["directory"];
let file: CliStage["file"];
let run: CliStage["run"];
let terminal: CliStage["terminal"];

eachOnCliStage((stage) => {
  ({ agent, directory, file, run, terminal } = stage);
});

const READY = { type: "Ready", status: "True" };
const NOT_READY = { type: "Ready", status: "False", reason: "ContainersNotReady" };

/** As the API has it, to its version. */
function pod(name: string, status: object = {}, metadata: object = {}): PodView {
  const labels = { app: name };
  const made = aPod({ name, metadata: { labels, uid: `uid-${name}`, ...metadata } });
  const whole = { ...made.status, conditions: [READY], ...status };
  return Object.assign(made, { apiVersion: "v1", status: whole });
}

beforeEach(() => {
  agent.pods = [pod("web"), pod("db", { phase: "Pending", conditions: [NOT_READY] })];
});

/** What kubectl 1.32 prints too: the exit code, standard output, standard error. */
const AS_KUBECTL: Readonly<
  Record<string, readonly [code: number, stdout: string, stderr: string]>
> = {
  "pod web --for=condition=Ready": [0, "pod/web condition met\n", ""],
  "pod/web pod/db --for=condition=Ready": [
    1,
    "pod/web condition met\n",
    "error: timed out waiting for the condition on pods/db\n",
  ],
  "pods web db --for=condition=ready=UNKNOWN": [
    1,
    "",
    "timed out waiting for the condition on pods/web\ntimed out waiting for the condition on pods/db\n",
  ],
  "pod db --for=condition=ready=false": [0, "pod/db condition met\n", ""],
  "pod web --for=condition=Other": [
    1,
    "",
    "error: timed out waiting for the condition on pods/web\n",
  ],
  "pod nope web --for=condition=Ready": [
    1,
    "pod/web condition met\n",
    'Error from server (NotFound): pods "nope" not found\n',
  ],
  "pod nope db --for=condition=Ready": [
    1,
    "",
    'Error from server (NotFound): pods "nope" not found\ntimed out waiting for the condition on pods/db\n',
  ],
  "pod --all --for=jsonpath={.metadata.name}": [
    0,
    "pod/db condition met\npod/web condition met\n",
    "",
  ],
  "pod --all -A --for=create": [0, "pod/db condition met\npod/web condition met\n", ""],
  "pod -l app=db --for=jsonpath={.status.phase}=Pending": [0, "pod/db condition met\n", ""],
  "pod,cm --all --field-selector metadata.name=web --for=condition=Ready": [
    0,
    "pod/web condition met\n",
    "",
  ],
  "pod -l app=none --for=condition=Ready": [1, "", "error: no matching resources found\n"],
  "pod --all -n none --for=condition=Ready": [1, "", "error: no matching resources found\n"],
  "pod -l app=none --for=delete": [0, "", ""],
  "pod nope --for=delete": [0, "", ""],
  "pod web --for=DELETE --timeout 0": [1, "", "error: condition not met for pods/web\n"],
  "pod web db --for=condition=Ready=Other --timeout=0": [
    1,
    "",
    "condition not met for pods/web\ncondition not met for pods/db\n",
  ],
  "pod web --for=condition=Ready --timeout=0": [0, "pod/web condition met\n", ""],
  "pod web --for=condition=Ready --timeout=-1s": [0, "pod/web condition met\n", ""],
  "pod web --for=condition=Ready -o name": [0, "pod/web\n", ""],
  "pod web --for=jsonpath={.status.phase}=running": [
    1,
    "",
    "error: timed out waiting for the condition on pods/web\n",
  ],
  "pod web --for=jsonpath=.status.phase=Running": [0, "pod/web condition met\n", ""],
  'pod web --for=jsonpath={.status.conditions[?(@.type=="Ready")].status}=True': [
    0,
    "pod/web condition met\n",
    "",
  ],
  "pod web --for=jsonpath={.status.conditions}=True": [
    1,
    "",
    "error: jsonpath leads to a nested object or list which is not supported\n",
  ],
  "pod web --for=jsonpath={.metadata['name','uid']}": [
    1,
    "",
    "error: given jsonpath expression matches more than one value\n",
  ],
};

describe("wait, as kubectl does", () => {
  for (const [words, expected] of Object.entries(AS_KUBECTL))
    test(words, async () => {
      const isLate = expected[2].includes("timed out");
      const done = run(`wait ${words}${isLate ? " --timeout 1s" : ""}`);
      if (isLate) await terminal.pass(1000);
      expect([await done, terminal.stdout, terminal.stderr]).toEqual([...expected]);
    });

  testWith(PRESENT, test)(
    "a present kubectl prints the same",
    async () => {
      const home = join(directory, "home");
      mkdirSync(home);
      using port = await SocketPort.open(agent.socket);
      const all = Object.entries(AS_KUBECTL);
      for (let first = 0; first < all.length; first += 4) {
        const some = all.slice(first, first + 4).map(async ([words, expected]) => {
          const late = expected[2].includes("timed out") ? ["--timeout", "2s"] : [];
          const args = ["wait", ...words.split(" "), ...late];
          const { code, stdout, stderr } = await port.kubectl(PRESENT, args, { home });
          // Without its own remarks about a watch that ends early.
          const errors = stderr.replaceAll(/^W\d{4} .*\n/gm, "");
          expect([words, code, stdout, errors]).toEqual([words, ...expected]);
        });
        await Promise.all(some);
      }
    },
    60_000,
  );
});

describe("wait", () => {
  test("sees a change at once", async () => {
    const done = run("wait pod/db --for=condition=Ready");
    await agent.followed;
    agent.pods = [pod("web"), pod("db")];
    expect(await done).toBe(0);
    expect(terminal.stdout).toBe("pod/db condition met\n");
  });

  test("does not believe a condition that is older than the newest spec", async () => {
    const old = { ...READY, observedGeneration: 1 };
    agent.pods = [pod("web", { conditions: [old] }, { generation: 2 })];
    const done = run("wait pod web --for=condition=Ready");
    await agent.followed;
    expect(terminal.stdout).toBe("");
    agent.pods = [
      pod("web", { conditions: [{ ...old, observedGeneration: 2 }] }, { generation: 2 }),
    ];
    expect(await done).toBe(0);
  });

  test("for an object that is created", async () => {
    const done = run("wait pod new --for=create");
    await agent.followed;
    agent.pods = [...agent.pods, pod("new")];
    expect(await done).toBe(0);
    expect(terminal.stdout).toBe("pod/new condition met\n");
  });

  test("takes an object for deleted once another one has its name", async () => {
    const done = run("wait pod web --for=delete");
    await agent.followed;
    agent.pods = [pod("web", {}, { uid: "uid-2" })];
    expect(await done).toBe(0);
    expect(terminal.stdout).toBe("pod/web condition met\n");
  });

  test("counts an object that a selector found, though it is gone at its turn", async () => {
    const done = run("wait pod --all --for=delete");
    await agent.followed;
    agent.pods = [];
    expect(await done).toBe(0);
    expect(terminal.stdout).toBe("pod/db condition met\npod/web condition met\n");
  });

  test("an object that was not created in time is named", async () => {
    const done = run("wait pod nope --for=create --timeout 2s");
    await terminal.pass(2000);
    expect(await done).toBe(1);
    expect(terminal.stderr).toBe("error: timed out waiting for the condition on pods/nope\n");
  });

  test("waits for what files declare, below their directory too", async () => {
    mkdirSync(join(directory, "all/below"), { recursive: true });
    file("all/below/web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n");
    expect(await run(`wait -f ${directory}/all --for=condition=Ready`)).toBe(0);
    expect(terminal.stdout).toBe("pod/web condition met\n");
  });

  test("goes on over a restart of the agent", async () => {
    const done = run("wait pod/db --for=condition=Ready");
    await agent.followed;
    agent.dropConnections();
    await terminal.pass(1000);
    agent.pods = [pod("db")];
    expect(await done).toBe(0);
  });

  test("shows on a terminal what it waits for, and leaves no line behind", async () => {
    terminal.isErrTerminal = true;
    terminal.columns = 60;
    const done = run("wait pod/db --for=condition=Ready");
    await agent.followed;
    await terminal.pass(1000);
    await terminal.until(() => terminal.stderr !== "");
    expect(terminal.stderr).toBe(
      "\r\u001b[Kwaiting for pods/db: Ready is False (ContainersNotReady) (1 s)".slice(0, 63),
    );
    agent.pods = [pod("db")];
    expect(await done).toBe(0);
    expect(terminal.stderr).toEndWith("\r\u001b[K");
  });

  test.each([
    ["wait pod web", 'unrecognized condition: ""; --for takes delete, create'],
    ["wait pod web --for=Condition=Ready", 'unrecognized condition: "Condition=Ready"'],
    ["wait pod --for=delete", "resource(s) were provided, but no name was specified"],
    ["wait --for=delete", "You must provide one or more resources by argument or filename"],
    ["wait pod web -A --for=delete", "a resource cannot be retrieved by name across all"],
    ["wait pod web --all --for=delete", "name cannot be provided when a selector is specified"],
    ["wait pod/web -l a=b --for=delete", "selectors and the all flag cannot be used when"],
    ["wait pod web --for=jsonpath={.a}=", "jsonpath wait has to have a value after equal sign"],
    ["wait pod web --for=jsonpath={.a}{.b}", 'unexpected path string "{.a}{.b}"'],
    ["wait pod web --for=jsonpath==a", "jsonpath expression cannot be empty"],
    ["wait pod web --for=jsonpath={.a}=b=c", "jsonpath wait format must be --for=jsonpath="],
    ["wait cow web --for=delete", 'this node has no resource type "cow"'],
    ["wait pod web --for=delete --timeout soon", "option '--timeout <duration>' argument 'soon'"],
  ])("%s is exit code 2", async (command, sentence) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toStartWith(`Error: ${sentence}`);
  });
});
