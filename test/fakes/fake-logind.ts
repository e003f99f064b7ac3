// A systemd-logind that a test shuts down: it grants no lock meanwhile, and goes on when every lock is released.

import type { Logind, ShutdownLock } from "../../src/host/logind/logind.ts";
import { AgentError } from "../../src/lib/errors.ts";
import { Mailbox } from "../../src/lib/mailbox.ts";

type News = { readonly goesOff: boolean } | "lost";

export class FakeLogind implements Logind {
  confDir = "/etc/systemd/logind.conf.d";
  limitMs = 5_000;
  /** What a reload makes of the limit; undefined = it stays. */
  nextLimitMs: number | undefined;
  reloads = 0;
  isThere = true;
  #goesOff = false;
  readonly #locks = new Set<Mailbox<News>>();

  get locks(): number {
    return this.#locks.size;
  }

  /** The machine is about to go off. */
  prepare(): void {
    this.#goesOff = true;
    this.#tell({ goesOff: true });
  }

  /** It is not any more. */
  cancel(): void {
    this.#goesOff = false;
    this.#tell({ goesOff: false });
  }

  /** Its programs have ended, without anyone's wish. */
  lose(): void {
    this.#tell("lost");
    this.#locks.clear();
  }

  lock(): Promise<ShutdownLock> {
    if (!this.isThere) return Promise.reject(refusal("NoProgram", "there is no such program"));
    if (this.#goesOff) return Promise.reject(refusal("NoLock", "is already running"));
    const news = new Mailbox<News>();
    this.#locks.add(news);
    return Promise.resolve({
      next: async () => {
        const one = await news.receive(new AbortController().signal);
        return one === undefined || one === "lost" ? undefined : one.goesOff;
      },
      [Symbol.dispose]: () => this.#locks.delete(news),
    });
  }

  maxDelayMs(): Promise<number> {
    if (!this.isThere) return Promise.reject(refusal("NoProgram", "there is no such program"));
    return Promise.resolve(this.limitMs);
  }

  reload(): Promise<void> {
    this.reloads += 1;
    this.limitMs = this.nextLimitMs ?? this.limitMs;
    return Promise.resolve();
  }

  #tell(news: News): void {
    for (const lock of this.#locks) lock.send(news);
  }
}

function refusal(reason: string, message: string): AgentError {
  return new AgentError({ reason, message });
}
