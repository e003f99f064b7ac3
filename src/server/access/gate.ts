// Performs: lets requests in: who sends it, whether that user may make it, and how many requests of the user are running.
// Sessions of browsers begin and end here too, before and after there is a user.

import type { Duplex } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isSha256Of } from "../../lib/system-sha256.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../../lib/token-bucket.ts";
import type { Answer, User } from "../http/exchange.ts";
import { json } from "../answer.ts";
import { refusal } from "../kube/kube-status.ts";
import { loginPage } from "../page/login-page.ts";
import type { PkiState } from "../secure/pki-state.ts";
import { cookieName, cookieOf, setCookie } from "./browser-access.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { bearerOf, BROWSER_REMEDY, findUser, type Found } from "./find-user.ts";
import {
  isOfOwnPage,
  judgeRequest,
  judgeSender,
  SESSION_PATH,
  type JudgedRequest,
} from "./judge-request.ts";
import type { Peer } from "./peer.ts";

/** What the TLS listener knows. */
export interface KnownUsers {
  /** undefined = only the unix socket is open. */
  readonly state: () => PkiState | undefined;
  /** Names and addresses of this node. */
  readonly hosts: () => ReadonlySet<string>;
  /** Wall-clock ms; undefined = the clock is not certain. */
  readonly certainTime: () => number | undefined;
  /** undefined = there are no sessions. */
  readonly browsers: BrowserSessions | undefined;
}

export interface GateOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly users: KnownUsers;
}

export type Asked = Omit<JudgedRequest, "user" | "browser"> & { readonly socket: Duplex };

export type Admission =
  /** `leave`: when the request has ended, or the connection that it took over. */
  | { readonly type: "Admitted"; readonly user: User; readonly leave: () => void }
  /** The connection ends with the answer, which is given after `waitMs`: a refusal, or about a session. */
  | { readonly type: "Answered"; readonly answer: Answer; readonly waitMs: number };

/** Of one user at once: requests, watches, streams. */
const MAX_RUNNING = 128;
/** Of all read-only users, who must not keep out the others. */
const MAX_READ_ONLY = 192;
/** On the unix socket. */
const MAX_LOCAL = 512;
/** Answers to unknown users at once, then one a second: guessing and flooding become slow. Known users never wait. */
const UNKNOWN: TokenBucketPolicy = { burst: 20, perSecond: 1 };
const UNKNOWN_WAIT_MS = 2000;
/** Lines of the log about unknown users. */
const LOGGED: TokenBucketPolicy = { burst: 5, perSecond: 1 / 60 };
const MAX_LOGGED = 200;

export class Gate {
  readonly #options: GateOptions;
  /** Connections of running requests, by what has proved the user. */
  readonly #running = new Map<string, Map<symbol, Duplex>>();
  readonly #counts = new Map<string, number>();
  #unknown: TokenBucket | undefined;
  #logged: TokenBucket | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Before anything else of the request is looked at. */
  admit(asked: Asked): Admission {
    const { users } = this.#options;
    const isSession = asked.peer.door === "tls" && asked.url.pathname === SESSION_PATH;
    if (isSession && asked.method === "POST") return this.#beginSession(asked);
    const found = findUser(asked.peer, asked.header, {
      state: users.state(),
      now: users.certainTime(),
      isTokenOf: isSha256Of,
      session: (cookie, key) => users.browsers?.find(cookie, key),
    });
    if (found.type === "Unknown") return this.#unknownUser(asked, found.why);
    const { user, browser } = found;
    const refused = judgeRequest({ ...asked, user, browser }, users.hosts());
    if (refused !== undefined) return { type: "Answered", answer: refused, waitMs: 0 };
    if (isSession && asked.method === "DELETE") return this.#endSession(asked, found);
    return this.#enter(asked, found);
  }

  /** Ends every running request whose user is proved by one of these. */
  end(credentials: readonly string[]): void {
    const sockets = credentials.flatMap((one) => [...(this.#running.get(one)?.values() ?? [])]);
    for (const socket of sockets) socket.destroy();
  }

  #enter(
    { socket, peer }: Asked,
    { user, credential }: Extract<Found, { type: "Found" }>,
  ): Admission {
    const limits = limitsOf(peer, user);
    const full = limits.find(({ key, most }) => (this.#counts.get(key) ?? 0) >= most);
    if (full !== undefined)
      return { type: "Answered", answer: tooMany(user, full.most), waitMs: 0 };
    const id = Symbol("request");
    const running = this.#running.get(credential) ?? new Map<symbol, Duplex>();
    this.#running.set(credential, running.set(id, socket));
    this.#count(limits, 1);
    const leave = (): void => {
      if (!running.delete(id)) return;
      if (running.size === 0 && this.#running.get(credential) === running)
        this.#running.delete(credential);
      this.#count(limits, -1);
    };
    return { type: "Admitted", user, leave };
  }

  #count(limits: readonly Limit[], change: 1 | -1): void {
    for (const { key } of limits) {
      const count = (this.#counts.get(key) ?? 0) + change;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }

  /** The one-time token comes as a bearer token: nothing logs that, and no other page can make a browser send it. */
  #beginSession(asked: Asked): Admission {
    const { users, log } = this.#options;
    const { header, peer } = asked;
    const foreign = judgeSender(asked, users.hosts());
    if (foreign !== undefined) return this.#toUnknown(foreign);
    if (!isOfOwnPage(asked))
      return this.#toUnknown(refusal(403, "a session begins on the page of this node only"));
    const name = cookieName(header("host") ?? "");
    const token = bearerOf(header("authorization")) ?? "";
    const begun = users.browsers?.begin(token, cookieOf(header("cookie"), name));
    if (begun === undefined)
      return this.#unknownUser(
        asked,
        `this address was used already, or its time is over: ${BROWSER_REMEDY}`,
      );
    const { user, access, cookie, key } = begun;
    log.info("a browser begins a session", { user, access, address: addressOf(peer) });
    const view = { apiVersion: "agent/v1", kind: "BrowserSession", user, access, key };
    return sessionAnswer(view, setCookie(name, cookie));
  }

  #endSession({ header }: Asked, { credential }: Extract<Found, { type: "Found" }>): Admission {
    this.#options.users.browsers?.end(credential);
    const view = {
      apiVersion: "agent/v1",
      kind: "BrowserSession",
      message: "the session has ended",
    };
    return sessionAnswer(view, setCookie(cookieName(header("host") ?? ""), undefined));
  }

  #unknownUser(asked: Asked, why: string): Admission {
    const page = loginPage(asked);
    // Everyone who opens an address of "agent ui" comes without a session first.
    if (page !== undefined) return this.#toUnknown(page);
    this.#logUnknown(asked, why);
    const headers = { "www-authenticate": 'Bearer realm="agent"' };
    return this.#toUnknown({ ...refusal(401, why), headers });
  }

  #logUnknown({ peer, method, url }: Asked, why: string): void {
    const { clock, log } = this.#options;
    const now = clock.monotonic();
    const logged = takeToken(this.#logged, now, LOGGED);
    this.#logged = logged ?? this.#logged;
    if (logged === undefined) return;
    const [address, path] = [addressOf(peer), url.pathname.slice(0, MAX_LOGGED)];
    log.warn("refused a request of an unknown user", { address, method, path, why });
  }

  #toUnknown(answer: Answer): Admission {
    const place = takeToken(this.#unknown, this.#options.clock.monotonic(), UNKNOWN);
    this.#unknown = place ?? this.#unknown;
    return { type: "Answered", answer, waitMs: place === undefined ? UNKNOWN_WAIT_MS : 0 };
  }
}

function addressOf(peer: Peer): string {
  return peer.door === "tls" ? peer.address : "";
}

function sessionAnswer(view: object, cookie: string): Admission {
  const headers = { "set-cookie": cookie, "cache-control": "no-store" };
  return { type: "Answered", answer: { ...json(view), headers }, waitMs: 0 };
}

interface Limit {
  /** Whose requests are counted together. */
  readonly key: string;
  readonly most: number;
}

function limitsOf({ door }: Peer, { name, access }: User): readonly Limit[] {
  if (door === "unix") return [{ key: door, most: MAX_LOCAL }];
  const own = { key: `${access} ${name}`, most: MAX_RUNNING };
  return access === "Full" ? [own] : [own, { key: access, most: MAX_READ_ONLY }];
}

function tooMany({ name }: User, most: number): Answer {
  const message = `user ${JSON.stringify(name)}: ${most} requests are running; end some, or try again`;
  return { ...refusal(429, message), headers: { "retry-after": "1" } };
}
