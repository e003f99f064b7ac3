import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { aPod as aView } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

const POD = "/api/v1/namespaces/default/pods/web";

let agent: CliStage["agent"];
let directory: CliStage["directory"];
let run: CliStage["run"];
let file: CliStage["file"];
let terminal: CliStage["terminal"];
/** What the agent was asked for. */
let asked: string[];
/** The pods that a GET finds, one after the other; none of them = it is gone. */
let uids: (string | undefined)[];

eachOnCliStage((stage) => {
  ({ agent, directory, run, terminal, file } = stage);
  [asked, uids] = [[], []];
  answer(POD, () => aPod("1"));
});

function aPod(uid: string): Response {
  return Response.json({ kind: "Pod", metadata: { name: "web", uid } });
}

function aStatus(code: number, reason: string, message: string): Response {
  return Response.json(
    { kind: "Status", status: "Failure", reason, message, code },
    { status: code },
  );
}

function answer(path: string, response: () => Response): void {
  agent.answers.set(path, ({ method, url }) => {
    asked.push(`${method} ${new URL(url).pathname}${new URL(url).search}`);
    if (method === "DELETE") return response();
    const uid = uids.shift();
    return uid === undefined ? aStatus(404, "NotFound", "gone") : aPod(uid);
  });
}

/** The exit code after so many looks in vain. */
async function done(command: string, looks = uids.length): Promise<number> {
  const exit = run(command);
  for (let look = 0; look < looks; look += 1) await terminal.pass(200);
  return exit;
}

describe("delete pod", () => {
  test.each([
    ["delete pod web", "", "deleted"],
    ["delete pod/web", "", "deleted"],
    ["delete po web --grace-period 5", "?gracePeriodSeconds=5", "deleted"],
    ["delete pods web --now", "?gracePeriodSeconds=1", "deleted"],
    ["delete pod web --grace-period=-1", "", "deleted"],
    ["delete pod web --force", "?gracePeriodSeconds=0", "force deleted"],
    ["delete pod web --force --grace-period 0", "?gracePeriodSeconds=0", "force deleted"],
    ["delete pod web --wait=false", "", "deleted"],
    ["delete pod web --dry-run server", "?dryRun=All", "deleted (server dry run)"],
  ])("%s", async (command, query, words) => {
    expect(await done(command)).toBe(0);
    expect(asked[0]).toBe(`DELETE ${POD}${query}`);
    expect(terminal.stdout).toBe(`pod "web" ${words}\n`);
    expect(terminal.stderr).toBe("");
  });

  test("waits until the pod is gone", async () => {
    uids = ["1", "1"];
    expect(await done("delete pod web")).toBe(0);
    expect(asked).toEqual([`DELETE ${POD}`, `GET ${POD}`, `GET ${POD}`, `GET ${POD}`]);
  });

  test("waits no longer once another pod has the name", async () => {
    uids = ["1", "2"];
    expect(await done("delete pod web", 1)).toBe(0);
    expect(asked).toHaveLength(3);
  });

  test("gives up after --timeout", async () => {
    uids = Array.from({ length: 1000 }, () => "1");
    expect(await done("delete pod web --timeout 900ms", 5)).toBe(1);
    expect(terminal.stderr).toBe("error: timed out waiting for the condition on pods/web\n");
  });

  test("deletes what files declare, one after the other", async () => {
    const path = file(
      "a.yaml",
      "kind: Pod\nmetadata: {name: web}\n---\nkind: Pod\nmetadata: {name: db, namespace: shop}\n",
    );
    answer("/api/v1/namespaces/shop/pods/db", () => aPod("2"));
    expect(await done(`delete -f ${path} --wait=false`)).toBe(0);
    expect(asked).toEqual([`DELETE ${POD}`, "DELETE /api/v1/namespaces/shop/pods/db"]);
  });

  test.each([
    [
      "that another file declares",
      409,
      "Conflict",
      'pods "web" is declared by /m/web.yaml: remove it',
    ],
    ["that is not there", 404, "NotFound", 'pods "web" not found'],
  ])("%s is exit code 1 and the agent's own sentence", async (_case, status, reason, sentence) => {
    answer(POD, () => aStatus(status, reason, sentence));
    expect(await run("delete pod web --now")).toBe(1);
    expect(terminal.stderr).toBe(`Error from server (${reason}): ${sentence}\n`);
    expect(terminal.stdout).toBe("");
  });

  test("that is not there is no error with --ignore-not-found", async () => {
    answer(POD, () => aStatus(404, "NotFound", "gone"));
    expect(await run("delete pod web --ignore-not-found")).toBe(0);
    expect([terminal.stdout, terminal.stderr]).toEqual(["", ""]);
  });

  test("prints what the agent warns of", async () => {
    answer(POD, () => {
      const headers = { warning: String.raw`299 - "its file is \"removed\"", 299 - "b"` };
      return Response.json({ metadata: { uid: "1" } }, { headers });
    });
    expect(await done("delete pod web")).toBe(0);
    expect(terminal.stderr).toBe('Warning: its file is "removed"\nWarning: b\n');
  });

  describe("that selectors, files and several names choose", () => {
    const deleted = (path: string): string => `DELETE /api/v1/namespaces/${path}`;
    const [WEB, DB, CONF] = ["default/pods/web", "shop/pods/db", "default/configmaps/conf"].map(
      deleted,
    );

    beforeEach(() => {
      agent.pods = [
        aView({ name: "web", metadata: { labels: { app: "web" } } }),
        aView({ name: "db", metadata: { namespace: "shop" } }),
      ];
      for (const path of ["namespaces/shop/pods/db", "namespaces/default/configmaps/conf"])
        answer(`/api/v1/${path}`, () => aPod("2"));
    });

    test.each([
      ["pod -l app=web", [WEB]],
      ["pods --all", [WEB]],
      ["all --all -A", [WEB, DB]],
      ["pods,cm --field-selector metadata.name=db -n shop", [DB]],
      ["pod/web cm/conf", [WEB, CONF]],
      ["pod web db", [WEB, deleted("default/pods/db")]],
      ["-f FILES", [CONF]],
      ["-R -f FILES", [DB, CONF]],
    ])("delete %s", async (words, expected) => {
      answer("/api/v1/namespaces/default/pods/db", () => aPod("3"));
      mkdirSync(join(directory, "files/below"), { recursive: true });
      file("files/conf.yaml", "kind: ConfigMap\nmetadata: {name: conf}\n");
      file("files/below/db.yaml", "kind: Pod\nmetadata: {name: db, namespace: shop}\n");
      const command = `delete ${words.replace("FILES", `${directory}/files`)} -o name`;
      expect(await done(command)).toBe(0);
      expect(asked.filter((one) => one.startsWith("DELETE"))).toEqual(expected as string[]);
      expect(terminal.stdout).toBe(
        expected
          .map(
            (one) =>
              `${one?.includes("pods") === true ? "pod" : "configmap"}/${one?.split("/").at(-1)}\n`,
          )
          .join(""),
      );
    });

    test("none is no error", async () => {
      expect(await run("delete pod -l app=none")).toBe(0);
      expect(terminal.stdout).toBe("No resources found\n");
    });

    test("one that is gone meanwhile is no error", async () => {
      answer(POD, () => aStatus(404, "NotFound", "gone"));
      expect(await run("delete pod --all")).toBe(0);
      expect([terminal.stdout, terminal.stderr]).toEqual(["", ""]);
    });

    test("shows on a terminal what it waits for", async () => {
      terminal.isErrTerminal = true;
      uids = Array.from({ length: 8 }, () => "1");
      const exit = run("delete pod web");
      const passed = (): Promise<boolean> => terminal.pass(200).then(() => false);
      while (!(await Promise.race([exit.then(() => true), passed()])));
      expect(await exit).toBe(0);
      expect(terminal.stderr).toStartWith("\r\u001b[Kwaiting until pod/web is gone (1 s)");
      expect(terminal.stderr).toEndWith(" s)\r\u001b[K");
    });
  });

  test.each([
    ["no name", "delete pod --now", "resource(s) were provided, but no name was specified"],
    ["a negative time", "delete pod web --grace-period=-2", "--grace-period must be a whole"],
    ["a time with a unit", "delete pod web --grace-period 5s", "--grace-period must be a whole"],
    ["--now and a time", "delete pod web --now --grace-period 1", "--now and --grace-period"],
    ["--now and --force", "delete pod web --now --force", "--now and --force"],
    ["--force and a time", "delete pod web --force --grace-period 1", "--force and --grace-period"],
    ["another kind", "delete node web --now", '"node" is nothing that can be deleted here'],
    ["a name and --all", "delete pod web --all", "name cannot be provided when a selector"],
    ["KIND/NAME and -l", "delete pod/web -l a=b", "selectors and the all flag cannot be used"],
    ["-l and --all", "delete pod -l a=b --all", "setting 'all' parameter but found a non empty"],
    ["a name and -A", "delete pod web -A", "a resource cannot be retrieved by name across all"],
    ["KIND/", "delete pod/web pod/", "pod/: write it as KIND/NAME"],
    ["--data of a pod", "delete pod web --data", "--data is for claims"],
    ["an unclear --wait", "delete pod web --wait=maybe", "--wait must be true or false"],
  ])("with %s is exit code 2 and asks nobody", async (_case, command, sentence) => {
    expect(await run(command)).toBe(2);
    expect(terminal.stderr).toStartWith(`Error: ${sentence}`);
    expect(asked).toEqual([]);
  });
});
