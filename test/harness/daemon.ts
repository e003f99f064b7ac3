// A program that a test runs in the background, with its output in a file.

import { closeSync, existsSync, openSync, readFileSync } from "node:fs";

import type { TempDirectory } from "./temp-directory.ts";

interface DaemonOptions {
  readonly temp: TempDirectory;
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Starts a program in its own process group; it ends with the temporary directory at the latest. */
export function spawnDaemon(
  command: readonly string[],
  { temp, logFile, ...surroundings }: DaemonOptions,
): Bun.Subprocess {
  const log = openSync(logFile, "a");
  const child = Bun.spawn([...command], {
    ...surroundings,
    detached: true,
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  temp.adopt(child.pid);
  return child;
}

/** The end of a log, for an error message. */
export function logTail(whose: string, logFile: string, lines: number): string {
  if (!existsSync(logFile)) return `${whose} wrote no log`;
  const text = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-lines);
  return `the last lines of the log of ${whose}:\n${text.join("\n")}`;
}
