import { describe, expect, test } from "bun:test";
import { refusalOf, type Asked, type Door } from "../../../../src/fleet/ui/judge-request.ts";

const HOST = "127.0.0.1:8123";
const OWN = `http://${HOST}`;
const DOOR: Door = {
  scheme: "http",
  isOwnHost: (host) => host === HOST,
  isToken: (token) => token === "t",
};
const PAGE: Asked = {
  method: "GET",
  path: "/",
  host: HOST,
  origin: undefined,
  site: "none",
  authorization: undefined,
  hasSession: false,
};
const PROGRAM: Asked = { ...PAGE, path: "/api/nodes", site: undefined, authorization: "Bearer t" };
const DATA: Asked = { ...PAGE, path: "/api/nodes", site: "same-origin", hasSession: true };
const SESSION: Asked = {
  ...PAGE,
  method: "POST",
  path: "/api/session",
  origin: OWN,
  site: "same-origin",
  authorization: "Bearer t",
};
const CHANGE: Asked = {
  ...DATA,
  method: "POST",
  path: "/api/rollout/kiosks/undo",
  origin: OWN,
};

type Status = 401 | 403 | 404 | 405 | undefined;

const CASES: Readonly<Record<string, readonly [asked: Asked, status: Status]>> = {
  "answers the page": [PAGE, undefined],
  "answers its files": [{ ...PAGE, path: "/rollout-page.js" }, undefined],
  "answers data with a session": [DATA, undefined],
  "answers data for a program with the token": [PROGRAM, undefined],
  "answers the page for a link on another site": [{ ...PAGE, site: "cross-site" }, undefined],
  "refuses data without a proof": [{ ...DATA, hasSession: false }, 401],
  "refuses data with a wrong token": [{ ...PROGRAM, authorization: "Bearer u" }, 401],
  "refuses data with the token in another scheme": [{ ...PROGRAM, authorization: "Basic t" }, 401],
  "refuses a foreign name of this address": [{ ...DATA, host: "evil.test" }, 403],
  "refuses a request without a host": [{ ...PAGE, host: undefined }, 403],
  "refuses another origin, with a session too": [{ ...DATA, origin: "http://evil.test" }, 403],
  "refuses the same host with another scheme": [{ ...DATA, origin: `https://${HOST}` }, 403],
  "refuses a page on another port of this host": [{ ...DATA, origin: "http://127.0.0.1:1" }, 403],
  "refuses data for another site": [{ ...DATA, site: "cross-site" }, 403],
  "refuses data for another port of this host": [{ ...DATA, site: "same-site" }, 403],
  "refuses to write what can only be read": [{ ...DATA, method: "POST" }, 405],
  "gives a session for the token": [SESSION, undefined],
  "gives no session for a wrong token": [{ ...SESSION, authorization: "Bearer u" }, 401],
  "gives no session for a session": [
    { ...SESSION, authorization: undefined, hasSession: true },
    401,
  ],
  "gives no session to what a link makes a browser get": [{ ...SESSION, method: "GET" }, 405],
  "gives no session to another site": [{ ...SESSION, origin: "http://evil.test" }, 403],
  "changes a rollout for the page": [CHANGE, undefined],
  "reads a log for the page": [{ ...CHANGE, path: "/api/node/pi-1/logs" }, undefined],
  "changes nothing with GET": [{ ...CHANGE, method: "GET" }, 405],
  "changes nothing without a session": [{ ...CHANGE, hasSession: false }, 401],
  "changes nothing for the token alone": [
    { ...CHANGE, hasSession: false, authorization: "Bearer t" },
    401,
  ],
  "changes nothing for another origin": [{ ...CHANGE, origin: "http://evil.test" }, 403],
  "changes nothing for an origin that hides itself": [{ ...CHANGE, origin: "null" }, 403],
  "changes nothing if a browser does not say for whom": [
    { ...CHANGE, origin: undefined, site: undefined },
    403,
  ],
  "changes nothing for what a person has typed": [
    { ...CHANGE, origin: undefined, site: "none" },
    403,
  ],
  "changes nothing under a foreign name": [{ ...CHANGE, host: "evil.test" }, 403],
  "knows no other change": [{ ...CHANGE, path: "/api/rollout/kiosks/forget" }, 404],
  "knows no other path": [{ ...PAGE, path: "/etc/passwd" }, 404],
};

describe("the page of the fleet", () => {
  test.each(Object.entries(CASES))("%s", (_, [asked, status]) => {
    expect(refusalOf(asked, DOOR)?.status).toBe(status);
  });

  test("says which method a path has", () => {
    expect(refusalOf({ ...CHANGE, method: "GET" }, DOOR)?.allow).toBe("POST");
    expect(refusalOf({ ...DATA, method: "DELETE" }, DOOR)?.allow).toBe("GET");
  });
});
