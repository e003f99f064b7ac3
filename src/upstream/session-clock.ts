// Performs: numbers each message inside a session, without a write per message.

import type { Speaker } from "./report/report.ts";

export interface SpeakerOptions {
  readonly incarnation: string;
  /** A session number for what is said before the first connection of this process. */
  readonly firstSession: number;
  /** Number of the present connection; undefined = none. */
  readonly session: () => number | undefined;
}

/** (session, seq) only grows: seq within the process, session from process to process. */
export class NextSpeaker {
  readonly #options: SpeakerOptions;
  #session: number;
  #seq = 0;

  constructor(options: SpeakerOptions) {
    this.#options = options;
    this.#session = options.firstSession;
  }

  next(): Speaker {
    this.#session = Math.max(this.#session, this.#options.session() ?? 0);
    this.#seq += 1;
    return { incarnation: this.#options.incarnation, session: this.#session, seq: this.#seq };
  }
}
