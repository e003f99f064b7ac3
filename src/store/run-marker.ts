// Performs: `stateDir/running`, which is there from the start of the agent to its clean stop: one that finds it knows that the
// last one had none.

import { join } from "node:path";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { PlainFiles } from "../lib/files/plain-files.ts";

/** How the last agent ended. `Killed`: the machine ran on; `PowerCut`: it has booted since. */
export type LastStop = "Clean" | "Killed" | "PowerCut";

interface RunMarkerOptions {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly bootId: string;
}

const MAX_BYTES = 4096;

export class RunMarker {
  readonly lastStop: LastStop;
  /** Why it cannot be written; the next start then does not know how this one ended. */
  readonly trouble: string | undefined;
  readonly #path: string;
  readonly #files: PlainFiles;

  /** On the disk when it returns, unless there is `trouble`. The same boot writes nothing again. */
  constructor({ stateDir, files, bootId }: RunMarkerOptions) {
    this.#files = files;
    this.#path = join(stateDir, "running");
    const text = `${bootId}\n`;
    const before = this.#read();
    this.lastStop = before === undefined ? "Clean" : before === text ? "Killed" : "PowerCut";
    try {
      if (before !== text) files.writeAtomic(this.#path, text, 0o600);
    } catch (thrown) {
      if (!(thrown instanceof AgentError)) throw thrown;
      this.trouble = messageOf(thrown);
    }
  }

  /** At a clean stop. A power cut right after it may bring the file back, and costs a check. */
  stopped(): void {
    try {
      this.#files.remove(this.#path);
    } catch {
      // The next start checks for nothing.
    }
  }

  /** undefined = there is none; what cannot be read counts as another boot's. */
  #read(): string | undefined {
    try {
      if (this.#files.info(this.#path) === undefined) return undefined;
      return new TextDecoder().decode(this.#files.read(this.#path, MAX_BYTES));
    } catch {
      return "";
    }
  }
}
