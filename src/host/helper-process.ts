// Performs: calls on file systems that may hang, each in a process of its own, which can be given up: a call of the kernel
// that never returns holds that process and not the agent.

import { join } from "node:path";
import { aborted, type Clock, deadline } from "../lib/clock.ts";
import { Limiter } from "../lib/concurrency-limit.ts";
import { AgentError } from "../lib/errors.ts";

/** The hidden verb of this binary that runs as the helper. */
export const HELPER_VERB = "volume-helper";

/**
 * Gives `request` to a new helper process and resolves to its answer. Rejects with AgentError `NoAnswer` when it is silent for
 * too long, or when earlier ones still hang.
 */
export type RunHelper = (request: string, signal: AbortSignal) => Promise<string>;

/** Since its last sign of life. */
export const SILENT_MS = 10_000;
const AT_ONCE = 4;
/** A process that is not held by the kernel has ended by then. */
const KILLED_MS = 1_000;
/** Killed, and still held by the kernel. */
const MAX_HUNG = 4;
/** A line without an answer: it is at work. */
export const ALIVE = "\n";

interface HelperOptions {
  readonly clock: Clock;
  /** Absent = this program itself. */
  readonly command?: readonly string[];
}

export function helperProcesses({ clock, command = ownCommand() }: HelperOptions): RunHelper {
  const limiter = new Limiter(AT_ONCE);
  let hung = 0;
  const run = async (request: string, signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted();
    if (hung >= MAX_HUNG) throw noAnswer(`${hung} earlier calls still hang in the kernel`);
    const child = Bun.spawn([...command], {
      stdin: Buffer.from(request),
      stdout: "pipe",
      stderr: "ignore",
      env: {},
    });
    try {
      return await answerOf(child.stdout, { clock, signal });
    } catch (error) {
      child.kill("SIGKILL");
      const isGone = await Promise.race([
        child.exited,
        clock.sleep(KILLED_MS).then(() => undefined),
      ]);
      if (isGone === undefined) {
        // The kernel ends it when the call returns; nothing here waits for that.
        hung += 1;
        child.unref();
        void child.exited.then(() => (hung -= 1));
      }
      throw error;
    }
  };
  return (request, signal) => limiter.run(() => run(request, signal));
}

/** Also when it runs from its sources, as in tests. */
function ownCommand(): readonly string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  const sources = isCompiled ? [] : [join(import.meta.dir, "../main.ts")];
  return [process.execPath, ...sources, HELPER_VERB];
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

function noAnswer(message: string): AgentError {
  return new AgentError({ reason: "NoAnswer", message });
}
