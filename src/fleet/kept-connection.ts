// Performs: a connection to the broker for a command that runs until it is interrupted: opened again whenever it has ended.

import { CliError } from "../cli/exit-codes.ts";
import type { Terminal } from "../cli/process-io.ts";
import { printable } from "../cli/terminal-text.ts";
import { messageOf } from "../lib/errors.ts";
import type { Fleet } from "./open-broker.ts";

/** After this long a connection that has ended, or could not be opened, is opened again. */
const AGAIN_MS = 5_000;
/** For a person who orders something meanwhile. */
export const BROKER_AWAY = `the connection to the broker is lost; it is opened again every ${AGAIN_MS / 1_000} s`;

export class KeptConnection implements AsyncDisposable {
  readonly #terminal: Terminal;
  readonly #follow: (fleet: Fleet) => Promise<void>;
  readonly #open: () => Promise<Fleet>;
  #fleet: Fleet | undefined;

  /** `follow` subscribes to what the command needs. */
  constructor(
    terminal: Terminal,
    open: () => Promise<Fleet>,
    follow: (fleet: Fleet) => Promise<void>,
  ) {
    this.#terminal = terminal;
    this.#open = open;
    this.#follow = follow;
  }

  /** undefined = there is no connection now. */
  get fleet(): Fleet | undefined {
    return this.#fleet;
  }

  /** Throws CliError or UsageError when it cannot be opened, or what is needed is refused. */
  async connect(): Promise<void> {
    const fleet = await this.#open();
    try {
      await this.#follow(fleet);
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
    this.#fleet = fleet;
  }

  /** Keeps it, after `connect`, until `signal` aborts; prints each end and each failure. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#untilGone(signal);
      if (signal.aborted) return;
      await this.#terminal.clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      await this.connect().catch((thrown: unknown) => {
        this.#say(`${messageOf(thrown)}; tried again in ${AGAIN_MS / 1_000} s`);
      });
    }
  }

  async #untilGone(signal: AbortSignal): Promise<void> {
    const fleet = this.#fleet;
    if (fleet === undefined) return;
    try {
      await fleet.session.until(() => undefined, { signal });
      return;
    } catch (thrown) {
      if (!(thrown instanceof CliError)) throw thrown;
      this.#say(messageOf(thrown));
    }
    this.#fleet = undefined;
    await fleet[Symbol.asyncDispose]();
  }

  #say(text: string): void {
    this.#terminal.err(`${printable(text)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fleet?.[Symbol.asyncDispose]();
  }
}
