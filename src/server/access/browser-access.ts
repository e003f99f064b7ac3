// One-time tokens and sessions of browsers, as data: which of them count, and which give way to newer ones.

import type { Monotonic } from "../../lib/clock.ts";
import type { Access } from "../secure/pki-state.ts";

export interface Holder {
  readonly user: string;
  readonly access: Access;
}

/** Opens one session. */
export interface OneTimeToken extends Holder {
  readonly sha256: string;
  readonly endsAt: Monotonic;
}

export interface BrowserSession extends Holder {
  /** sha256 of what the cookie has. */
  readonly cookie: string;
  /** sha256 of what the page keeps for its own origin, and sends as SESSION_KEY_HEADER. */
  readonly key: string;
  readonly endsAt: Monotonic;
}

export interface BrowserAccess {
  /** The oldest is the first. */
  readonly tokens: readonly OneTimeToken[];
  readonly sessions: readonly BrowserSession[];
}

export const NO_BROWSERS: BrowserAccess = { tokens: [], sessions: [] };
/** A person copies the address to another machine, and answers the question about the certificate. */
export const TOKEN_MS = 120_000;
/** A working day. */
export const SESSION_MS = 43_200_000;
/** Beyond it the oldest gives way: each was ordered by root. */
export const MAX_TOKENS = 16;
export const MAX_SESSIONS = 16;

/** A cookie is sent to every port of a host, so that it proves less than an origin; a header of the page does not leave it. */
export const SESSION_KEY_HEADER = "agent-session-key";

export function withToken(access: BrowserAccess, token: OneTimeToken, now: Monotonic) {
  const kept = access.tokens.filter(counts(now)).slice(1 - MAX_TOKENS);
  return { ...access, tokens: [...kept, token] };
}

/** The token is deleted, so that a second request with it is refused. */
export function takeToken(
  access: BrowserAccess,
  now: Monotonic,
  isTokenOf: (sha256: string) => boolean,
): { readonly access: BrowserAccess; readonly token: OneTimeToken | undefined } {
  const left = access.tokens.filter(counts(now));
  // All of them are compared, so that the time does not depend on the place.
  const [token] = left.filter(({ sha256 }) => isTokenOf(sha256));
  return { access: { ...access, tokens: left.filter((one) => one !== token) }, token };
}

export function withSession(access: BrowserAccess, session: BrowserSession, now: Monotonic) {
  const kept = access.sessions.filter(counts(now)).slice(1 - MAX_SESSIONS);
  return { ...access, sessions: [...kept, session] };
}

export function findSession(
  { sessions }: BrowserAccess,
  now: Monotonic,
  isCookieOf: (sha256: string) => boolean,
): BrowserSession | undefined {
  return sessions.filter(counts(now)).find(({ cookie }) => isCookieOf(cookie));
}

/** Without what `isGone` names. */
export function without(access: BrowserAccess, isGone: (one: Holder) => boolean): BrowserAccess {
  return {
    tokens: access.tokens.filter((one) => !isGone(one)),
    sessions: access.sessions.filter((one) => !isGone(one)),
  };
}

/** Of the port under which the browser knows this node: two nodes behind tunnels may share a host. */
export function cookieName(host: string): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1] ?? "443";
  // The prefix: only over TLS, for all paths, and set by no other host.
  return `__Host-agent-${port}`;
}

/** The value of a cookie in a `Cookie` header; undefined = it is not there. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** The `Set-Cookie` header. `value`: undefined = the browser forgets it. */
export function setCookie(name: string, value: string | undefined): string {
  const seconds = value === undefined ? 0 : SESSION_MS / 1000;
  return `${name}=${value ?? ""}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Strict`;
}

function counts(now: Monotonic): (one: { readonly endsAt: Monotonic }) => boolean {
  return ({ endsAt }) => now < endsAt;
}
