// Performs: hints about a directory: Bun's watcher wakes the agent, an inotify queue has the exact events.

import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";

import type { DirectoryHint, DirectoryWatch } from "./files.ts";
import { watchByInotify, type Inotify } from "./inotify.ts";

/** `precise` is a parameter so that tests can simulate a machine without inotify instances left. */
export function watchDirectory(
  directory: string,
  onHint: (hint: DirectoryHint) => void,
  precise: (directory: string) => Inotify | undefined = watchByInotify,
): DirectoryWatch {
  let queue: Inotify | undefined;
  const poll = (): number => {
    const hints = queue?.drain() ?? [];
    for (const hint of hints) onHint(hint);
    return hints.length;
  };
  const wake = (event: string, name: string | null): void => {
    if (queue === undefined) onHint(vagueHint({ directory, event, name }));
    // The kernel fills the two queues one after the other: the precise one may still be empty.
    else if (poll() === 0) onHint({ type: "Unknown" });
  };
  let watcher: FSWatcher;
  try {
    watcher = watch(directory, { persistent: false }, wake);
  } catch {
    // No wake-ups (no directory, or no inotify instance left): the caller's rescans find all changes later.
    return { poll: () => undefined, [Symbol.dispose]: () => undefined };
  }
  watcher.on("error", () => {
    watcher.close();
    onHint({ type: "SelfGone" });
  });
  // After the watcher, which is needed more if only one instance is left; before its first wake-up.
  queue = precise(directory);
  return {
    poll: () => void poll(),
    [Symbol.dispose](): void {
      watcher.close();
      queue?.[Symbol.dispose]();
    },
  };
}

/** Bun reports `rename` when a name appears or disappears, `change` for a write. */
function vagueHint(seen: {
  readonly directory: string;
  readonly event: string;
  readonly name: string | null;
}): DirectoryHint {
  const { directory, event, name } = seen;
  if (name === null || name === "") return { type: "Unknown" };
  if (event !== "rename") return { type: "Written", name };
  // An event of the directory itself has the directory's name.
  return name === basename(directory) ? { type: "SelfGone" } : { type: "CameOrWent", name };
}
