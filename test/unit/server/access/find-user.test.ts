import { describe, expect, test } from "bun:test";
import { findUser } from "../../../../src/server/access/find-user.ts";
import type { Peer } from "../../../../src/server/access/peer.ts";

const state = {
  certificates: [
    { user: "admin", access: "Full", sha256: "c1", notAfter: 1000 },
    { user: "viewer", access: "ReadOnly", sha256: "c2", notAfter: 2000 },
  ],
  tokens: [
    { user: "ci", access: "Full", sha256: "#good" },
    { user: "prometheus", access: "ReadOnly", sha256: "#other" },
  ],
} as const;

interface Asked {
  readonly fingerprint?: string;
  readonly authorization?: string;
  readonly now?: number;
  readonly cookie?: string;
  readonly key?: string;
}

const NO_HEADERS = (): undefined => undefined;
const NO_SESSIONS = (): undefined => undefined;

/** Of the cookie `mine` with the key `own`. */
function sessionOf(cookie: string | undefined, key: string | undefined) {
  if (cookie !== "mine") return undefined;
  return { user: "web", access: "ReadOnly", credential: "s1", hasKey: key === "own" } as const;
}

function found({ fingerprint, authorization, now, cookie, key }: Asked): string {
  const headers: Readonly<Record<string, string | undefined>> = {
    host: "pi-1:6450",
    authorization,
    cookie,
    "agent-session-key": key,
  };
  const peer: Peer = { door: "tls", address: "", fingerprint };
  const isTokenOf = (token: string, sha256: string): boolean => sha256 === `#${token}`;
  const options = { state, now, isTokenOf, session: sessionOf };
  const result = findUser(peer, (name) => headers[name], options);
  if (result.type === "Unknown") return result.why.split(":")[0] ?? "";
  const { user, credential } = result;
  const proof = result.browser === undefined ? "" : result.browser.hasKey ? " key" : " no key";
  return `${user.name} ${user.access} ${user.groups[0]} ${credential}${proof}`;
}

const cases: Readonly<Record<string, readonly [Asked, string]>> = {
  "without any proof": [{}, "the request has neither a client certificate nor a token"],
  "a certificate proves its user": [{ fingerprint: "c1" }, "admin Full system:masters c1"],
  "another one proves another": [{ fingerprint: "c2" }, "viewer ReadOnly agent:read-only c2"],
  "an unknown certificate": [
    { fingerprint: "c3" },
    "the client certificate is unknown, or was revoked",
  ],
  "a token proves its user": [{ authorization: "Bearer good" }, "ci Full system:masters #good"],
  "the scheme has no case": [{ authorization: "bearer  good" }, "ci Full system:masters #good"],
  "a token beside an unknown certificate": [
    { fingerprint: "c3", authorization: "Bearer other" },
    "prometheus ReadOnly agent:read-only #other",
  ],
  "a certificate beside an unknown token": [
    { fingerprint: "c1", authorization: "Bearer bad" },
    "admin Full system:masters c1",
  ],
  "an unknown token": [{ authorization: "Bearer bad" }, "the token is unknown, or was revoked"],
  "an empty token": [{ authorization: "Bearer " }, "the token is unknown, or was revoked"],
  "two tokens": [
    { authorization: "Bearer good, Bearer good" },
    "the token is unknown, or was revoked",
  ],
  "a password": [{ authorization: "Basic Z29vZA==" }, "the token is unknown, or was revoked"],
  "a certificate that has ended": [
    { fingerprint: "c1", now: 1000 },
    "the client certificate ended at 1970-01-01T00",
  ],
  "a certificate that may have ended, by a clock that is not certain": [
    { fingerprint: "c1" },
    "admin Full system:masters c1",
  ],
  "a token beside a certificate that has ended": [
    { fingerprint: "c1", now: 1000, authorization: "Bearer good" },
    "ci Full system:masters #good",
  ],
  "the session of a browser, with the key of its page": [
    { cookie: "a=b; __Host-agent-6450=mine; c=d", key: "own" },
    "web ReadOnly agent:read-only s1 key",
  ],
  "the session of a browser, without it": [
    { cookie: "__Host-agent-6450=mine" },
    "web ReadOnly agent:read-only s1 no key",
  ],
  "the session of another port": [
    { cookie: "__Host-agent-6451=mine" },
    "the request has neither a client certificate nor a token",
  ],
  "a session that has ended": [
    { cookie: "__Host-agent-6450=other", key: "own" },
    "the session of this browser has ended",
  ],
  "a session beside a certificate": [
    { cookie: "__Host-agent-6450=mine", fingerprint: "c1" },
    "admin Full system:masters c1",
  ],
  "a session beside an unknown token": [
    { cookie: "__Host-agent-6450=mine", authorization: "Bearer bad" },
    "the token is unknown, or was revoked",
  ],
};

describe("who asks", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [asked, expected]) => {
    expect(found(asked)).toBe(expected);
  });

  test("without users only the unix socket proves one", () => {
    const isTokenOf = (): boolean => true;
    const options = { state: undefined, now: undefined, isTokenOf, session: NO_SESSIONS };
    const bearer = (name: string) => (name === "authorization" ? "Bearer good" : undefined);
    const tls = { door: "tls", address: "", fingerprint: "c1" } as const;
    expect(findUser(tls, bearer, options).type).toBe("Unknown");
    expect(findUser({ door: "unix" }, NO_HEADERS, options)).toMatchObject({
      type: "Found",
      user: { name: "root", access: "Full" },
    });
  });

  test("what is missing is named with its remedy", () => {
    const tls = { door: "tls", address: "", fingerprint: undefined } as const;
    const isTokenOf = (): boolean => false;
    const options = { state, now: undefined, isTokenOf, session: NO_SESSIONS };
    expect(findUser(tls, NO_HEADERS, options)).toEqual({
      type: "Unknown",
      why: 'the request has neither a client certificate nor a token: make a kubeconfig on the node with "sudo agent kubeconfig"',
    });
  });
});
