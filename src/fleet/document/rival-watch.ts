// Performs: detects other operators: what they publish on a topic from the time it was read until the published document
// was read back.

import { CliError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { readRetained, type RetainedDocument } from "./retained-document.ts";
import type { OperatorSession } from "../operator-session.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { type Published } from "./apply-progress.ts";

/** What is published within this time was made without knowing each other. */
export const SAME_TIME_MS = 500;

/** Lasts as long as the session. */
export class RivalWatch {
  readonly #session: OperatorSession;
  readonly #topic: string;
  /** The document when the topic was first read. */
  readonly #read: RetainedDocument | undefined;
  /** By digest; judged at the end. */
  readonly #seen = new Map<string, RetainedDocument>();

  constructor(session: OperatorSession, topic: string) {
    this.#session = session;
    this.#topic = topic;
    this.#read = this.#held();
    session.listen((message) => {
      const found = message.topic === topic ? readRetained(message.payload, sha256) : undefined;
      if (found !== undefined) this.#seen.set(found.digest, found);
    });
  }

  /** To be called right before publishing. Throws CliError when the retained document has changed since it was read. */
  refuseChange(): void {
    const now = this.#held();
    if (now?.digest === this.#read?.digest) return;
    const what =
      now === undefined
        ? "cleared the document"
        : `published generation ${now.generation}: ${described(now)}`;
    throw new CliError(
      `another operator has just ${what}; nothing was published, check that change and apply again`,
    );
  }

  /** Throws CliError when the broker does not retain the published document, or when another operator published one that
   * a node may have accepted instead. */
  async readBack(published: Published): Promise<void> {
    await this.#session.subscribe([this.#topic]);
    this.#refuseOther(published);
  }

  /** The same for half a second more: another operator may not have received the document when publishing. */
  async watch(published: Published): Promise<void> {
    await this.#session.until(() => this.#rivalOf(published), { ms: SAME_TIME_MS });
    this.#refuseOther(published);
  }

  #rivalOf({ digest, epoch, generation }: Published): RetainedDocument | undefined {
    return [...this.#seen.values()].find(
      (one) =>
        one.digest !== digest &&
        one.digest !== this.#read?.digest &&
        (one.epoch !== epoch || one.generation >= generation),
    );
  }

  #refuseOther(published: Published): void {
    const rival = this.#rivalOf(published);
    if (rival !== undefined)
      throw new CliError(
        `another operator published generation ${rival.generation} at the same time: ${described(rival)}; agree with them, then apply again`,
      );
    const found = this.#held();
    if (found?.digest === published.digest) return;
    const holds = found === undefined ? "nothing" : `generation ${found.generation}`;
    throw new CliError(`the broker holds ${holds} on ${this.#topic} instead of what was published`);
  }

  #held(): RetainedDocument | undefined {
    return readRetained(this.#session.latest.get(this.#topic), sha256);
  }
}

function described({ digest, keyids, issuedAt }: RetainedDocument): string {
  const by = keyids.length === 0 ? "unsigned" : `signed by ${keyids.join(", ")}`;
  const when = issuedAt === undefined ? "" : `, issued ${printable(issuedAt)}`;
  return `${digest}, ${by}${when}`;
}
