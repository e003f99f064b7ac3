import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { resolveIdentity, type Identity } from "../../../src/node/identity/identity.ts";
import type { BoardFacts } from "../../../src/node/identity/node-name.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const board: BoardFacts = { hostname: "raspberrypi", serial: "10000000abcdef12" };
let stateDir: string;
let logged: string[];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agent-identity-"));
  logged = [];
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

function resolve(facts: BoardFacts = board, template?: string, directory = stateDir): Identity {
  const log = createLogger({
    clock: new VirtualClock(),
    level: "info",
    write: (line) => void logged.push(line),
  });
  return resolveIdentity({
    files: realFiles(),
    log,
    stateDir: directory,
    template,
    facts,
    random: systemRandom,
  });
}

function file(): string {
  return join(stateDir, "identity.json");
}

test("is resolved once and kept with the serial, for root's eyes only", () => {
  expect(resolve()).toEqual({ nodeName: "raspberrypi-cdef12", conditions: [] });
  expect(JSON.parse(readFileSync(file(), "utf8"))).toEqual({
    nodeName: "raspberrypi-cdef12",
    serial: "10000000abcdef12",
  });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

test("a later hostname or template changes nothing and writes nothing", () => {
  resolve();
  const before = statSync(file(), { bigint: true });
  expect(resolve({ ...board, hostname: "renamed" }, "other").nodeName).toBe("raspberrypi-cdef12");
  const after = statSync(file(), { bigint: true });
  expect(after.ino).toBe(before.ino);
  expect(after.mtimeNs).toBe(before.mtimeNs);
  expect(logged.join("")).toContain("delete identity.json");
});

test("another serial is BoardChanged, at every start, under the old name", () => {
  resolve();
  for (let start = 0; start < 2; start += 1) {
    const { nodeName, conditions } = resolve({ ...board, serial: "20000000aaaaaaaa" });
    expect(nodeName).toBe("raspberrypi-cdef12");
    expect(conditions).toMatchObject([{ type: "BoardChanged", status: "True" }]);
    expect(conditions[0]?.message).toContain("20000000aaaaaaaa");
  }
  expect(resolve().conditions).toEqual([]);
});

test("a serial that cannot be read is no other board, and one read later is kept", () => {
  resolve({ hostname: "kiosk" });
  expect(resolve({ hostname: "kiosk", serial: "" }).conditions).toEqual([]);
  expect(resolve({ hostname: "kiosk", serial: "1111" }).conditions).toEqual([]);
  expect(resolve({ hostname: "kiosk", serial: "2222" }).conditions).toHaveLength(1);
});

for (const [what, content] of Object.entries({
  "cut short by a power failure": '{"nodeName":"rasp',
  empty: "",
  "without a name": '{"serial":"1"}',
  "with a name no topic can hold": '{"nodeName":"a/b"}',
  "too large": `{"nodeName":"x","more":"${"x".repeat(5000)}"}`,
})) {
  test(`a file ${what} is said, resolved anew and rewritten`, () => {
    writeFileSync(file(), content);
    expect(resolve().nodeName).toBe("raspberrypi-cdef12");
    expect(logged.join("")).toContain("identity.json is unreadable");
    logged = [];
    expect(resolve({ ...board, hostname: "renamed" }).nodeName).toBe("raspberrypi-cdef12");
    expect(logged).toEqual([]);
  });
}

test("a state directory that takes no file does not stop the node", () => {
  expect(resolve(board, undefined, join(stateDir, "missing")).nodeName).toBe("raspberrypi-cdef12");
  expect(logged.join("")).toContain("identity.json cannot be written");
});

test("a template without a name is an error in words", () => {
  expect(() => resolve({ hostname: "x" }, "pi-${serial}")).toThrow(
    "nodeName: this machine has no serial; use another variable or a plain name",
  );
});
