import { expect, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realKernelLog } from "../../../src/host/oom/kernel-log.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();

test("messages since the last look are read, without prefix and device", () => {
  const path = join(newDirectory(), "kmsg");
  writeFileSync(path, "6,1,100,-;before\n");
  using log = realKernelLog(path);
  expect(log.read()).toEqual([]);
  expect(log.read()).toEqual([]);
  appendFileSync(path, "3,2,200,-;one; two\n SUBSYSTEM=net\n4,3,300,-,caller=T1;three\n");
  expect(log.read()).toEqual(["one; two", "three"]);
  expect(log.read()).toEqual([]);
});

test("a log that is not there has no messages", () => {
  using log = realKernelLog(join(newDirectory(), "none"));
  expect([log.read(), log.read()]).toEqual([[], []]);
});

test("the kernel's own log does not wait", () => {
  using log = realKernelLog();
  log.read();
  expect(Array.isArray(log.read())).toBe(true);
});
