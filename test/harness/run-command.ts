// Runs a command to its end and keeps what it said.

import { PATIENCE } from "./patience.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Never throws for an exit code; `timeout` (ms) kills the command. */
export async function run(
  command: readonly string[],
  options: {
    readonly timeout?: number;
    readonly stdin?: string;
    readonly env?: Record<string, string>;
  } = {},
): Promise<CommandResult> {
  const child = Bun.spawn([...command], {
    stdin: options.stdin === undefined ? "ignore" : Buffer.from(options.stdin),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...options.env },
    timeout: (options.timeout ?? 60_000) * PATIENCE,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** The standard output; throws with the error output when the command fails. */
export async function output(command: readonly string[], timeout?: number): Promise<string> {
  const result = await run(command, timeout === undefined ? {} : { timeout });
  if (result.code !== 0)
    throw new Error(`${command.join(" ")} ended with ${result.code}: ${result.stderr.trim()}`);
  return result.stdout;
}

/** For cleaning up, where nothing may be awaited: blocks, never throws. */
export function runSync(command: readonly string[]): CommandResult {
  try {
    const done = Bun.spawnSync([...command], {
      stdin: "ignore",
      timeout: 20_000 * PATIENCE,
      detached: true,
    });
    return { code: done.exitCode, stdout: done.stdout.toString(), stderr: done.stderr.toString() };
  } catch (thrown) {
    return { code: 127, stdout: "", stderr: String(thrown) };
  }
}
