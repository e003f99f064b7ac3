// A version tests itself: on a database that it can open, and on one that it cannot.

import { afterAll, expect, test } from "bun:test";
import Sqlite from "better-sqlite3";
import { join, resolve } from "node:path";

import { run } from "../../harness/run-command.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { makeOlderDatabase } from "../store/older-database.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());

const MAIN = resolve(import.meta.dir, "../../../src/main.ts");

async function selfTest(directory: string, config: string): Promise<readonly [number, string]> {
  const command = [process.execPath, MAIN, "self-test", "--config", config];
  const { code, stdout } = await run(command, { stdin: directory, timeout: 60_000 });
  return [code, stdout];
}

async function configOf(name: string, text: string): Promise<string> {
  const path = join(temp.directory(name), "agent.yaml");
  await Bun.write(path, text);
  return path;
}

test("a database of an older version is opened, and the version is told", async () => {
  const directory = temp.directory("older");
  makeOlderDatabase(directory, 2, "");
  const [code, said] = await selfTest(directory, await configOf("good", "logLevel: info\n"));
  expect(said).toMatch(/^\{"version":"[^"]+"\}$/);
  expect(code).toBe(0);
});

test("a database that it would set aside is no success", async () => {
  const directory = temp.directory("foreign");
  const sqlite = new Sqlite(join(directory, "agent.db"));
  sqlite.exec("CREATE TABLE other (x)");
  sqlite.close();
  const [code, said] = await selfTest(directory, await configOf("good2", "logLevel: info\n"));
  expect(said).toContain("cannot open the database");
  expect(code).toBe(1);
});

test("a configuration that it cannot read is no success", async () => {
  const config = await configOf("bad", "noSuchField: 1\n");
  const [code, said] = await selfTest(temp.directory("empty"), config);
  expect(said).toContain("noSuchField");
  expect(code).toBe(1);
});
