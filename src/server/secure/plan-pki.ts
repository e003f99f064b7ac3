// Decides which certificate is due. The wall clock of a device may be wrong in both directions: a certificate is renewed
// early rather than late, and nothing that still counts is dropped by a clock that is not certain.

import type { Authority, PkiState } from "./pki-state.ts";

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
/** Of the server's certificate, and of those of users. */
const CERTIFICATE_DAYS = 365;
/** Each leap of a wrong clock adds one. */
const MAX_AUTHORITIES = 4;
/** Of a certificate's life; then its successor is due. */
const RENEW_SHARE = 2 / 3;
/** Names and addresses in one certificate. */
const MAX_NAMES = 64;

/** When a certificate that is issued now ends, and is renewed, in wall-clock ms. */
export interface Lifetime {
  readonly notAfter: number;
  readonly renewAt: number;
}

function lifetime(now: number, days: number): Lifetime {
  const ms = days * DAY_MS;
  return { notAfter: now + ms, renewAt: now + ms * RENEW_SHARE };
}

export function authorityLifetime(now: number): Lifetime {
  return lifetime(now, AUTHORITY_DAYS);
}

/** Never longer than that of its authority. */
export function certificateLifetime(now: number, { notAfter }: Authority): Lifetime {
  const whole = lifetime(now, CERTIFICATE_DAYS);
  return { ...whole, notAfter: Math.min(whole.notAfter, notAfter) };
}

export function isAuthorityDue({ authorities }: PkiState, now: number): boolean {
  const [newest] = authorities;
  if (newest === undefined) return true;
  return newest.renewAt <= now && authorities.length < MAX_AUTHORITIES;
}

/**
 * The authority of the server's certificate: the oldest that outlives it, because clients that were set up before the
 * newest one came know only that. undefined = there is none.
 */
export function serverAuthority(
  { authorities }: Pick<PkiState, "authorities">,
  now: number,
): Authority | undefined {
  const end = now + CERTIFICATE_DAYS * DAY_MS;
  return authorities.findLast(({ notAfter }) => notAfter >= end) ?? authorities[0];
}

/** A name that the node no longer has does no harm until the next renewal: addresses come and go. */
export function isServerDue(
  state: PkiState,
  { now, names }: { readonly now: number; readonly names: readonly string[] },
): boolean {
  const { server, authorities } = state;
  if (server === undefined || server.renewAt <= now) return true;
  if (authorities.every(({ id }) => id !== server.issuer)) return true;
  return certifiable(names).some((name) => !server.names.includes(name));
}

/** Those that one certificate holds. */
export function certifiable(names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MAX_NAMES);
}

/** `now`: undefined = the clock is not certain. */
export function withoutEnded(state: PkiState, now: number | undefined): PkiState {
  if (now === undefined) return state;
  const lives = ({ notAfter }: { readonly notAfter: number }): boolean => notAfter > now;
  return {
    ...state,
    // A server without any authority could not renew its certificate.
    authorities: state.authorities.filter((one, index) => index === 0 || lives(one)),
    certificates: state.certificates.filter(lives),
  };
}
