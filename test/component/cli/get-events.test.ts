import { beforeEach, describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { anEvent } from "../../unit/cli/event-views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let agent: CliStage["agent"];
let run: CliStage["run"];
let terminal: CliStage["terminal"];

eachOnCliStage((stage) => {
  ({ agent, run, terminal } = stage);
});

const pulled = anEvent({ message: "pulled" });
const failed = anEvent({
  name: "db.19b.2",
  namespace: "shop",
  about: { kind: "Pod", name: "db" },
  type: "Warning",
  reason: "Failed",
  message: "no",
  lastTimestamp: "2026-01-01T00:11:59Z",
});

describe("get events", () => {
  beforeEach(() => {
    agent.events = [pulled, failed];
  });

  const tables: Readonly<Record<string, readonly [command: string, stdout: string]>> = {
    "shows the default namespace": [
      "get events",
      "LAST SEEN   TYPE     REASON   OBJECT    MESSAGE\n2m          Normal   Pulled   pod/web   pulled\n",
    ],
    "shows all namespaces, the latest last": [
      "get ev -A",
      [
        "NAMESPACE   LAST SEEN   TYPE      REASON   OBJECT    MESSAGE",
        "default     2m          Normal    Pulled   pod/web   pulled",
        "shop        1s          Warning   Failed   pod/db    no",
        "",
      ].join("\n"),
    ],
    "shows those of one object": ["get events -n shop --for pod/db -o name", "event/db.19b.2\n"],
    "takes back the names it prints": ["get event/web.19b.1 -o name", "event/web.19b.1\n"],
  };
  test.each(Object.entries(tables))("%s", async (_sentence, [command, stdout]) => {
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toBe(stdout);
    expect(terminal.stderr).toBe("");
  });

  test("prints a v1 List, or one of them, as JSON and YAML", async () => {
    expect(await run("get events -A -o json")).toBe(0);
    expect(JSON.parse(terminal.stdout)).toMatchObject({ kind: "List", items: [pulled, failed] });
    terminal.stdout = "";
    expect(await run("get events web.19b.1 -o yaml")).toBe(0);
    expect(parse(terminal.stdout)).toMatchObject(pulled);
  });

  test("lets no pod command the terminal", async () => {
    agent.events = [anEvent({ message: "\u001b[2Jgone" })];
    await run("get events");
    expect(terminal.stdout).toContain("\\u001b[2Jgone");
    expect(terminal.stdout).not.toContain("\u001b");
  });

  test("says that there is nothing", async () => {
    agent.events = [];
    expect(await run("get events --for pod/web")).toBe(0);
    expect(terminal.stderr).toBe("No resources found in default namespace.\n");
    terminal.stderr = "";
    expect(await run("get events -o json")).toBe(0);
    expect(terminal.stderr).toBe("");
  });

  test("fails for a name that is not there, and for an object that is none", async () => {
    expect(await run("get events nope")).toBe(1);
    expect(terminal.stderr).toBe('Error: events "nope" not found in namespace "default"\n');
    terminal.stderr = "";
    expect(await run("get events --for web")).toBe(2);
    expect(terminal.stderr).toBe("Error: --for web: it must be pod/NAME or node/NAME\n");
  });
});

describe("get events -w", () => {
  test("prints what is new or has come again, and ends at Ctrl-C", async () => {
    agent.events = [pulled];
    const done = run("get events -w");
    await terminal.until(() => terminal.stdout.includes("pulled"));
    const started = anEvent({ name: "web.19b.3", reason: "Started", message: "started" });
    agent.events = [pulled, started];
    await terminal.until(() => terminal.stdout.includes("started"));
    agent.events = [started, { ...pulled, count: 2 }];
    await terminal.until(() => terminal.stdout.includes("x2"));
    terminal.pressCtrlC();
    expect(await done).toBe(0);
    const lines = terminal.stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"));
    expect(lines).toEqual([
      "LAST SEEN|TYPE|REASON|OBJECT|MESSAGE",
      "2m|Normal|Pulled|pod/web|pulled",
      "2m|Normal|Started|pod/web|started",
      "2m (x2 over 2m)|Normal|Pulled|pod/web|pulled",
      "",
    ]);
  });
});
