// A test that cannot run here is skipped, and says why; it never passes.

import { appendFileSync } from "node:fs";

import { test } from "bun:test";

import { isUnavailable } from "./private-containerd.ts";

/** Names the file in which run-tests collects the reasons. */
export const SKIPS_VARIABLE = "AGENT_TEST_SKIPS";

/** `started`: what a test needs, or `Unavailable`. `test`, or `test.skip` with the reason on standard error and in the runner's last lines. */
export function testWhenAvailable(started: object): typeof test {
  if (!isUnavailable(started)) return test;
  const line = `skipped: ${started.unavailable}\n`;
  process.stderr.write(line);
  const file = process.env[SKIPS_VARIABLE];
  if (file !== undefined) appendFileSync(file, line);
  return test.skip as typeof test;
}
