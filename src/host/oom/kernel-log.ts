// Performs: reads the kernel's log, which names the victims of its OOM killer.

import { closeSync, constants, openSync, readSync } from "node:fs";

export interface KernelLog extends Disposable {
  /** Messages since the last call, without their prefix; the first call skips what is there. Never throws, never waits. */
  read(): readonly string[];
}

/** The kernel's longest record. */
const RECORD_BYTES = 8192;
/** Records in one look; the rest is read at the next one. */
const RECORDS_AT_ONCE = 20_000;

/** `path` = /dev/kmsg except in tests. */
export function realKernelLog(path = "/dev/kmsg"): KernelLog {
  let file: number | undefined;
  return {
    read() {
      const isFirst = file === undefined;
      try {
        file ??= openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      } catch {
        // A container, or a kernel without a log: it may be there later.
        return [];
      }
      const messages = readRecords(file);
      return isFirst ? [] : messages;
    },
    [Symbol.dispose]() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function readRecords(file: number): readonly string[] {
  const buffer = Buffer.alloc(RECORD_BYTES);
  const messages: string[] = [];
  for (let count = 0; count < RECORDS_AT_ONCE; count += 1) {
    const length = readRecord(file, buffer);
    if (length === "lost") continue;
    if (length === 0) break;
    messages.push(...messagesIn(buffer.toString("utf8", 0, length)));
  }
  return messages;
}

/** 0 = there is no more; "lost" = the kernel has overwritten what was next. */
function readRecord(file: number, buffer: Buffer): number | "lost" {
  try {
    return readSync(file, buffer, 0, RECORD_BYTES, null);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPIPE" ? "lost" : 0;
  }
}

/** `6,339,5140900,-;message`, and lines of its device that begin with a space. */
function messagesIn(record: string): readonly string[] {
  return record.split("\n").flatMap((line) => /^\d[^;]*;(.*)$/.exec(line)?.[1] ?? []);
}
