// Performs: runs a program of the operator's, with its input, a clean environment, a deadline and a bounded answer.

import { aborted, deadline, type Clock } from "../lib/clock.ts";
import { AgentError, errorCode } from "../lib/errors.ts";

export interface ProgramCall {
  readonly path: string;
  readonly args: readonly string[];
  /** Nothing else of the agent's own environment reaches it. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** Of its standard output; what it writes to standard error is not read. */
  readonly maxBytes: number;
}

export interface ProgramEnd {
  readonly exitCode: number;
  readonly stdout: string;
}

/**
 * Rejects with AgentError `NoProgram` if there is no such program, `NoAnswer` if it takes too long or writes too much: it is
 * killed with all that it has started in its process group. No error contains what it has written, which may be secret.
 */
export type RunProgram = (call: ProgramCall, signal: AbortSignal) => Promise<ProgramEnd>;

export function runPrograms(clock: Clock): RunProgram {
  return async (call, signal) => {
    const child = start(call);
    using limit = deadline(clock, call.timeoutMs, signal);
    try {
      const stdout = await answerOf(child.stdout, call, limit.signal);
      const exitCode = await Promise.race([child.exited, aborted(limit.signal)]);
      if (exitCode === undefined) throw tooLate(call);
      return { exitCode, stdout };
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      killGroup(child.pid);
    }
  };
}

function start({ path, args, env, stdin }: ProgramCall) {
  try {
    return Bun.spawn([path, ...args], {
      stdin: Buffer.from(stdin),
      stdout: "pipe",
      stderr: "ignore",
      env: { ...env },
      cwd: "/",
      detached: true,
    });
  } catch (cause) {
    const why = errorCode(cause) === "ENOENT" ? "there is no such program" : errorCode(cause);
    throw new AgentError({ reason: "NoProgram", message: `cannot run ${path}: ${why}`, cause });
  }
}

async function answerOf(
  output: ReadableStream<Uint8Array>,
  call: ProgramCall,
  signal: AbortSignal,
): Promise<string> {
  const reader = output.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const part = await Promise.race([reader.read(), aborted(signal)]);
    if (part === undefined) throw tooLate(call);
    if (part.done) return Buffer.concat(parts).toString();
    size += part.value.length;
    if (size > call.maxBytes) {
      const message = `${call.path} was ended: it has written more than ${call.maxBytes} bytes`;
      throw new AgentError({ reason: "NoAnswer", message });
    }
    parts.push(part.value);
  }
}

function tooLate({ path, timeoutMs }: ProgramCall): AgentError {
  const message = `${path} was ended: no answer within ${timeoutMs / 1000} s`;
  return new AgentError({ reason: "NoAnswer", message });
}

/** Also what a program that has ended by itself has left running. */
/** The process group of a program that was started `detached`. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of the group have ended.
  }
}
