import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { removeTornFiles } from "../../../src/host/power-cut/cni-leftovers.ts";

const state = mkdtempSync(join(tmpdir(), "agent-cni-"));

afterEach(() => rmSync(state, { recursive: true }));

test("what a power cut left torn is removed, everything else stays", () => {
  const files = {
    "results/agent-1-eth0": '{"kind":"cniCacheV1"}',
    "results/agent-2-eth0": "",
    "results/agent-3-eth0": '{"kind":"cniCa',
    "results/agent-4-eth0": "\0\0\0",
    "networks/agent/10.88.0.2": "4c74\r\neth0",
    "networks/agent/10.88.0.3": "",
    "networks/agent/10.88.0.4": "\0\0\0\0",
    "networks/agent/fd00::7": "",
    "networks/agent/last_reserved_ip.0": "",
    "networks/agent/lock": "",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(state, name)), { recursive: true });
    writeFileSync(join(state, name), text);
  }
  const torn = [
    "networks/agent/10.88.0.3",
    "networks/agent/10.88.0.4",
    "networks/agent/fd00::7",
    "results/agent-2-eth0",
    "results/agent-3-eth0",
    "results/agent-4-eth0",
  ];
  expect([...removeTornFiles(state)].toSorted()).toEqual(torn.map((name) => join(state, name)));
  const left = Object.keys(files).filter((name) => existsSync(join(state, name)));
  expect(left).toEqual(Object.keys(files).filter((name) => !torn.includes(name)));
  expect(removeTornFiles(state)).toEqual([]);
  expect(removeTornFiles(join(state, "nowhere"))).toEqual([]);
});
