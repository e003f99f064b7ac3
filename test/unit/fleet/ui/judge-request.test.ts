import { describe, expect, test } from "bun:test";
import { refusalOf, type Asked } from "../../../../src/fleet/ui/judge-request.ts";

const HOST = "127.0.0.1:8123";
const PAGE: Asked = {
  method: "GET",
  path: "/",
  host: HOST,
  origin: undefined,
  site: "none",
  authorization: undefined,
};
const DATA: Asked = { ...PAGE, path: "/api/nodes", site: "same-origin", authorization: "Bearer t" };

type Status = 401 | 403 | 404 | 405 | undefined;

const CASES: Readonly<Record<string, readonly [asked: Asked, status: Status]>> = {
  "answers the page": [PAGE, undefined],
  "answers data with the token": [DATA, undefined],
  "answers behind a tunnel with a port of its own": [{ ...DATA, host: "localhost:9" }, undefined],
  "answers the page for a link on another site": [{ ...PAGE, site: "cross-site" }, undefined],
  "refuses data without a token": [{ ...DATA, authorization: undefined }, 401],
  "refuses data with a wrong token": [{ ...DATA, authorization: "Bearer u" }, 401],
  "refuses a name that DNS was made to give this address": [{ ...DATA, host: "evil.test" }, 403],
  "refuses a name that begins like loopback": [{ ...DATA, host: "127.0.0.1.evil.test" }, 403],
  "refuses a request without a host": [{ ...PAGE, host: undefined }, 403],
  "refuses another origin, with the token too": [{ ...DATA, origin: "http://evil.test" }, 403],
  "refuses a page on another port of this host": [{ ...DATA, origin: "http://127.0.0.1:1" }, 403],
  "refuses data for another site": [{ ...DATA, site: "cross-site" }, 403],
  "refuses data for another port of this host": [{ ...DATA, site: "same-site" }, 403],
  "refuses a change": [{ ...DATA, method: "POST" }, 405],
  "knows no other path": [{ ...PAGE, path: "/etc/passwd" }, 404],
};

describe("the page of the fleet", () => {
  test.each(Object.entries(CASES))("%s", (_, [asked, status]) => {
    expect(refusalOf(asked, (token) => token === "t")?.status).toBe(status);
  });
});
