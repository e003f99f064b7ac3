import { expect, test } from "bun:test";
import { statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lockStateDir } from "../../../src/host/agent-lock.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const CHILD = fileURLToPath(new URL("locks-until-killed.ts", import.meta.url));

test("a second agent is refused with the first one's pid, until the first lets go", () => {
  const stateDir = newDirectory();
  const first = lockStateDir(stateDir);
  const second = (): Disposable => lockStateDir(stateDir);
  expect(second).toThrow(expect.objectContaining({ reason: "StateDirInUse" }));
  expect(second).toThrow(`another agent (pid ${process.pid}) already uses stateDir ${stateDir}`);
  first[Symbol.dispose]();
  using again = second();
  expect(again).toBeDefined();
  expect(statSync(join(stateDir, "agent.lock")).mode & 0o777).toBe(0o600);
});

test("a killed agent leaves no lock behind", async () => {
  const stateDir = newDirectory();
  const child = Bun.spawn([process.execPath, CHILD, stateDir], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  await child.stdout.getReader().read();
  expect(() => lockStateDir(stateDir)).toThrow(`pid ${child.pid}`);
  child.kill("SIGKILL");
  await child.exited;
  using lock = lockStateDir(stateDir);
  expect(lock).toBeDefined();
});

test("a stateDir that is not there, or a link in place of the lock, is an error with the path", () => {
  const stateDir = newDirectory();
  expect(() => lockStateDir(join(stateDir, "absent"))).toThrow(join(stateDir, "absent"));
  writeFileSync(join(stateDir, "victim"), "x");
  symlinkSync("victim", join(stateDir, "agent.lock"));
  expect(() => lockStateDir(stateDir)).toThrow(
    expect.objectContaining({ reason: "StateDirUnusable" }),
  );
});
