// Performs: calls on file systems that may hang, each in a process of its own, which can be given up: a call of the kernel
// that never returns holds that process and not the agent.

import { aborted, type Clock, deadline } from "../lib/clock.ts";
import { ownCommand } from "./process/own-program.ts";
import { HelperPlaces, noAnswer, type HelperPlace } from "./helper-places.ts";

/** The hidden verb of this binary that runs as the helper. */
export const HELPER_VERB = "volume-helper";

/** Whose call it is, and where. */
export interface HelperCaller {
  /** The node's own files, or a pod of one: no document may take their places. */
  readonly isOfFile: boolean;
  /** Of the file system that may hang. */
  readonly mountPoint: string;
}

/**
 * Gives `request` to a new helper process and resolves to its answer. Rejects with AgentError `NoAnswer` when it is silent for
 * too long, or when earlier ones still hang.
 */
export type RunHelper = (
  request: string,
  caller: HelperCaller,
  signal: AbortSignal,
) => Promise<string>;

/** Since its last sign of life. */
export const SILENT_MS = 10_000;
/** A process that is not held by the kernel has ended by then. */
export const KILLED_MS = 1_000;
/** Of processes that run, or are killed and still held by the kernel: for files and their pods, and for others. */
const HELPERS = { places: 4, perMount: 2 };
/** A line without an answer: it is at work. */
export const ALIVE = "\n";

export interface HelperProcess {
  readonly stdout: ReadableStream<Uint8Array>;
  readonly exited: Promise<unknown>;
  kill(signal: "SIGKILL"): void;
  /** Lets this program end before it. */
  unref(): void;
}

interface HelperOptions {
  readonly clock: Clock;
  /** Absent = this program itself. */
  readonly start?: (request: string) => HelperProcess;
}

export function helperProcesses({ clock, start = startOwn }: HelperOptions): RunHelper {
  const ofFiles = new HelperPlaces(HELPERS);
  const ofOthers = new HelperPlaces(HELPERS);
  return async (request, { isOfFile, mountPoint }, signal) => {
    const place = await (isOfFile ? ofFiles : ofOthers).take(mountPoint, signal);
    const child = startIn(place, () => start(request));
    try {
      return await answerOf(child.stdout, { clock, signal });
    } catch (error) {
      child.kill("SIGKILL");
      const isGone = await Promise.race([
        child.exited.then(() => true),
        clock.sleep(KILLED_MS).then(() => false),
      ]);
      if (!isGone) {
        // The kernel ends it when the call returns; nothing here waits for that.
        place.hangs();
        child.unref();
      }
      throw error;
    }
  };
}

/** The place is free again when the process has ended, or could not be started. */
function startIn(place: HelperPlace, start: () => HelperProcess): HelperProcess {
  try {
    const child = start();
    void child.exited.then(() => place.release());
    return child;
  } catch (error) {
    place.release();
    throw error;
  }
}

function startOwn(request: string): HelperProcess {
  return Bun.spawn([...ownCommand(HELPER_VERB)], {
    stdin: Buffer.from(request),
    stdout: "pipe",
    stderr: "ignore",
    env: {},
  });
}

async function answerOf(
  output: ReadableStream<Uint8Array>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string> {
  const reader = output.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    using silent = deadline(clock, SILENT_MS, signal);
    const part = await Promise.race([reader.read(), aborted(silent.signal)]);
    signal.throwIfAborted();
    if (part === undefined) throw noAnswer(`no answer within ${SILENT_MS / 1000} s`);
    if (part.done) break;
    text = (text + decoder.decode(part.value, { stream: true })).trimStart();
  }
  if (text === "") throw noAnswer("the process that asked it has ended without an answer");
  return text;
}
