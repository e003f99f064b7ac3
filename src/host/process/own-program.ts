// Performs: how this binary is started again for work that needs a process of its own.

import { join } from "node:path";

/** Also when it runs from its sources, as in tests. */
export function ownCommand(...words: readonly string[]): readonly [string, ...string[]] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  const sources = isCompiled ? [] : [join(import.meta.dir, "../../main.ts")];
  return [process.execPath, ...sources, ...words];
}

/** The words that name the configuration of this process. */
export function configWords(): readonly string[] {
  return process.argv.slice(2).filter((word) => word !== "run");
}
