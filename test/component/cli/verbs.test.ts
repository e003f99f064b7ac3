import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { AgentModule } from "../../../src/cli/define-verb.ts";
import { parse } from "yaml";
import type { ObjectView } from "../../../src/node/api-views.ts";
import { aNode, aPod, aStatus } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let agent: CliStage["agent"];
let directory: CliStage["directory"];
let file: CliStage["file"];
let run: CliStage["run"];
let terminal: CliStage["terminal"];

eachOnCliStage((stage) => {
  ({ agent, directory, file, run, terminal } = stage);
});

const web = aPod({ name: "web", metadata: { labels: { app: "web" } } });
const db = aPod({ name: "db", metadata: { namespace: "shop", labels: { app: "db" } } });
const refusal = {
  source: "file",
  ref: "/m/bad.yaml",
  code: "UnknownField",
  path: "spec.x",
  message: "unknown field",
  line: 3,
} as const;

/** As the API shows an object: with its version. */
function shown<T extends ObjectView>(object: T): object {
  const resourceVersion = expect.any(String) as string;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

describe("get pods", () => {
  beforeEach(() => {
    agent.pods = [web, db];
  });

  const tables: Readonly<Record<string, readonly [command: string, stdout: string]>> = {
    "shows the default namespace": [
      "get pods",
      "NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          12m\n",
    ],
    "shows another namespace": [
      "get po -n shop",
      "NAME   READY   STATUS    RESTARTS   AGE\ndb     1/1     Running   0          12m\n",
    ],
    "shows all namespaces, sorted": [
      "get pods -A",
      "NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE\ndefault     web    1/1     Running   0          12m\nshop        db     1/1     Running   0          12m\n",
    ],
    "shows what a selector picks": ["get pods -A -l app!=web -o name", "pod/db\n"],
    "takes back the names it prints": ["get pod/web -o name", "pod/web\n"],
  };
  test.each(Object.entries(tables))("%s", async (_sentence, [command, stdout]) => {
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toBe(stdout);
    expect(terminal.stderr).toBe("");
  });

  test("prints a v1 List with -o json", async () => {
    expect(await run("get pods -o json")).toBe(0);
    expect(JSON.parse(terminal.stdout)).toEqual({
      apiVersion: "v1",
      kind: "List",
      metadata: {},
      items: [shown(web)],
    });
  });

  test("prints the pod itself for one name", async () => {
    expect(await run("get pods web -o json")).toBe(0);
    expect(JSON.parse(terminal.stdout)).toEqual(shown(web));
  });

  test("prints the same as YAML", async () => {
    expect(await run("get pods -n shop db -o yaml")).toBe(0);
    expect(parse(terminal.stdout)).toEqual(shown(db));
  });

  test("escapes control characters in JSON on a terminal only", async () => {
    agent.pods = [aPod({ metadata: { annotations: { note: "\u009b2J" } } })];
    await run("get pods -o json");
    expect(terminal.stdout).toContain("\\u009b2J");
    expect(JSON.parse(terminal.stdout)).toMatchObject({ items: agent.pods });
    terminal.stdout = "";
    terminal.isTerminal = false;
    await run("get pods -o json");
    expect(terminal.stdout).toContain("\u009b2J");
  });

  test("says refused manifests under the table and still succeeds", async () => {
    agent.rejected = [refusal];
    expect(await run("get pods")).toBe(0);
    expect(terminal.stderr).toBe("/m/bad.yaml:3: spec.x: unknown field\n");
  });

  test("keeps them out of what scripts read", async () => {
    agent.rejected = [refusal];
    expect(await run("get pods -o json")).toBe(0);
    expect(terminal.stderr).toBe("");
  });

  test("fails for a name that is not there, and says where it may have gone", async () => {
    agent.rejected = [refusal, { ...refusal, ref: "/m/other.yaml", name: "other" }];
    expect(await run("get pods nope")).toBe(1);
    expect(terminal.stderr).toBe(
      'Error: pods "nope" not found in namespace "default"; these were refused and may be it:\n  /m/bad.yaml:3: spec.x: unknown field\n',
    );
    expect(terminal.stdout).toBe("");
  });

  test("does not find a pod of another namespace", async () => {
    expect(await run("get pods db")).toBe(1);
    expect(terminal.stderr).toBe('Error: pods "db" not found in namespace "default"\n');
  });

  test("says that there is nothing, and where there is more", async () => {
    expect(await run("get pods -n empty")).toBe(0);
    expect(terminal.stderr).toBe(
      "No resources found in empty namespace. The node has 2 more; -A shows all namespaces.\n",
    );
    agent.pods = [];
    terminal.stderr = "";
    expect(await run("get pods -A")).toBe(0);
    expect(terminal.stderr).toBe("No resources found\n");
  });
});

describe("get pods -w", () => {
  test("prints a row when it has changed, and ends at Ctrl-C", async () => {
    agent.pods = [web];
    const done = run("get pods -w");
    await terminal.until(() => terminal.stdout.includes("web"));
    agent.pods = [web, aPod({ name: "api", status: { phase: "Pending", containerStatuses: [] } })];
    await terminal.until(() => terminal.stdout.includes("api"));
    agent.pods = [aPod({ status: { containerStatuses: [aStatus("a", { ready: false })] } })];
    await terminal.until(() => terminal.stdout.includes("Gone"));
    terminal.pressCtrlC();
    expect(await done).toBe(0);
    const [head, first, second, ...last] = terminal.stdout.split("\n");
    expect([head, first, second]).toEqual([
      "NAME   READY   STATUS    RESTARTS   AGE",
      "web    1/1     Running   0          12m",
      "api    0/1     Pending   0          12m",
    ]);
    expect(last.toSorted()).toEqual([
      "",
      "api    0/1     Gone      0          12m",
      "web    0/1     Running   0          12m",
    ]);
  });

  test("prints nothing of a change that no column shows", async () => {
    agent.pods = [web];
    const done = run("get pods -w");
    await terminal.until(() => terminal.stdout.includes("web"));
    agent.pods = [aPod({ name: "web", metadata: { annotations: { note: "new" } } })];
    agent.pods = [...agent.pods, aPod({ name: "api" })];
    await terminal.until(() => terminal.stdout.includes("api"));
    terminal.pressCtrlC();
    await done;
    expect(terminal.stdout.match(/web/g)).toHaveLength(1);
  });

  test("says a refusal once, when it comes", async () => {
    agent.pods = [web];
    const done = run("get pods -w");
    await terminal.until(() => terminal.stdout.includes("web"));
    agent.rejected = [refusal];
    agent.pods = [web, aPod({ name: "api" })];
    await terminal.until(() => terminal.stderr !== "");
    agent.pods = [web, aPod({ name: "api" }), aPod({ name: "more" })];
    await terminal.until(() => terminal.stdout.includes("more"));
    terminal.pressCtrlC();
    await done;
    expect(terminal.stderr).toBe("/m/bad.yaml:3: spec.x: unknown field\n");
  });

  test("outlives a restart of the agent and says so once", async () => {
    agent.pods = [web];
    const done = run("get pods -w -o name");
    await terminal.until(() => terminal.stdout.includes("web"));
    await agent.followed;
    const path = "/api/v1/namespaces/default/pods";
    let refused = 0;
    agent.answers.set(path, () => {
      refused += 1;
      return new Response("restarting", { status: 503 });
    });
    agent.dropConnections();
    for (const round of [1, 2]) {
      await terminal.pass(1000);
      await terminal.until(() => refused === round);
    }
    agent.answers.clear();
    agent.pods = [web, aPod({ name: "api" })];
    await terminal.pass(1000);
    await terminal.until(() => terminal.stdout.includes("api"));
    terminal.pressCtrlC();
    expect(await done).toBe(0);
    expect(terminal.stdout).toBe("pod/web\npod/api\n");
    expect(terminal.stderr.match(/; waiting for it\n/g)).toHaveLength(1);
  });

  test("--watch-only prints what comes, and not what there is", async () => {
    agent.pods = [web];
    const done = run("get pods --watch-only --no-headers");
    await agent.followed;
    agent.pods = [web, aPod({ name: "api" })];
    await terminal.until(() => terminal.stdout !== "");
    terminal.pressCtrlC();
    await done;
    expect(terminal.stdout).toBe("api   1/1   Running   0     12m\n");
  });
});

describe("get node", () => {
  test.each([
    [
      "get node",
      "NAME   STATUS   ROLES    AGE   VERSION\npi-1   Ready    <none>   12m   agent 0.1.0\n",
    ],
    ["get nodes -o name", "node/pi-1\n"],
  ])("%s", async (command, stdout) => {
    agent.node = aNode();
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toBe(stdout);
  });

  test("get node NAME -o json is the node", async () => {
    agent.node = aNode();
    const { name } = aNode().metadata;
    expect(await run(`get node ${name} -o json`)).toBe(0);
    expect(JSON.parse(terminal.stdout)).toEqual(shown(aNode()));
  });

  test("get nodes -o json is a List, as of any kind", async () => {
    agent.node = aNode();
    expect(await run("get nodes -o json")).toBe(0);
    expect(JSON.parse(terminal.stdout)).toMatchObject({ kind: "List", items: [shown(aNode())] });
  });
});

describe("an agent that cannot be asked", () => {
  test("is not there: the sentence names the socket and says how to start it", async () => {
    expect(await run(`get pods --socket ${directory}/none.sock`)).toBe(1);
    expect(terminal.stderr).toBe(
      `Error: no agent is listening on ${directory}/none.sock: start it (sudo agent run), or name its socket with --socket or AGENT_SOCKET\n`,
    );
  });

  test("left a dead socket behind: the same", async () => {
    expect(await run(`get pods --socket ${file("dead.sock", "")}`)).toBe(1);
    expect(terminal.stderr).toStartWith("Error: no agent is listening on");
  });

  test("hangs: the command gives up after its own deadline", async () => {
    agent.answers.set("/api/v1/namespaces/default/pods", () => new Promise<Response>(() => {}));
    const done = run("get pods");
    await terminal.pass(10_000);
    expect(await done).toBe(1);
    expect(terminal.stderr).toBe(
      `Error: the agent did not answer on ${agent.socket} within 10 s; see its log (journalctl -u agent)\n`,
    );
  });

  test.each([
    ["nonsense", () => new Response("<html>")],
    ["something else", () => Response.json({ items: [{ metadata: {} }] })],
  ])("says %s: that is no answer", async (_case, answer) => {
    agent.answers.set("/api/v1/namespaces/default/pods", answer);
    expect(await run("get pods")).toBe(1);
    expect(terminal.stderr).toContain("in an unknown form");
  });
});

describe("usage", () => {
  test.each([
    ["an unknown verb", "gett", "Error: unknown command 'gett'"],
    ["an unknown flag", "get pods --bogus", "Error: unknown option '--bogus'"],
    [
      "an unknown format",
      "get pods -o xml",
      'Error: unknown output format "xml"; it must be json, yaml, name, wide',
    ],
    ["a name and -A", "get pods web -A", "Error: a name and --all-namespaces exclude each other"],
    ["a name and -l", "get pods web -l a=b", "Error: a name and a selector exclude each other"],
    ["no verb at all", "", "Usage: agent"],
    ["validate without files", "validate", "Error: name a file, a directory, or - for standard"],
    ["no kind", "get", "Error: name a kind of object: configmaps, events,"],
    [
      "an unknown kind",
      "get podss",
      'Error: this node has no resource type "podss" (did you mean pods?)',
    ],
    ["a kind and KIND/NAME", "get pods pod/web", "Error: pod/web: a kind and names exclude"],
  ])("%s is exit code 2", async (_sentence, command, stderr) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toStartWith(stderr);
    expect(terminal.stdout).toBe("");
  });

  test.each(["--help", "help", "help get pods", "get pods --help", "run --help"])(
    "%s is help, exit code 0",
    async (command) => {
      expect(await run(command)).toBe(0);
      expect(terminal.stdout).toStartWith("Usage: agent");
      expect(terminal.stdout).toContain("--socket <path>");
    },
  );
});

describe("version", () => {
  test.each(["version", "--version"])("%s says this binary's and asks nobody", async (command) => {
    agent.answers.set("/version", () => new Response("", { status: 500 }));
    expect(await run(command)).toBe(0);
    expect(terminal.stdout).toBe("agent 1.2.3\n");
  });

  test("also says the running agent's when a socket is named", async () => {
    expect(await run(`version --socket ${agent.socket}`)).toBe(0);
    expect(terminal.stdout).toBe("agent 1.2.3\nrunning: agent 9.9.9\n");
  });
});

describe("the configuration", () => {
  beforeEach(() => {
    terminal.environment = {};
    agent.pods = [web];
  });

  test("names the socket", async () => {
    const config = file("agent.yaml", `socket: ${agent.socket}\n`);
    expect(await run(`get pods -o name --config ${config}`)).toBe(0);
    expect(terminal.stdout).toBe("pod/web\n");
  });

  test("may be named by the environment, before the verb, and as JSON", async () => {
    const config = file("agent.json", JSON.stringify({ socket: agent.socket }));
    terminal.environment = { AGENT_CONFIG: config };
    expect(await run("get pods -o name")).toBe(0);
    terminal.environment = { AGENT_CONFIG: "/nowhere" };
    expect(await run(`--config ${config} get pods -o name`)).toBe(0);
    expect(terminal.stdout).toBe("pod/web\npod/web\n");
  });

  test("is not read when the socket is named", async () => {
    const config = file("agent.yaml", "bogus: 1\n");
    expect(await run(`get pods -o name --config ${config} --socket ${agent.socket}`)).toBe(0);
  });

  test("that is invalid is exit code 2, with file, line and field", async () => {
    const config = file("agent.yaml", "instance: a\nmqtt:\n  urll: x\n  allowCommands: 5\n");
    expect(await run(`get pods --config ${config}`)).toBe(2);
    expect(terminal.stderr).toBe(
      [
        "Error: the configuration is invalid:",
        `  ${config}:3:3: mqtt.urll: unknown field (did you mean url?)`,
        `  ${config}:4:3: mqtt.allowCommands: Invalid value: 5: must be a list`,
        "",
      ].join("\n"),
    );
  });

  test.each([
    ["is missing", undefined, "there is no such file"],
    ["is broken YAML", "a: [\n", "the configuration is invalid"],
    ["is several documents", "maxPods: 1\n---\nmaxPods: 2\n", "contains several documents"],
  ])("that %s is exit code 2", async (_case, text, stderr) => {
    const config = text === undefined ? join(directory, "none") : file("agent.yaml", text);
    expect(await run(`run --config ${config}`)).toBe(2);
    expect(terminal.stderr).toContain(stderr);
  });
});

describe("run", () => {
  test("hands the configuration to the agent and returns its exit code", async () => {
    const config = file("agent.yaml", "# all defaults but one\nmaxPods: 7\n");
    const seen: unknown[] = [];
    const load = (): Promise<AgentModule> =>
      Promise.resolve({
        runAgent: (options) => {
          seen.push(options.version, options.config.maxPods, options.config.socket);
          return Promise.resolve(1);
        },
      });
    expect(await run(`run --config ${config} --socket /tmp/x.sock`, load)).toBe(1);
    expect(seen).toEqual(["1.2.3", 7, "/tmp/x.sock"]);
  });

  test("says why the agent could not start", async () => {
    const failing = () => Promise.reject(new Error("another agent uses /var/lib/agent"));
    const config = file("agent.yaml", "");
    expect(await run(`run --config ${config}`, () => Promise.resolve({ runAgent: failing }))).toBe(
      1,
    );
    expect(terminal.stderr).toBe("Error: another agent uses /var/lib/agent\n");
  });
});

describe("validate", () => {
  const good =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: busybox}]}\n";
  const bad = good.replace("image: busybox", "imagee: busybox, image: b");

  test("counts what is valid", async () => {
    expect(await run(`validate -f ${file("a.yaml", good)}`)).toBe(0);
    expect(terminal.stdout).toBe("1 document valid\n");
    expect(terminal.stderr).toBe("");
  });

  test("notes what a pod waits for, and is content", async () => {
    const path = file(
      "a.yaml",
      good.replace("spec: {", "spec: {volumes: [{name: v, configMap: {name: c}}], "),
    );
    expect(await run(`validate -f ${path}`)).toBe(0);
    expect(terminal.stdout).toBe("1 document valid\n");
    expect(terminal.stderr).toBe(
      `${path}:3: note: spec.volumes[0].configMap: ConfigMap default/c is in none of these files; the pod waits until the node has it\n`,
    );
  });

  test("names file, line, column and field of what is not", async () => {
    const path = file("a.yaml", bad);
    expect(await run(`validate -f ${path}`)).toBe(2);
    expect(terminal.stderr).toBe(
      `${path}:4:31: spec.containers[0].imagee: unknown field (did you mean image?)\n`,
    );
    expect(terminal.stdout).toBe("0 documents valid, 1 invalid\n");
  });

  test("reads standard input", async () => {
    terminal.input = bad;
    expect(await run("validate -f -")).toBe(2);
    expect(terminal.stderr).toStartWith("stdin:4:31: ");
  });

  test("reads of a directory what the agent would read, and goes on after a bad file", async () => {
    const manifests = join(directory, "manifests");
    mkdirSync(join(manifests, "folder.yaml"), { recursive: true });
    for (const name of ["a.yaml.bak", ".a.yaml", "a.txt"]) file(`manifests/${name}`, bad);
    file("manifests/a.yaml", good);
    file("manifests/b.yml", good.replace("web", "b"));
    file("manifests/c.json", "\u0000");
    Bun.spawnSync(["mkfifo", join(manifests, "d.yaml")]);
    expect(await run(`validate -f ${manifests}`)).toBe(2);
    expect(terminal.stdout).toBe("2 documents valid, 2 invalid\n");
    expect(terminal.stderr.split("\n").map((line) => line.replace(`${manifests}/`, ""))).toEqual([
      "c.json:1:1: the file holds binary data",
      "d.yaml: cannot read it: it is not a regular file",
      "",
    ]);
  });

  test("takes several files as one directory", async () => {
    const [a, b] = [file("a.yaml", good), file("b.yaml", good)];
    expect(await run(`validate -f ${a} -f ${b}`)).toBe(2);
    expect(terminal.stderr).toBe(
      `${b}:3: metadata.name: pod default/web is also in ${a}:3, which wins\n`,
    );
  });

  test("prints warnings without failing, and fails with --strict", async () => {
    const path = file("a.yaml", `${good.trimEnd().slice(0, -1)}, readinessGates: [{}]}\n`);
    expect(await run(`validate -f ${path}`)).toBe(0);
    expect(terminal.stderr).toContain(": warning: spec.readinessGates: ");
    expect(await run(`validate --strict -f ${path}`)).toBe(1);
  });

  test("takes files without -f, beside those with it", async () => {
    const [a, b] = [file("a.yaml", good), file("b.yaml", good.replace("web", "b"))];
    expect(await run(`validate ${a}`)).toBe(0);
    expect(await run(`validate --strict ${a} -f ${b}`)).toBe(0);
    expect(terminal.stdout).toBe("1 document valid\n2 documents valid\n");
    expect(await run(`validate ${file("c.yaml", bad)}`)).toBe(2);
  });

  test("a Service beside a pod is a warning with the way out", async () => {
    const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    const path = file("a.yaml", `${good}---\n${service}`);
    expect(await run(`validate ${path}`)).toBe(0);
    expect(terminal.stdout).toBe("1 document valid, 1 ignored\n");
    expect(terminal.stderr).toBe(
      `${path}:7:1: warning: kind: kind "Service" does not run on this node and is skipped; use hostPort in the ports of the container, or hostNetwork\n`,
    );
    expect(await run(`validate ${file("b.yaml", service)}`)).toBe(0);
    expect(terminal.stdout).toEndWith("\n0 documents valid, 1 ignored\n");
    expect(await run(`validate --strict ${path}`)).toBe(1);
  });

  test("a file of comments is an error with the way out", async () => {
    const path = file("a.yaml", "# gone?\n");
    expect(await run(`validate ${path}`)).toBe(2);
    expect(terminal.stderr).toBe(
      `${path}:1:1: holds no object, only comments or blanks; pods that it declared before keep running: delete the file to stop them\n`,
    );
  });

  test("fails for a path that is not there", async () => {
    expect(await run(`validate -f ${directory}/none`)).toBe(2);
    expect(terminal.stderr).toBe(`Error: cannot read ${directory}/none: there is no such file\n`);
  });
});

describe("the process itself", () => {
  const main = join(import.meta.dir, "../../../src/main.ts");
  const spawn = async (...argv: readonly string[]) => {
    const child = Bun.spawn([process.execPath, main, ...argv], {
      env: { PATH: process.env["PATH"] ?? "" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  };

  test("asks the socket and prints the whole of a long answer into a pipe", async () => {
    agent.pods = Array.from({ length: 2000 }, (_, n) => aPod({ name: `pod-${n}` }));
    const { code, stdout, stderr } = await spawn(
      "get",
      "pods",
      "-o",
      "json",
      "--socket",
      agent.socket,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ kind: "List" });
  });

  test("answers the version, and fails with 1 or 2", async () => {
    const answers = await Promise.all([
      spawn("version"),
      spawn("get", "pods", "--socket", join(directory, "none")),
      spawn("bogus"),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([0, 1, 2]);
    expect(answers[0]?.stdout).toMatch(/^agent \d+\.\d+\.\d+\n$/);
  });
});
