// Long work shows on a terminal that it goes on, and what for; elsewhere it prints what it always prints.

import { describe, expect, test } from "bun:test";
import { aPod } from "../../unit/cli/views.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

let stage: CliStage;

eachOnCliStage((made) => {
  stage = made;
});

const CLEAR = "\r\u001b[K";
const CONFIG = "/api/v1/namespaces/default/configmaps/conf";

describe.each([
  [
    "restart web",
    "/pods/default/web/restart",
    () => Response.json({ containers: [] }),
    "waiting until the containers of pod/web run again",
  ],
  ["images rm a", "/images", () => Response.json({ items: [] }), "removing a"],
  ["images prune", "/images/prune", () => Response.json({ items: [] }), "removing images"],
  ["apply conf.yaml", CONFIG, () => Response.json({}), "applying configmap/conf"],
  [
    "kubeconfig",
    "/kubeconfig",
    () => Response.json({ config: {}, notes: [] }),
    "the agent makes keys",
  ],
])("%s", (command, path, answer, text) => {
  async function runSlowly(): Promise<CliStage["terminal"]> {
    const { agent, terminal, run, file } = stage;
    agent.pods = [aPod({ name: "web" })];
    const conf = file("conf.yaml", "kind: ConfigMap\nmetadata: {name: conf}\n");
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    agent.answers.set(path, async () => {
      begun.resolve();
      await ended.promise;
      return answer();
    });
    const exit = run(command.replace("conf.yaml", conf));
    await begun.promise;
    if (terminal.isErrTerminal) {
      for (const _ of [1, 2]) await terminal.pass(1000);
      await terminal.until(() => terminal.stderr.includes("(2 s)"));
    }
    ended.resolve();
    expect(await exit).toBe(0);
    return terminal;
  }

  test("shows it on a terminal", async () => {
    stage.terminal.isErrTerminal = true;
    const terminal = await runSlowly();
    const { stderr } = terminal;
    expect(stderr).toStartWith(`${CLEAR}${text} (1 s)`);
    expect(stderr).toEndWith(CLEAR);
    // The end of the work is the end of its line.
    await terminal.pass(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(terminal.stderr).toBe(stderr);
  });

  test("shows nothing elsewhere", async () => {
    expect((await runSlowly()).stderr).toBe("");
  });
});
