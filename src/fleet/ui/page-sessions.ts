// Performs: keeps the sessions of browsers that have sent the token, in memory and as hashes: they end with the command.

import type { Clock } from "../../lib/clock.ts";
import { randomSecret, type Random } from "../../lib/random.ts";
import { isSha256Of, sha256 } from "../../lib/system-sha256.ts";
import {
  cookieOf,
  findSession,
  NO_BROWSERS,
  SESSION_MS,
  withSession,
  type BrowserAccess,
} from "../../server/access/browser-access.ts";

export interface BegunPageSession {
  /** The `Set-Cookie` header. */
  readonly setCookie: string;
  /** What the page keeps for its own origin: a cookie alone goes to every port of its host. */
  readonly key: string;
}

export interface PageSessionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly isSecure: boolean;
}

/** All of them may do the same. */
const HOLDER = { user: "page", access: "Full" } as const;

export class PageSessions {
  readonly #options: PageSessionsOptions;
  #access: BrowserAccess = NO_BROWSERS;

  constructor(options: PageSessionsOptions) {
    this.#options = options;
  }

  /** For a browser that has sent the token to this `Host`. Beyond so many the oldest session ends. */
  begin(host: string): BegunPageSession {
    const { clock, random, isSecure } = this.#options;
    const now = clock.monotonic();
    const [cookie, key] = [randomSecret(random), randomSecret(random)];
    const session = {
      ...HOLDER,
      cookie: sha256(cookie),
      key: sha256(key),
      endsAt: now + SESSION_MS,
    };
    this.#access = withSession(this.#access, session, now);
    const rest = `Path=/; Max-Age=${SESSION_MS / 1_000}; HttpOnly; SameSite=Strict`;
    const setCookie = `${this.#name(host)}=${cookie}; ${rest}${isSecure ? "; Secure" : ""}`;
    return { setCookie, key };
  }

  /** Whether cookie and key of a request belong to one session. */
  has(host: string, cookies: string | undefined, key: string | undefined): boolean {
    const cookie = cookieOf(cookies, this.#name(host));
    if (cookie === undefined || key === undefined) return false;
    const now = this.#options.clock.monotonic();
    const session = findSession(this.#access, now, (digest) => isSha256Of(cookie, digest));
    return session !== undefined && isSha256Of(key, session.key);
  }

  /** Of the port under which the browser knows this page: two of them behind tunnels may share a host. */
  #name(host: string): string {
    const { isSecure } = this.#options;
    const port = /:(\d{1,5})$/.exec(host)?.[1] ?? (isSecure ? "443" : "80");
    return `${isSecure ? "__Host-" : ""}agent-fleet-${port}`;
  }
}
