// Performs: hints about a directory: Bun's watcher wakes us, a queue of our own says what exactly happened.

import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";

import type { DirectoryHint, DirectoryWatch } from "./files.ts";
import { watchByInotify, type Inotify } from "./inotify.ts";

/** `precise` is a parameter so that a machine without inotify instances left can be tested. */
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
    // The kernel fills two queues one after the other: ours may still be empty.
    else if (poll() === 0) onHint({ type: "Unknown" });
  };
  let watcher: FSWatcher;
  try {
    watcher = watch(directory, { persistent: false }, wake);
  } catch {
    // Nothing wakes us (no directory, no inotify instance left): the caller's rescans find everything later.
    return { poll: () => undefined, [Symbol.dispose]: () => undefined };
  }
  watcher.on("error", () => {
    watcher.close();
    onHint({ type: "SelfGone" });
  });
  // After the watcher, which matters more if only one instance is left; before the first wake-up can come.
  queue = precise(directory);
  return {
    poll: () => void poll(),
    [Symbol.dispose](): void {
      watcher.close();
      queue?.[Symbol.dispose]();
    },
  };
}

/** Bun's own words: `rename` for whatever makes a name come or go, `change` for a write. */
function vagueHint(seen: {
  readonly directory: string;
  readonly event: string;
  readonly name: string | null;
}): DirectoryHint {
  const { directory, event, name } = seen;
  if (name === null || name === "") return { type: "Unknown" };
  if (event !== "rename") return { type: "Written", name };
  // It tells of the directory itself by that directory's name.
  return name === basename(directory) ? { type: "SelfGone" } : { type: "CameOrWent", name };
}
