// Who sends a request: by its socket, its client certificate, its bearer token, or the session of its browser.

import { rfc3339 } from "../../lib/clock.ts";
import type { User } from "../http/exchange.ts";
import { cookieName, cookieOf, SESSION_KEY_HEADER } from "./browser-access.ts";
import type { FoundSession } from "./browser-sessions.ts";
import type { Access, PkiState } from "../secure/pki-state.ts";
import type { Peer } from "./peer.ts";

/** Root, over the unix socket. */
export const ROOT: User = { name: "root", groups: ["system:masters"], access: "Full" };

export type Found =
  /** `credential`: what proves the user; it can be revoked. */
  | {
      readonly type: "Found";
      readonly user: User;
      readonly credential: string;
      /** Of a browser's session. */
      readonly browser?: Pick<FoundSession, "hasKey">;
    }
  /** `why`: a sentence with a remedy. */
  | { readonly type: "Unknown"; readonly why: string };

export interface FindUserOptions {
  /** Who may come; undefined = only the unix socket is open. */
  readonly state: Pick<PkiState, "certificates" | "tokens"> | undefined;
  /** Wall-clock ms; undefined = not certain, so that no certificate has ended. */
  readonly now: number | undefined;
  /** Takes the same time for every token. */
  readonly isTokenOf: (token: string, sha256: string) => boolean;
  /** The session of a cookie, and whether the key is its own. */
  readonly session: (
    cookie: string | undefined,
    key: string | undefined,
  ) => FoundSession | undefined;
}

export type Header = (name: string) => string | undefined;

const GROUPS: Readonly<Record<Access, readonly string[]>> = {
  Full: ["system:masters", "system:authenticated"],
  ReadOnly: ["agent:read-only", "system:authenticated"],
};
const BEARER = /^bearer +([\w.~+/-]+=*)$/i;
const REMEDY = 'make a kubeconfig on the node with "sudo agent kubeconfig"';
export const BROWSER_REMEDY = 'run "sudo agent ui" on the node for a new address';

/** The certificate counts first, as for an API server, then the token; the session of a browser only without a token. */
export function findUser(
  peer: Peer,
  header: Header,
  { state, now, isTokenOf, session }: FindUserOptions,
): Found {
  if (peer.door === "unix") return { type: "Found", user: ROOT, credential: "unix" };
  const { fingerprint } = peer;
  const authorization = header("authorization");
  const certificate = state?.certificates.find(({ sha256 }) => sha256 === fingerprint);
  const hasEnded = now !== undefined && certificate !== undefined && certificate.notAfter <= now;
  if (certificate !== undefined && !hasEnded) return found(certificate);
  const token = bearerOf(authorization);
  const tokens = token === undefined ? [] : (state?.tokens ?? []);
  // All of them are compared, so that the time does not depend on the place.
  const [owner] = tokens.filter(({ sha256 }) => isTokenOf(token ?? "", sha256));
  if (owner !== undefined) return found(owner);
  const cookie = cookieOf(header("cookie"), cookieName(header("host") ?? ""));
  const own = authorization === undefined ? session(cookie, header(SESSION_KEY_HEADER)) : undefined;
  if (own !== undefined)
    return {
      ...found({ ...own, sha256: own.credential }),
      browser: { hasKey: own.hasKey },
    };
  return {
    type: "Unknown",
    why: `${whyUnknown()}: ${cookie === undefined ? REMEDY : BROWSER_REMEDY}`,
  };

  function whyUnknown(): string {
    if (hasEnded) return `the client certificate ended at ${rfc3339(certificate.notAfter)}`;
    if (authorization !== undefined) return "the token is unknown, or was revoked";
    if (cookie !== undefined) return "the session of this browser has ended";
    if (fingerprint === undefined)
      return "the request has neither a client certificate nor a token";
    return "the client certificate is unknown, or was revoked";
  }
}

/** undefined = the `Authorization` header has none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? "")?.[1];
}

function found({
  user: name,
  access,
  sha256,
}: {
  readonly user: string;
  readonly access: Access;
  readonly sha256: string;
}): Extract<Found, { type: "Found" }> {
  return { type: "Found", user: { name, groups: GROUPS[access], access }, credential: sha256 };
}
