// Performs: hangs up a command that `exec` has started when its client is gone before it. CRI says neither which process a
// stream has, nor ends it: containerd lets `sleep`, and a shell with its terminal, run on for ever.

import type { ExecProcesses, SessionLeader } from "../../host/process/exec-processes.ts";
import type { Clock } from "../../lib/clock.ts";

export interface Exec {
  readonly containerId: string;
  readonly command: readonly string[];
}

/** A client starts the command when its streams are open, which is its own affair. */
const FIND_MS = 5000;
/** The runtime may just be starting the command when the client is gone. */
const FIND_AFTER_END_MS = 1000;
const FIRST_LOOK_MS = 20;
const LAST_LOOKS_MS = 500;

export class ExecHangUp {
  readonly #processes: ExecProcesses;
  readonly #clock: Clock;
  /** By container and command: until the process of the one before is found, or given up. */
  readonly #finding = new Map<string, Promise<unknown>>();

  constructor(processes: ExecProcesses, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** `serve` runs as long as the stream is open. What runs after it, the runtime no longer waits for, and is hung up. */
  async during<T>(exec: Exec, serve: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([exec.containerId, exec.command]);
    while (this.#finding.has(key)) await this.#finding.get(key);
    const ended = { at: Number.POSITIVE_INFINITY };
    const finding = this.#find(exec, ended);
    const settled = finding.finally(() => this.#finding.delete(key));
    this.#finding.set(key, settled);
    try {
      return await serve();
    } finally {
      ended.at = this.#clock.monotonic();
      void settled.then((found) => found && this.#processes.hangUp(found));
    }
  }

  /** undefined = none has appeared, as of a command that takes no time; it is left alone. */
  async #find(
    { containerId, command }: Exec,
    ended: { readonly at: number },
  ): Promise<SessionLeader | undefined> {
    const known = new Set(this.#processes.pids());
    const start = this.#clock.monotonic();
    const isLate = (): boolean =>
      this.#clock.monotonic() > Math.min(start + FIND_MS, ended.at + FIND_AFTER_END_MS);
    for (let wait = FIRST_LOOK_MS; !isLate(); wait = Math.min(2 * wait, LAST_LOOKS_MS)) {
      await this.#clock.sleep(wait);
      const found = this.#processes
        .pids()
        .filter((pid) => !known.has(pid))
        .map((pid) => this.#processes.leader(pid, containerId))
        .find((leader) => leader !== undefined && runs(leader.command, command));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Also of a script, which the kernel runs as `INTERPRETER PATH ARGUMENT...`. */
export function runs(shown: readonly string[], command: readonly string[]): boolean {
  const [program = "", ...args] = shown.slice(-command.length);
  const [asked = "", ...askedArgs] = command;
  return (
    shown.length >= command.length &&
    JSON.stringify(args) === JSON.stringify(askedArgs) &&
    (program === asked || program.endsWith(`/${asked}`))
  );
}
