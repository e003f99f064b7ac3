import { expect, test } from "bun:test";
import { PageSessions } from "../../../../src/fleet/ui/page-sessions.ts";
import { SESSION_MS } from "../../../../src/server/access/browser-access.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";

const HOST = "127.0.0.1:8123";

function sessions(isSecure = false) {
  const clock = new VirtualClock();
  let dice = 0;
  const hex = (length: number): string => (++dice).toString(16).padStart(2 * length, "0");
  const random = { next: () => 0.5, hex };
  return { clock, all: new PageSessions({ clock, random, isSecure }) };
}

const cookieOf = (header: string): string => header.split(";")[0] ?? "";

test("a session is a cookie and a key that belong together, under one port", () => {
  const { all } = sessions();
  const [one, other] = [all.begin(HOST), all.begin(HOST)];
  const cookie = cookieOf(one.setCookie);
  expect(all.has(HOST, `theme=dark; ${cookie}`, one.key)).toBe(true);
  expect(all.has(HOST, cookie, other.key)).toBe(false);
  expect(all.has(HOST, cookie, undefined)).toBe(false);
  expect(all.has(HOST, undefined, one.key)).toBe(false);
  expect(all.has("127.0.0.1:9999", cookie, one.key)).toBe(false);
});

test("the cookie is for no script and no other site, and over TLS for no plain request", () => {
  expect(sessions().all.begin(HOST).setCookie).toMatch(
    /^agent-fleet-8123=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  expect(sessions(true).all.begin("fleet.test").setCookie).toMatch(
    /^__Host-agent-fleet-443=.*; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test("a session ends after a working day, and when there are many newer ones", async () => {
  const { clock, all } = sessions();
  const first = all.begin(HOST);
  const has = (): boolean => all.has(HOST, cookieOf(first.setCookie), first.key);
  await clock.advance(SESSION_MS - 1);
  expect(has()).toBe(true);
  await clock.advance(1);
  expect(has()).toBe(false);
  const second = all.begin(HOST);
  for (let index = 0; index < 16; index += 1) all.begin(HOST);
  expect(all.has(HOST, cookieOf(second.setCookie), second.key)).toBe(false);
});
