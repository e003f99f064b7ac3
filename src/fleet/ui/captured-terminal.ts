// Performs: a terminal for a verb that the page runs: its lines go to the page, and Ctrl-C is a signal of the page.

import { PLAIN } from "../../cli/terminal/palette.ts";
import type { Terminal } from "../../cli/process-io.ts";

export function capturedTerminal(
  { clock, environment }: Pick<Terminal, "clock" | "environment">,
  signal: AbortSignal,
  take: (line: string) => void,
): Terminal {
  const print = (text: string): void => {
    for (const line of text.split("\n")) if (line !== "") take(line);
  };
  return {
    out: print,
    err: print,
    outBytes: () => undefined,
    drained: () => Promise.resolve(),
    isTerminal: false,
    palette: PLAIN,
    isErrTerminal: false,
    columns: undefined,
    isInteractive: false,
    environment,
    clock,
    interrupted: () => signal,
    readInput: () => Promise.resolve(new Uint8Array()),
    readLine: () => Promise.resolve(""),
  };
}
