// `agent provision`, and what `agent run` does before it reads its configuration.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { AgentModule } from "../../../src/cli/define-verb.ts";
import { lockStateDir } from "../../../src/host/agent-lock.ts";
import { writeTree } from "../host/temporary-directories.ts";
import { eachOnCliStage, type CliStage } from "./cli-stage.ts";

type Started = Parameters<AgentModule["runAgent"]>[0];

let stage: CliStage;
let card: string;
let node: string;
eachOnCliStage((one) => {
  stage = one;
  card = join(stage.directory, "card");
  node = join(stage.directory, "node");
  mkdirSync(node);
  stage.terminal.environment["AGENT_PROVISIONING"] = card;
});

const config = (): string => join(node, "agent.yaml");
const configText = (more = ""): string =>
  `stateDir: ${node}/state\nstaticPodPath: ${node}/manifests\ntrustPath: ${node}/trust.d\n${more}`;

async function start(): Promise<{ readonly code: number; readonly started: Started | undefined }> {
  let started: Started | undefined;
  const runAgent = async (options: Started): Promise<number> => {
    started = options;
    return 0;
  };
  const code = await stage.run(`run --config ${config()}`, async () => ({ runAgent }));
  return { code, started };
}

describe("agent run", () => {
  test("starts with the configuration that the card has brought", async () => {
    writeTree(card, { "agent.yaml": configText("nodeName: carded\n") });
    const { code, started } = await start();
    expect([code, started?.config.nodeName]).toEqual([0, "carded"]);
    expect(started?.provisioned?.taken.map(({ name }) => name)).toEqual(["agent.yaml"]);
    expect((await start()).started?.provisioned).toMatchObject({ taken: [], refused: [] });
  });

  test("starts as ever where there is no card", async () => {
    writeFileSync(config(), configText());
    const { code, started } = await start();
    expect([code, started?.provisioned]).toEqual([0, undefined]);
    expect(existsSync(join(node, "state"))).toBe(false);
  });

  test("tells what is wrong with the card when it cannot start without it", async () => {
    writeTree(card, { "agent.yaml": "stateDirr: /x\n" });
    const { code, started } = await start();
    expect([code, started]).toEqual([2, undefined]);
    expect(stage.terminal.stderr).toMatch(
      /Error: \S+card\/agent\.yaml line 1: stateDirr: unknown field .*; correct it[^]*cannot read \S+node\/agent\.yaml/,
    );
  });

  test("does not touch a card when the node's own configuration is broken", async () => {
    writeFileSync(config(), "stateDirr: /x\n");
    writeTree(card, { "agent.yaml": configText() });
    expect((await start()).code).toBe(2);
    expect(readFileSync(config(), "utf8")).toBe("stateDirr: /x\n");
  });

  test("finishes a preparation that was cut off before it reads anything", async () => {
    writeFileSync(config(), configText());
    writeTree(node, {
      "state/identity.json": `{"nodeName":"old"}`,
      "state/prepared.json": JSON.stringify({
        isDone: false,
        claims: false,
        hostname: "gateway",
        machineId: "",
      }),
    });
    expect((await start()).code).toBe(0);
    expect(existsSync(join(node, "state/identity.json"))).toBe(false);
    expect(readFileSync(join(node, "state/prepared.json"), "utf8")).toContain(`"isDone":true`);
  });
});

describe("agent provision", () => {
  const run = (flags = ""): Promise<number> => stage.run(`provision --config ${config()} ${flags}`);

  test("takes over what agent run would, and again only if asked", async () => {
    writeTree(card, { "agent.yaml": configText() });
    expect(await run("--dry-run")).toBe(0);
    expect(stage.terminal.stdout).toBe(`would take over ${card}/agent.yaml as ${config()}\n`);
    expect(existsSync(config())).toBe(false);
    stage.terminal.stdout = "";
    expect(await run()).toBe(0);
    expect(stage.terminal.stdout).toContain(`took over ${card}/agent.yaml as ${config()}\n`);

    stage.terminal.stdout = "";
    writeTree(card, { "agent.yaml": configText("nodeName: two\n") });
    expect(await run()).toBe(0);
    expect(stage.terminal.stdout).toBe("there is nothing to take over\n");
    expect(stage.terminal.stderr).toMatch(/Warning: .*agent\.yaml is ignored: .*--again/);
    expect(await run("--again")).toBe(0);
    expect(readFileSync(config(), "utf8")).toContain("nodeName: two");
  });

  test("takes another directory, and says where it has looked", async () => {
    expect(await run()).toBe(1);
    expect(stage.terminal.stderr).toBe(
      `Error: there is no ${card}; --from names another directory\n`,
    );
    const stick = join(stage.directory, "stick");
    writeTree(stick, { "agent.yaml": configText() });
    expect(await run(`--from ${stick}`)).toBe(0);
  });

  test("fails for a file that is refused, and while an agent runs", async () => {
    writeTree(card, { "agent.yaml": configText(), "trust.d/root.pub": "no key" });
    expect(await run()).toBe(1);
    expect(stage.terminal.stderr).toMatch(
      /Error: \S+root\.pub is not a public Ed25519 key in PEM;/,
    );
    using _agent = lockStateDir(join(node, "state"));
    expect(await run("--again")).toBe(1);
    expect(stage.terminal.stderr).toMatch(/could not be taken over.*another agent \(pid \d+\)/);
  });
});
