// Performs: rate-limited log lines about refused messages: a flood of different invalid messages must not fill the disk.

import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./logger.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "./token-bucket.ts";

const LINES: TokenBucketPolicy = { burst: 20, perSecond: 0.1 };

export class RefusalLog {
  readonly #clock: Clock;
  readonly #log: Logger;
  #bucket: TokenBucket | undefined;
  /** Suppressed since the last line. */
  #unlogged = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The field `unlogged` counts the lines that were suppressed before this one. */
  warn(message: string, facts: LogFields): void {
    const bucket = takeToken(this.#bucket, this.#clock.monotonic(), LINES);
    if (bucket === undefined) {
      this.#unlogged += 1;
      return;
    }
    this.#bucket = bucket;
    this.#log.warn(message, this.#unlogged === 0 ? facts : { ...facts, unlogged: this.#unlogged });
    this.#unlogged = 0;
  }
}
