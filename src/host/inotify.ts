// Performs: the exact events of a directory, in order. Polled; the caller decides when.

import { closeSync, readSync } from "node:fs";

import { errorCode } from "../lib/errors.ts";
import type { DirectoryHint, NameHint } from "./files.ts";
import { addInotifyWatch, openInotify } from "./libc.ts";

export interface Inotify extends Disposable {
  /** The events since the last call; none once disposed. */
  drain(): readonly DirectoryHint[];
}

// inotify(7); the numbers are the same on x64 and arm64.
const IN_MODIFY = 0x2;
const IN_CLOSE_WRITE = 0x8;
const IN_MOVED_FROM = 0x40;
const IN_MOVED_TO = 0x80;
const IN_CREATE = 0x100;
const IN_DELETE = 0x200;
const IN_DELETE_SELF = 0x400;
const IN_MOVE_SELF = 0x800;
const IN_Q_OVERFLOW = 0x4000;
const IN_IGNORED = 0x8000;
const IN_ONLYDIR = 0x0100_0000;

const NAME_HINTS: readonly (readonly [bit: number, type: NameHint])[] = [
  [IN_MODIFY, "Written"],
  [IN_CLOSE_WRITE, "Closed"],
  [IN_MOVED_FROM, "MovedOut"],
  [IN_MOVED_TO, "MovedIn"],
  [IN_CREATE, "Created"],
  [IN_DELETE, "Deleted"],
];
/** The directory was removed, renamed or unmounted. */
const SELF_GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED;
const WATCHED = NAME_HINTS.reduce((mask, [bit]) => mask | bit, IN_DELETE_SELF | IN_MOVE_SELF);

/** Bytes before the name: wd, mask, cookie and len of struct inotify_event, 4 bytes each. */
const HEADER = 16;
/** At least one event with the longest name must fit, bytes. */
const BUFFER = 64 * 1024;

/** undefined if the directory cannot be watched: it does not exist, or no instance or watch is left. */
export function watchByInotify(directory: string): Inotify | undefined {
  const fd = openInotify();
  if (fd === undefined) return undefined;
  if (!addInotifyWatch(fd, directory, WATCHED | IN_ONLYDIR)) {
    closeSync(fd);
    return undefined;
  }
  let open = true;
  return {
    drain: () => (open ? drain(fd) : []),
    [Symbol.dispose](): void {
      if (!open) return;
      open = false;
      closeSync(fd);
    },
  };
}

function drain(fd: number): readonly DirectoryHint[] {
  const hints: DirectoryHint[] = [];
  const buffer = Buffer.allocUnsafe(BUFFER);
  for (;;) {
    try {
      const got = readSync(fd, buffer, 0, buffer.length, null);
      hints.push(...decodeEvents(buffer.subarray(0, got)));
    } catch (error) {
      return errorCode(error) === "EAGAIN" ? hints : [...hints, { type: "Unknown" }];
    }
  }
}

/** Whole events in the kernel's format. */
function decodeEvents(events: Uint8Array): readonly DirectoryHint[] {
  const view = new DataView(events.buffer, events.byteOffset, events.byteLength);
  const hints: DirectoryHint[] = [];
  for (let at = 0; at + HEADER <= events.length;) {
    const mask = view.getUint32(at + 4, true);
    const end = at + HEADER + view.getUint32(at + 12, true);
    hints.push(...hintsOf(mask, events.subarray(at + HEADER, end)));
    at = end;
  }
  return hints;
}

function hintsOf(mask: number, paddedName: Uint8Array): readonly DirectoryHint[] {
  if ((mask & IN_Q_OVERFLOW) !== 0) return [{ type: "Unknown" }];
  if ((mask & SELF_GONE) !== 0) return [{ type: "SelfGone" }];
  const end = paddedName.indexOf(0);
  const name = new TextDecoder().decode(end < 0 ? paddedName : paddedName.subarray(0, end));
  return NAME_HINTS.flatMap(([bit, type]) => ((mask & bit) === 0 ? [] : [{ type, name }]));
}
