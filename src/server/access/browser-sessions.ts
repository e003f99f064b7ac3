// Performs: keeps one-time tokens and sessions of browsers, in memory only and as hashes: a restart of the agent ends them.

import type { Clock, Monotonic } from "../../lib/clock.ts";
import { randomSecret, type Random } from "../../lib/random.ts";
import { isSha256Of, sha256 } from "../../lib/system-sha256.ts";
import {
  findSession,
  NO_BROWSERS,
  SESSION_MS,
  takeToken,
  TOKEN_MS,
  without,
  withSession,
  withToken,
  type BrowserAccess,
  type BrowserSession,
  type Holder,
} from "./browser-access.ts";

export interface BrowserSessionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends what runs for these credentials. */
  readonly end: (credentials: readonly string[]) => void;
}

export interface BegunSession extends Holder {
  readonly cookie: string;
  readonly key: string;
}

/** What a request proves of a session. */
export interface FoundSession extends Holder {
  readonly credential: string;
  /** Whether the page's own key came too. */
  readonly hasKey: boolean;
}

export interface ListedSession extends Holder {
  readonly endsAt: Monotonic;
}

export class BrowserSessions {
  readonly #options: BrowserSessionsOptions;
  readonly #timers = new Map<string, Disposable>();
  #access: BrowserAccess = NO_BROWSERS;

  constructor(options: BrowserSessionsOptions) {
    this.#options = options;
  }

  /** A new one-time token. */
  offer(holder: Holder): string {
    const { clock, random } = this.#options;
    const token = randomSecret(random);
    const now = clock.monotonic();
    const offered = { ...holder, sha256: sha256(token), endsAt: now + TOKEN_MS };
    this.#access = withToken(this.#access, offered, now);
    return token;
  }

  /** Takes a one-time token for a session; undefined = there is no such token. The session that the browser had ends. */
  begin(written: string, cookieBefore: string | undefined): BegunSession | undefined {
    const { clock, random } = this.#options;
    const now = clock.monotonic();
    const { access, token } = takeToken(this.#access, now, (digest) => isSha256Of(written, digest));
    this.#access = access;
    if (token === undefined) return undefined;
    const { user, access: rights } = token;
    const [cookie, key] = [randomSecret(random), randomSecret(random)];
    const before = this.#find(cookieBefore);
    if (before !== undefined) this.#keep(without(this.#access, (one) => one === before));
    const holder = { user, access: rights };
    const session = {
      ...holder,
      cookie: sha256(cookie),
      key: sha256(key),
      endsAt: now + SESSION_MS,
    };
    this.#keep(withSession(this.#access, session, now));
    return { ...holder, cookie, key };
  }

  /** undefined = the cookie is that of no session. */
  find(cookie: string | undefined, key: string | undefined): FoundSession | undefined {
    const session = this.#find(cookie);
    if (session === undefined) return undefined;
    const { user, access, cookie: credential } = session;
    return { user, access, credential, hasKey: isSha256Of(key ?? "", session.key) };
  }

  /** Of a request that proves it. */
  end(credential: string): void {
    this.#keep(without(this.#access, (one) => "cookie" in one && one.cookie === credential));
  }

  /** Also the tokens; undefined = of all users. The number of those that have ended. */
  revoke(user?: string): number {
    const count = (): number => this.#access.sessions.length + this.#access.tokens.length;
    const before = count();
    this.#keep(without(this.#access, (one) => user === undefined || one.user === user));
    return before - count();
  }

  list(): readonly ListedSession[] {
    const now = this.#options.clock.monotonic();
    return this.#access.sessions.filter(({ endsAt }) => now < endsAt);
  }

  #find(cookie: string | undefined): BrowserSession | undefined {
    if (cookie === undefined) return undefined;
    const now = this.#options.clock.monotonic();
    return findSession(this.#access, now, (digest) => isSha256Of(cookie, digest));
  }

  /** Ends what runs for sessions that are gone, and each session at its time. */
  #keep(access: BrowserAccess): void {
    const { clock, end } = this.#options;
    this.#access = access;
    const now = clock.monotonic();
    const left = new Map(access.sessions.map(({ cookie, endsAt }) => [cookie, endsAt]));
    const gone = [...this.#timers.keys()].filter((cookie) => !left.has(cookie));
    for (const cookie of gone) {
      this.#timers.get(cookie)?.[Symbol.dispose]();
      this.#timers.delete(cookie);
    }
    for (const [cookie, endsAt] of left)
      if (!this.#timers.has(cookie))
        this.#timers.set(
          cookie,
          clock.after(endsAt - now, () => this.end(cookie)),
        );
    if (gone.length > 0) end(gone);
  }
}
