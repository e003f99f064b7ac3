// Performs: asks a node for the last lines of a log, as `agent fleet logs` does.

import { CliError } from "../../cli/exit-codes.ts";
import { parseDuration } from "../../api/resource/duration.ts";
import { BROKER_AWAY } from "../kept-connection.ts";
import type { Fleet, FleetParts } from "../open-broker.ts";
import { askNode, refuseFailed } from "../send-command.ts";
import type { Signer } from "../trust/signing-keys.ts";
import { capturedTerminal } from "./captured-terminal.ts";
import type { LogOrder } from "./page-request.ts";

/** Lines that the page asks for. */
export const LOG_TAIL = 500;
/** Lines of an answer, whatever the node sends. */
export const MAX_LOG_LINES = 2_000;
/** Characters of them. */
export const MAX_LOG_LENGTH = 1024 * 1024;
/** Commands that wait for their answer. */
export const MAX_LOG_COMMANDS = 4;
const TIMEOUT_MS = parseDuration("30s") ?? 30_000;

export class NodeLogs {
  readonly #parts: FleetParts;
  readonly #fleet: () => Fleet | undefined;
  readonly #signers: readonly Signer[];
  #waiting = 0;

  /** `fleet`: undefined = there is no connection now. */
  constructor(parts: FleetParts, fleet: () => Fleet | undefined, signers: readonly Signer[]) {
    this.#parts = parts;
    this.#fleet = fleet;
    this.#signers = signers;
  }

  /** The lines, oldest first, with control characters escaped. Throws CliError, with what the node has answered. */
  async read(
    { node, namespace, pod, container }: LogOrder,
    signal: AbortSignal,
  ): Promise<string[]> {
    if (this.#waiting >= MAX_LOG_COMMANDS)
      throw new CliError(`${MAX_LOG_COMMANDS} logs are being asked for; wait for one of them`);
    const fleet = this.#fleet();
    if (fleet === undefined) throw new CliError(BROKER_AWAY);
    const lines: string[] = [];
    let length = 0;
    const take = (line: string): void => {
      length += line.length;
      if (lines.length < MAX_LOG_LINES && length <= MAX_LOG_LENGTH) lines.push(line);
    };
    const terminal = capturedTerminal(this.#parts.terminal, signal, take);
    const parts = { ...this.#parts, terminal };
    const sending = { fleet, parts, signers: this.#signers, timeout: TIMEOUT_MS };
    const named = container === undefined ? {} : { container };
    const args = { namespace, pod, tail: LOG_TAIL, ...named };
    this.#waiting += 1;
    try {
      const answer = await askNode(sending, { node, verb: "logs", args });
      if (answer !== undefined) refuseFailed(node, answer);
      return lines;
    } finally {
      this.#waiting -= 1;
    }
  }
}
