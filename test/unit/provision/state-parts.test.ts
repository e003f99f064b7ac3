// What of stateDir an image for many devices must not have: every row of the page about the state on disk is decided.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { planState, STATE_PARTS } from "../../../src/provision/state-parts.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../../docs/operations.md"), "utf8");
const SOURCES = join(import.meta.dir, "../../../src");

describe("the parts of stateDir", () => {
  test("each one that the page names has its fate", () => {
    const named = [...PAGE.matchAll(/`stateDir\/([\w.-]+)/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(20);
    expect(planState([...new Set(named)], false).unknown).toEqual([]);
  });

  test("each one that the source names has its fate", async () => {
    const named = new Set<string>();
    for await (const path of new Bun.Glob("**/*.ts").scan(SOURCES)) {
      const text = readFileSync(join(SOURCES, path), "utf8");
      const words = /(?:join\((?:\w+\.)*stateDir, "|\$\{(?:\w+\.)*stateDir\}\/)([\w.-]+)/g;
      for (const [, name = ""] of text.matchAll(words)) named.add(name);
    }
    expect(named.size).toBeGreaterThan(5);
    expect(planState([...named], false).unknown).toEqual([]);
  });

  test("identity and keys go, versions and profiles stay, and claims go only if asked", () => {
    const names = [
      ".identity.json.tmp",
      "agent.db",
      "agent.db-wal",
      "agent.db.corrupt-3",
      "agent.lock",
      "claims",
      "identity.json",
      "lib",
      "notes.txt",
      "pods",
      "running",
      "secret.key",
      "secret.key.damaged.2",
      "seccomp",
      "self-update",
      "settings.json",
      "trust.json",
    ];
    const plan = planState(names, false);
    expect(plan.removed.map(({ name }) => name)).toEqual([
      "secret.key",
      "secret.key.damaged.2",
      "identity.json",
      "agent.db",
      "agent.db-wal",
      "agent.db.corrupt-3",
      "trust.json",
      "settings.json",
      "running",
      "pods",
    ]);
    expect(plan).toMatchObject({ unknown: ["notes.txt"], hasClaims: true });
    expect(planState(names, true).removed.map(({ name }) => name)).toContain("claims");
  });

  test("no name has two fates", () => {
    const names = [
      "agent.db",
      "identity.json",
      "provisioned.json",
      "provisioning",
      "prepared.json",
    ];
    for (const name of names)
      expect([name, STATE_PARTS.filter((part) => part.name.test(name)).length]).toEqual([name, 1]);
  });
});
