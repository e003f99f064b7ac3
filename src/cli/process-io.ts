// Performs: what a verb may use of its process: standard output and input, the clock, Ctrl-C.

import { createInterface } from "node:readline";
import type { Clock } from "../lib/clock.ts";
import { systemClock } from "../lib/system-clock.ts";
import {
  COLOURS,
  isColoured,
  PLAIN,
  tintLabel,
  wantedColour,
  type Palette,
} from "./terminal/palette.ts";

export interface Terminal {
  /** Standard output. */
  out(text: string): void;
  /** Standard output, byte by byte. */
  outBytes(bytes: Uint8Array): void;
  /** Resolves when the reader of standard output has taken enough for more to follow. */
  drained(): Promise<void>;
  /** Standard error. */
  err(text: string): void;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** The colours of standard output. */
  readonly palette: Palette;
  /** Whether standard error is a terminal. */
  readonly isErrTerminal: boolean;
  /** Of the terminal; undefined = unknown. */
  readonly columns: number | undefined;
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

/** Bytes of output that may wait for their reader. */
const MAX_WAITING = 1024 * 1024;

/** The terminal of this process; `argv`: of its words `--color` counts. */
export function processTerminal(argv: readonly string[]): ProcessTerminal {
  const { stdout, stderr, env: environment } = process;
  const paletteOf = (stream: NodeJS.WriteStream): Palette => {
    const isTerminal = stream.isTTY === true;
    return isColoured({ wanted: wantedColour(argv), isTerminal, environment }) ? COLOURS : PLAIN;
  };
  const errors = paletteOf(stderr);
  // A reader that has ended (`| head`) is no failure of this process.
  stdout.on("error", () => process.exit(0));
  const pending = new Set<Promise<void>>();
  // Only its own callback shows that a write is complete: an empty write overtakes the others.
  const write = (stream: NodeJS.WriteStream, text: string | Uint8Array): void => {
    if (text.length === 0) return;
    const written = new Promise<void>((resolve) => void stream.write(text, () => resolve()));
    pending.add(written);
    void written.then(() => pending.delete(written));
  };
  return {
    out: (text) => write(stdout, text),
    outBytes: (bytes) => write(stdout, bytes),
    drained: async () => {
      if (stdout.writableLength > MAX_WAITING) await Promise.all(pending);
    },
    err: (text) => write(stderr, tintLabel(errors, text)),
    palette: paletteOf(stdout),
    isTerminal: stdout.isTTY === true,
    isErrTerminal: stderr.isTTY === true,
    get columns() {
      return stderr.columns;
    },
    isInteractive: stdout.isTTY === true && process.stdin.isTTY === true,
    environment,
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
