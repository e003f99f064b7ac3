// Performs: has the kernel write a whole file system to its disk, in a process of its own: on slow flash it takes seconds.

import { existsSync } from "node:fs";

import { aborted, deadline, type Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";

const PROGRAM = "sync";
/** Longer than a card of any speed takes for one image. */
const LONGEST_MS = 60_000;

interface SyncOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** On the file systems; those that do not exist are left out. */
  readonly directories: () => Promise<readonly string[]>;
}

/** Never rejects: what cannot be synced is logged, and the kernel writes it within half a minute. */
export function fileSystemSync({ clock, log, directories }: SyncOptions): () => Promise<void> {
  return async () => {
    try {
      const found = (await directories()).filter((directory) => existsSync(directory));
      if (found.length === 0) return;
      const child = Bun.spawn([PROGRAM, "--file-system", ...found], {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      });
      using limit = deadline(clock, LONGEST_MS, new AbortController().signal);
      const code = await Promise.race([child.exited, aborted(limit.signal)]);
      if (code === 0) return;
      const error =
        code === undefined ? `it takes more than ${LONGEST_MS} ms` : `exit code ${code}`;
      log.warn("cannot sync the file system of the images", { error });
    } catch (thrown) {
      log.warn("cannot sync the file system of the images", { error: messageOf(thrown) });
    }
  };
}
