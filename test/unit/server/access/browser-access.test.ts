import { describe, expect, test } from "bun:test";
import {
  cookieName,
  cookieOf,
  findSession,
  MAX_SESSIONS,
  MAX_TOKENS,
  NO_BROWSERS,
  setCookie,
  takeToken,
  without,
  withSession,
  withToken,
} from "../../../../src/server/access/browser-access.ts";

const HOLDER = { user: "admin", access: "Full" } as const;
const token = (sha256: string, endsAt: number) => ({ ...HOLDER, sha256, endsAt });
const session = (cookie: string, endsAt: number) => ({ ...HOLDER, cookie, key: "k", endsAt });

describe("a one-time token", () => {
  test("is taken once, before its time is over", () => {
    const access = withToken(NO_BROWSERS, token("a", 100), 0);
    expect(takeToken(access, 99, (one) => one === "b").token).toBeUndefined();
    const taken = takeToken(access, 99, (one) => one === "a");
    expect(taken.token).toEqual(token("a", 100));
    expect(takeToken(taken.access, 99, () => true).token).toBeUndefined();
    expect(takeToken(access, 100, () => true).token).toBeUndefined();
  });

  test("is compared with all, and gives way to newer ones", () => {
    let access = NO_BROWSERS;
    for (let index = 0; index < 10_000; index += 1)
      access = withToken(access, token(`t${index}`, 100), 0);
    expect(access.tokens.map(({ sha256 }) => sha256)).toEqual(
      Array.from({ length: MAX_TOKENS }, (_, index) => `t${10_000 - MAX_TOKENS + index}`),
    );
    let compared = 0;
    takeToken(access, 0, (one) => (compared += 1) > 0 && one === `t${10_000 - MAX_TOKENS}`);
    expect(compared).toBe(MAX_TOKENS);
  });
});

describe("a session", () => {
  test("counts until its end, or until there are too many newer ones", () => {
    let access = withSession(NO_BROWSERS, session("first", 100), 0);
    expect(findSession(access, 99, (one) => one === "first")?.user).toBe("admin");
    expect(findSession(access, 100, (one) => one === "first")).toBeUndefined();
    for (let index = 1; index <= MAX_SESSIONS; index += 1)
      access = withSession(access, session(`s${index}`, 100), 0);
    expect(findSession(access, 0, (one) => one === "first")).toBeUndefined();
    expect(access.sessions).toHaveLength(MAX_SESSIONS);
  });

  test("goes with its user, as tokens do", () => {
    const other = { ...session("o", 9), user: "other" };
    const access = withToken(withSession(NO_BROWSERS, other, 0), token("a", 9), 0);
    const left = without(access, ({ user }) => user === "admin");
    expect(left).toEqual({ tokens: [], sessions: [other] });
  });
});

test("a cookie belongs to one port, and to no other host or path", () => {
  expect(cookieName("127.0.0.1:6450")).toBe("__Host-agent-6450");
  expect(cookieName("[::1]:7000")).toBe("__Host-agent-7000");
  expect(cookieName("pi.example")).toBe("__Host-agent-443");
  expect(cookieOf("a=1;  __Host-agent-6450=x=y ; b", "__Host-agent-6450")).toBe("x=y");
  expect(cookieOf("x__Host-agent-6450=x", "__Host-agent-6450")).toBeUndefined();
  expect(cookieOf(undefined, "__Host-agent-6450")).toBeUndefined();
  expect(setCookie("__Host-agent-6450", "v")).toBe(
    "__Host-agent-6450=v; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict",
  );
});
