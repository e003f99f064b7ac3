import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

const CONFIG = "/api/v1/namespaces/default/configmaps/conf";

let agent: CliStage["agent"];
let run: CliStage["run"];
let file: CliStage["file"];
let terminal: CliStage["terminal"];
/** What the agent was asked for, and with which body. */
let asked: (readonly [string, unknown])[];
/** What the agent has; undefined = nothing. */
let live: object | undefined;

eachOnCliStage((stage) => {
  ({ agent, run, terminal, file } = stage);
  [asked, live] = [[], undefined];
  answer(CONFIG, ({ body }) => Response.json(body));
});

function answer(path: string, patched: (request: { readonly body: unknown }) => Response): void {
  agent.answers.set(path, async (request) => {
    const { method, url } = request;
    const body: unknown = method === "PATCH" ? await request.json() : undefined;
    asked.push([`${method} ${new URL(url).pathname}${new URL(url).search}`, body]);
    if (method === "PATCH") return patched({ body });
    return live === undefined ? refused(404, { reason: "NotFound" }) : Response.json(live);
  });
}

function refused(status: number, more: object): Response {
  return Response.json({ kind: "Status", status: "Failure", ...more }, { status });
}

const conf = (data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "conf" },
  data,
});
const written = (object: object): string => file("conf.yaml", JSON.stringify(object));

describe("apply", () => {
  test("sends each object as it is written, and says what it did", async () => {
    expect(await run(`apply -f ${written(conf({ a: "1" }))}`)).toBe(0);
    const query = "fieldManager=kubectl&fieldValidation=Strict&force=false";
    expect(asked).toEqual([[`PATCH ${CONFIG}?${query}`, conf({ a: "1" })]]);
    expect(terminal.stdout).toBe("configmap/conf serverside-applied\n");
  });

  test.each([
    ["--force-conflicts", "fieldManager=kubectl&fieldValidation=Strict&force=true"],
    ["--validate warn", "fieldManager=kubectl&fieldValidation=Warn&force=false"],
    ["--field-manager me", "fieldManager=me&fieldValidation=Strict&force=false"],
  ])("%s", async (flag, query) => {
    expect(await run(`apply -f ${written(conf({}))} ${flag}`)).toBe(0);
    expect(asked[0]?.[0]).toBe(`PATCH ${CONFIG}?${query}`);
  });

  test("of a dry run says so", async () => {
    expect(await run(`apply -f ${written(conf({}))} --dry-run server`)).toBe(0);
    expect(asked[0]?.[0]).toEndWith("&dryRun=All");
    expect(terminal.stdout).toBe("configmap/conf serverside-applied (server dry run)\n");
  });

  test("of a refused object prints each field, goes on with the others, and is exit code 1", async () => {
    const path = file(
      "two.yaml",
      "kind: List\nitems:\n- kind: Pod\n  metadata: {name: web}\n- kind: ConfigMap\n  metadata: {name: conf}\n",
    );
    answer("/api/v1/namespaces/default/pods/web", () => {
      const causes = [
        { field: "spec", message: "Required value" },
        { field: "spec.x", message: "unknown field" },
      ];
      return refused(422, { reason: "Invalid", details: { kind: "Pod", name: "web", causes } });
    });
    expect(await run(`apply -f ${path}`)).toBe(1);
    expect(terminal.stderr).toBe(
      'The Pod "web" is invalid: \n* spec: Required value\n* spec.x: unknown field\n',
    );
    expect(terminal.stdout).toBe("configmap/conf serverside-applied\n");
  });

  test.each([
    ["no file", () => "apply", "must specify -f FILE"],
    [
      "a kind that is no object here",
      () => `apply -f ${written({ kind: "Deployment", metadata: { name: "d" } })}`,
      "",
    ],
    ["an object without a name", () => `apply -f ${written({ kind: "Pod" })}`, ""],
    [
      "another namespace than the object's",
      () => `apply -n b -f ${written({ kind: "Pod", metadata: { name: "w", namespace: "a" } })}`,
      'the namespace from the provided object "a" does not match the namespace "b"',
    ],
  ])("with %s is exit code 2 and asks nobody", async (_case, command, sentence) => {
    expect(await run(command())).toBe(2);
    expect(terminal.stderr).toStartWith(`Error: ${sentence}`);
    expect(asked).toEqual([]);
  });
});

describe("diff", () => {
  const merged = (data: object) => ({ ...conf(data), status: { phase: "x" } });

  test("of equal objects prints nothing and is exit code 0", async () => {
    live = merged({ a: "1" });
    expect(await run(`diff -f ${written(conf({ a: "1" }))}`)).toBe(0);
    expect([terminal.stdout, terminal.stderr]).toEqual(["", ""]);
    expect(asked.at(-1)?.[0]).toEndWith("force=true&dryRun=All");
  });

  test("of a changed object prints the lines and is exit code 1", async () => {
    live = merged({ a: "1", b: "2" });
    expect(await run(`diff -f ${written(conf({ a: "3", b: "2" }))}`)).toBe(1);
    expect(terminal.stdout).toBe(
      [
        "--- LIVE/v1.ConfigMap.default.conf",
        "+++ MERGED/v1.ConfigMap.default.conf",
        "@@ -1,6 +1,6 @@",
        " apiVersion: v1",
        " data:",
        '-  a: "1"',
        '+  a: "3"',
        '   b: "2"',
        " kind: ConfigMap",
        " metadata:",
        "",
      ].join("\n"),
    );
  });

  test("of an object that is not there prints all of it", async () => {
    expect(await run(`diff -f ${written(conf({ a: "1" }))}`)).toBe(1);
    expect(terminal.stdout).toContain("@@ -0,0 +1,6 @@\n+apiVersion: v1\n");
  });

  test("of a Secret shows no value", async () => {
    const secret = (data: object) => ({ ...conf(data), kind: "Secret" });
    live = secret({ same: "c2FtZQ==", other: "b2xk" });
    answer("/api/v1/namespaces/default/secrets/conf", ({ body }) => Response.json(body));
    expect(await run(`diff -f ${written(secret({ same: "c2FtZQ==", other: "bmV3" }))}`)).toBe(1);
    expect(terminal.stdout).toContain('-  other: "*** (before)"\n+  other: "*** (after)"\n');
    expect(terminal.stdout).not.toMatch(/c2FtZQ|b2xk|bmV3/);
  });

  test("of a refused object is exit code 2", async () => {
    answer(CONFIG, () =>
      refused(409, { reason: "AlreadyExists", message: "declared by /m/a.yaml" }),
    );
    expect(await run(`diff -f ${written(conf({}))}`)).toBe(2);
    expect(terminal.stderr).toBe("Error from server (AlreadyExists): declared by /m/a.yaml\n");
  });
});

test("-R applies and compares what lies below a directory too", async () => {
  const path = file("all-conf.yaml", "");
  const all = join(path, "../all/below");
  mkdirSync(all, { recursive: true });
  writeFileSync(join(all, "conf.yaml"), JSON.stringify(conf({ a: "1" })));
  expect(await run(`apply -f ${dirname(all)}`)).toBe(2);
  expect(terminal.stderr).toContain("no objects in");
  expect(await run(`apply -R -f ${dirname(all)}`)).toBe(0);
  expect(terminal.stdout).toBe("configmap/conf serverside-applied\n");
  expect(await run(`diff --recursive -f ${dirname(all)}`)).toBe(1);
  expect(terminal.stdout).toContain("+++ MERGED/v1.ConfigMap.default.conf\n");
});
