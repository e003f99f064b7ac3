// Performs: one line on the terminal that shows how far a long work is, written again and again; nothing where standard error
// is no terminal.

import type { Terminal } from "../process-io.ts";
import { printable } from "../terminal-text.ts";

/** A work that ends within it shows nothing. */
const TICK_MS = 1000;
const CLEAR = "\r\u001b[K";

type ProgressTerminal = Pick<Terminal, "err" | "clock" | "isErrTerminal" | "columns">;

/** How far the work is; undefined = nothing to show. */
export type ProgressText = (seconds: number) => string | undefined | Promise<string | undefined>;

/** Shows `text` each second while `work` goes on, and leaves no line behind; `clear` makes room for another line. */
export async function withProgress<T>(
  terminal: ProgressTerminal,
  text: ProgressText,
  work: (clear: () => void) => Promise<T>,
): Promise<T> {
  if (!terminal.isErrTerminal) return work(() => undefined);
  const ended = new AbortController();
  using line = new ProgressLine(terminal);
  void showEach(text, { terminal, line, ended: ended.signal });
  try {
    return await work(() => line.clear());
  } finally {
    ended.abort();
  }
}

async function showEach(
  text: ProgressText,
  {
    terminal,
    line,
    ended,
  }: {
    readonly terminal: ProgressTerminal;
    readonly line: ProgressLine;
    readonly ended: AbortSignal;
  },
): Promise<void> {
  const { clock } = terminal;
  const start = clock.monotonic();
  for (;;) {
    await clock.sleep(TICK_MS, ended);
    if (ended.aborted) return;
    // The work itself reports what is wrong.
    const shown = await Promise.resolve(text(Math.round((clock.monotonic() - start) / 1000))).catch(
      () => undefined,
    );
    if (ended.aborted) return;
    if (shown !== undefined) line.show(shown);
  }
}

/** Its text never fills the line: a terminal would begin another one. */
export class ProgressLine implements Disposable {
  readonly #terminal: ProgressTerminal;
  #isShown = false;

  constructor(terminal: ProgressTerminal) {
    this.#terminal = terminal;
  }

  show(text: string): void {
    const { columns = 80 } = this.#terminal;
    this.#isShown = true;
    this.#terminal.err(
      CLEAR +
        Array.from(printable(text))
          .slice(0, columns - 1)
          .join(""),
    );
  }

  clear(): void {
    if (this.#isShown) this.#terminal.err(CLEAR);
    this.#isShown = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
