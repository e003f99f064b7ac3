// Performs: has the kernel write whole file systems to their disk, in a process of its own: on slow flash it takes seconds.

import { existsSync } from "node:fs";

import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { RunProgram } from "../run-program.ts";

const PROGRAM = "sync";
/** Longer than a card of any speed takes for one image. */
const LONGEST_MS = 60_000;
/** It writes nothing. */
const ANSWER_BYTES = 1_024;

interface SyncOptions {
  readonly runProgram: RunProgram;
  readonly log: Logger;
  /** On the file systems; those that do not exist are left out. */
  readonly directories: () => Promise<readonly string[]>;
}

/** Never rejects: what cannot be synced is logged, and the kernel writes it within half a minute. */
export function fileSystemSync({ runProgram, log, directories }: SyncOptions): () => Promise<void> {
  return async () => {
    try {
      const found = (await directories()).filter((directory) => existsSync(directory));
      if (found.length === 0) return;
      const args = ["--file-system", ...found];
      const limits = { timeoutMs: LONGEST_MS, maxBytes: ANSWER_BYTES };
      const call = { path: PROGRAM, args, env: {}, stdin: "", ...limits };
      const { exitCode } = await runProgram(call, new AbortController().signal);
      if (exitCode !== 0) throw new Error(`${PROGRAM} ended with ${exitCode}`);
    } catch (thrown) {
      log.warn("cannot sync the file system of the images", { error: messageOf(thrown) });
    }
  };
}
