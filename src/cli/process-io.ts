// Performs: what a verb may use of its process: standard output and input, the clock, Ctrl-C.

import { createInterface } from "node:readline";
import type { Clock } from "../lib/clock.ts";
import { systemClock } from "../lib/system-clock.ts";

export interface Terminal {
  /** Standard output. */
  out(text: string): void;
  /** Standard error. */
  err(text: string): void;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Whether standard input and output are a terminal, so that a question can be answered. */
  readonly isInteractive: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at Ctrl-C. After the first call Ctrl-C no longer ends the process by itself. */
  interrupted(): AbortSignal;
  /** Everything on standard input. */
  readInput(): Promise<Uint8Array>;
  /** The next line of standard input without its end; "" when there is none. */
  readLine(): Promise<string>;
}

export interface ProcessTerminal extends Terminal {
  /** Resolves when all output has left the process or its reader is gone; then exiting loses nothing. */
  flushed(): Promise<void>;
}

/** The terminal of this process. */
export function processTerminal(): ProcessTerminal {
  // A reader that has ended (`| head`) is no failure of this process.
  process.stdout.on("error", () => process.exit(0));
  const pending = new Set<Promise<void>>();
  // Only its own callback shows that a write is complete: an empty write overtakes the others.
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    if (text === "") return;
    const written = new Promise<void>((resolve) => void stream.write(text, () => resolve()));
    pending.add(written);
    void written.then(() => pending.delete(written));
  };
  return {
    out: (text) => write(process.stdout, text),
    err: (text) => write(process.stderr, text),
    isTerminal: process.stdout.isTTY === true,
    isInteractive: process.stdout.isTTY === true && process.stdin.isTTY === true,
    environment: process.env,
    clock: systemClock(),
    interrupted: () => {
      const controller = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => controller.abort());
      return controller.signal;
    },
    readInput: () => Bun.stdin.bytes(),
    readLine,
    flushed: async () => {
      await Promise.all(pending);
    },
  };
}

/** Whether the answer to `question` is yes. */
export async function isConfirmed(terminal: Terminal, question: string): Promise<boolean> {
  terminal.out(question);
  return (await terminal.readLine()).trim() === "yes";
}

async function readLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  const line = await new Promise<string>((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  lines.close();
  return line;
}
