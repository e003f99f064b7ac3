// Performs: the standard streams of this process as bytes, and its terminal in raw mode.

import { isatty } from "node:tty";
import { passOutputThrough } from "../../host/libc.ts";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface RawTerminal extends Disposable {
  /** Calls back with the size now and after each change. */
  onSize(changed: (size: TerminalSize) => void): void;
}

export function isInputTerminal(): boolean {
  return isatty(0);
}

/** Every key comes as it is, Ctrl-C too, and every byte of output goes so; dispose it to give the terminal back as it was. */
export function rawTerminal(): RawTerminal {
  process.stdin.setRawMode(true);
  // Bun leaves LF to be changed on its way, which the terminal in the container has done already.
  passOutputThrough(0);
  const restore = (): void => void process.stdin.setRawMode(false);
  // Ended by another process, it must not leave a terminal without echo.
  const ended = (): void => {
    restore();
    process.exit(143);
  };
  process.once("SIGTERM", ended);
  process.once("SIGHUP", ended);
  return {
    onSize: (changed) => {
      const { stdout } = process;
      const report = (): void => {
        if (stdout.columns > 0) changed({ columns: stdout.columns, rows: stdout.rows });
      };
      stdout.on("resize", report);
      report();
    },
    [Symbol.dispose]: restore,
  };
}

/** What comes on standard input, until its end. */
export function standardInput(): AsyncIterable<Uint8Array> {
  return process.stdin;
}

/** Resolves when the bytes have left this process. */
export function toOutput(data: Uint8Array): Promise<void> {
  return written(process.stdout, data);
}

export function toErrors(data: Uint8Array): Promise<void> {
  return written(process.stderr, data);
}

function written(stream: NodeJS.WriteStream, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => void stream.write(data, () => resolve()));
}
