// Performs: prints what a container wrote: as it is into a pipe, without control characters on a terminal.

import { printableText } from "../terminal-text.ts";
import type { Terminal } from "../process-io.ts";

export class LogPrinter {
  readonly #terminal: Terminal;
  readonly #prefix: string;
  readonly #decoder = new TextDecoder();
  /** The next text begins a line. */
  #isAtStart = true;

  /** `prefix`: before each line. */
  constructor(terminal: Terminal, prefix: string) {
    this.#terminal = terminal;
    this.#prefix = prefix;
  }

  print(part: Uint8Array): void {
    if (!this.#terminal.isTerminal && this.#prefix === "") return this.#terminal.outBytes(part);
    return this.#text(this.#decoder.decode(part, { stream: true }));
  }

  /** The container has written its last byte. */
  end(): void {
    this.#text(this.#decoder.decode());
  }

  #text(text: string): void {
    if (text === "") return;
    const shown = this.#terminal.isTerminal ? printableText(text) : text;
    const lines = shown.split(/(?<=\n)/);
    const prefixed = lines.map((line, index) =>
      index > 0 || this.#isAtStart ? this.#prefix + line : line,
    );
    this.#isAtStart = shown.endsWith("\n");
    this.#terminal.out(prefixed.join(""));
  }
}
