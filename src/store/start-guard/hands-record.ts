// Performs: `stateDir/in-hand`, which names the work in hand, and the count of deaths in the database. The file is
// written without fsync: the kernel keeps its page when the process ends, and writes it to the disk at its leisure.

import { AgentError, messageOf } from "../../lib/errors.ts";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import type { Random } from "../../lib/random.ts";
import type { Meta } from "../meta.ts";
import {
  afterDeath,
  deathRecordText,
  handKey,
  inHandText,
  readDeathRecord,
  readInHand,
  type Deaths,
  type Hand,
} from "./hand.ts";

export interface HandsRecordOptions {
  readonly meta: Meta;
  readonly files: PlainFiles;
  readonly random: Random;
  readonly path: string;
}

const KEY = "start-guard";
const MAX_BYTES = 1024 * 1024;

export class HandsRecord {
  readonly #options: HandsRecordOptions;
  /** Names this process: its death is counted once. */
  readonly #process: string;
  readonly #held = new Map<string, { readonly hand: Hand; readonly times: number }>();
  #deaths: Deaths;
  /** What the last process held when it ended without a clean stop. */
  readonly diedIn: readonly Hand[];
  /** Why the file cannot be written; undefined = it can. The guard must not keep work from being done. */
  trouble: string | undefined;

  /** Counts the death of the last process, if it did not stop cleanly. */
  constructor(options: HandsRecordOptions) {
    this.#options = options;
    const { meta, random } = options;
    this.#process = random.hex(8);
    const { counted, deaths } = readDeathRecord(meta.get(KEY));
    const before = readInHand(this.#read());
    this.diedIn = before.process === counted ? [] : before.hands;
    this.#deaths = afterDeath(deaths, this.diedIn);
    if (this.diedIn.length > 0) this.#store(before.process);
    this.#write();
  }

  deaths(hand: Hand): number {
    return this.#deaths.get(handKey(hand)) ?? 0;
  }

  /** Written when it returns. A hand may be held several times at once. */
  hold(hand: Hand): void {
    const key = handKey(hand);
    this.#held.set(key, { hand, times: (this.#held.get(key)?.times ?? 0) + 1 });
    this.#write();
  }

  release(hand: Hand): void {
    const key = handKey(hand);
    const times = (this.#held.get(key)?.times ?? 0) - 1;
    if (times > 0) this.#held.set(key, { hand, times });
    else this.#held.delete(key);
    this.#write();
  }

  /** The work was done: earlier deaths had another cause. */
  forget(hand: Hand): void {
    const key = handKey(hand);
    if (!this.#deaths.has(key)) return;
    this.#deaths = new Map([...this.#deaths].filter(([other]) => other !== key));
    const { counted } = readDeathRecord(this.#options.meta.get(KEY));
    this.#store(counted);
  }

  /** A clean stop: what is still in hand has ended nothing. */
  stopped(): void {
    this.#held.clear();
    this.#write();
  }

  /** On a full disk the counts are in memory only. */
  #store(counted: string): void {
    const { meta } = this.#options;
    const text = deathRecordText({ counted, deaths: this.#deaths });
    try {
      meta.set(KEY, text, "full");
    } catch (thrown) {
      if (!(thrown instanceof AgentError)) throw thrown;
      this.trouble = messageOf(thrown);
    }
  }

  #read(): string {
    const { files, path } = this.#options;
    if (files.info(path) === undefined) return "";
    return this.#attempt(() => new TextDecoder().decode(files.read(path, MAX_BYTES))) ?? "";
  }

  #write(): void {
    const { files, path } = this.#options;
    const hands = [...this.#held.values()].map(({ hand }) => hand);
    const text = inHandText({ process: this.#process, hands });
    this.#attempt(() => files.writeInPlace(path, text, 0o600));
  }

  #attempt<T>(run: () => T): T | undefined {
    try {
      const result = run();
      this.trouble = undefined;
      return result;
    } catch (thrown) {
      if (!(thrown instanceof AgentError)) throw thrown;
      this.trouble = messageOf(thrown);
      return undefined;
    }
  }
}
