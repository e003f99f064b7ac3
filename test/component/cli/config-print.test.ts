import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { parse } from "yaml";
import { runOn } from "./cli-stage.ts";
import { FakeTerminal } from "./fake-terminal.ts";

let terminal: FakeTerminal;

beforeEach(() => {
  terminal = new FakeTerminal();
});

async function print(text: string, flags = ""): Promise<number> {
  const directory = mkdtempSync("/tmp/agent-config-");
  const path = join(directory, "agent.yaml");
  writeFileSync(path, text);
  try {
    return await runOn(terminal, `config print ${flags} --config ${path}`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe("config print", () => {
  const FILE = "maxPods: 7\nmqtt: {url: mqtt://broker}\n";

  test("prints the file with every default, as YAML", async () => {
    expect(await print(FILE)).toBe(0);
    expect(terminal.stdout).toStartWith("apiVersion: agent/v1\nkind: AgentConfiguration\n");
    const printed: unknown = parse(terminal.stdout);
    expect(printed).toMatchObject({ maxPods: 7, setClock: false, mqtt: { reconnectMax: "5m" } });
  });

  test("prints JSON, with the socket that a flag names", async () => {
    expect(await print(FILE, "-o json --socket /run/other.sock")).toBe(0);
    const printed: unknown = JSON.parse(terminal.stdout);
    expect(printed).toMatchObject({ maxPods: 7, socket: "/run/other.sock" });
  });

  test("refuses a wrong file with the place", async () => {
    expect(await print("maxPods: 0\n")).toBe(2);
    expect(terminal.stdout).toBe("");
    expect(terminal.stderr).toMatch(/agent\.yaml:1:1: maxPods: /);
  });
});
