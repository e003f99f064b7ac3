import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { judgeRequest, hostNameOf } from "../../../../src/server/access/judge-request.ts";
import type { Peer } from "../../../../src/server/access/peer.ts";
import type { User } from "../../../../src/server/http/exchange.ts";

const TLS: Peer = { door: "tls", address: "192.0.2.1", fingerprint: undefined };
const FULL: User = { name: "admin", groups: [], access: "Full" };
const VIEWER: User = { name: "viewer", groups: [], access: "ReadOnly" };
const HOSTS = new Set(["localhost", "127.0.0.1", "::1", "pi-1"]);

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: User;
  readonly peer?: Peer;
  readonly isUpgrade?: boolean;
  readonly browser?: { readonly hasKey: boolean };
}

/** `call`: `GET /path`. 200 = let in. */
function judged(call: string, asked: Asked = {}): number {
  const [method = "", path = ""] = call.split(" ");
  const headers: Readonly<Record<string, string>> = {
    host: "pi-1:6450",
    ...asked.headers,
  };
  const answer = judgeRequest(
    {
      method,
      url: new URL(path, "http://agent"),
      header: (name) => headers[name],
      isUpgrade: asked.isUpgrade ?? false,
      peer: asked.peer ?? TLS,
      user: asked.user ?? FULL,
      browser: asked.browser,
    },
    HOSTS,
  );
  return answer?.status ?? 200;
}

describe("the host of a request", () => {
  test.each([
    "pi-1",
    "PI-1:6450",
    "pi-1.",
    "localhost:6450",
    "127.0.0.1:6450",
    "[::1]:6450",
    "[0:0:0:0:0:0:0:1]",
  ])("%s is this node", (host) => {
    expect(judged("GET /pods", { headers: { host } })).toBe(200);
  });

  test.each([
    "evil.example",
    "evil.example:6450",
    "pi-1.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
    "pi-1@evil.example",
    "evil.example/pi-1",
    "",
    " ",
    "[::2]",
  ])("%j is not", (host) => {
    expect(judged("GET /pods", { headers: { host } })).toBe(421);
  });

  test("does not matter on the unix socket", () => {
    const asked = { headers: { host: "agent" }, peer: { door: "unix" } as const };
    expect(judged("GET /pods", asked)).toBe(200);
  });

  test("never throws, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (host) => {
        expect(typeof hostNameOf(host)).toMatch(/string|undefined/);
      }),
    );
  });
});

describe("a page in a browser", () => {
  const own = "https://pi-1:6450";
  const cases: Readonly<Record<string, readonly [Readonly<Record<string, string>>, number]>> = {
    "of this node asks": [{ origin: own, "sec-fetch-site": "same-origin" }, 200],
    "is opened by its address": [{ "sec-fetch-site": "none" }, 200],
    "of another site asks": [{ origin: "https://evil.example" }, 403],
    "of another port asks": [{ origin: "https://pi-1:8443" }, 403],
    "without an origin asks": [{ origin: "null" }, 403],
    "of another site loads an image": [{ "sec-fetch-site": "cross-site" }, 403],
    "of a neighbour asks": [{ "sec-fetch-site": "same-site" }, 403],
    "with an unreadable origin asks": [{ origin: "https://" }, 403],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [headers, status]) => {
    expect(judged("GET /pods", { headers })).toBe(status);
    expect(judged("POST /hold", { headers })).toBe(status);
    const local = { headers, peer: { door: "unix" } as const };
    expect(judged("POST /hold", local)).toBe(status);
  });
});

describe("the session of a browser", () => {
  const own = { origin: "https://pi-1:6450", "sec-fetch-site": "same-origin" };
  const [hasKey, noKey] = [{ hasKey: true }, { hasKey: false }];
  const cases: Readonly<Record<string, readonly [string, Asked, number]>> = {
    "opens the page by the cookie alone": ["GET /ui/", { browser: noKey }, 200],
    "opens the files of the page": ["GET /ui/page.js", { browser: noKey }, 200],
    "reads nothing else by the cookie alone": ["GET /pods", { browser: noKey }, 401],
    "does not take a path for the page": ["GET /ui/..%2fpods", { browser: noKey }, 401],
    "changes nothing by the cookie alone": ["POST /hold", { browser: noKey, headers: own }, 401],
    "reads with the key": ["GET /pods", { browser: hasKey }, 200],
    "changes with the key, on the page": ["POST /hold", { browser: hasKey, headers: own }, 200],
    "changes by the origin alone": [
      "POST /hold",
      { browser: hasKey, headers: { origin: "https://pi-1:6450" } },
      200,
    ],
    "changes nothing where no page asks": ["POST /hold", { browser: hasKey }, 403],
    "changes nothing that was typed": [
      "DELETE /pods/default/web",
      { browser: hasKey, headers: { "sec-fetch-site": "none" } },
      403,
    ],
    "changes nothing for another page": [
      "POST /hold",
      { browser: hasKey, headers: { origin: "https://evil.example" } },
      403,
    ],
    "makes no token": ["POST /ui/tokens?user=a", { browser: hasKey, headers: own }, 403],
    "opens no stream": [
      "GET /api/v1/namespaces/default/pods/web/exec?command=sh",
      { browser: hasKey, headers: own, isUpgrade: true },
      403,
    ],
    "opens no stream without an upgrade either": [
      "POST /api/v1/namespaces/default/pods/web/exec?command=sh",
      { browser: hasKey, headers: own },
      403,
    ],
    "opens no WebSocket": ["GET /ui/", { browser: noKey, headers: own, isUpgrade: true }, 403],
    "that only reads changes nothing": [
      "POST /hold",
      { browser: hasKey, headers: own, user: VIEWER },
      403,
    ],
    "that only reads may end itself": [
      "DELETE /ui/session",
      { browser: hasKey, headers: own, user: VIEWER },
      200,
    ],
    "ends by no other page": ["DELETE /ui/session", { browser: hasKey, user: VIEWER }, 403],
    "that only reads sees no Secrets": [
      "GET /api/v1/secrets",
      { browser: hasKey, headers: own, user: VIEWER },
      403,
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [call, asked, status]) => {
    expect(judged(call, asked)).toBe(status);
  });
});

describe("a read-only user", () => {
  const user = VIEWER;
  test.each([
    "GET /pods",
    "HEAD /healthz",
    "GET /images/pull?name=a",
    "GET /api/v1/pods",
    "GET /api/v1/namespaces/default/pods/web",
    "GET /api/v1/namespaces/default/pods/web/log?follow=true",
    "GET /api/v1/namespaces/default/pods/web/status",
    "GET /api/v1/namespaces/secrets/pods",
    "GET /api/v1/namespaces/default/pods/secrets",
    "GET /api/v1/namespaces/default/pods/secrets/log",
    "GET /api/v1/namespaces/exec/pods/attach/log",
    "GET /api/v1/namespaces/secrets",
    "GET /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web",
    "GET /logs/secrets",
  ])("may %s", (call) => {
    expect(judged(call, { user })).toBe(200);
  });

  test.each([
    "POST /hold",
    "POST /pods/default/web/hold",
    "POST /release",
    "POST /shutdown",
    "DELETE /shutdown",
    "POST /images/pull?name=a",
    "POST /images/prune?dryRun=true",
    "DELETE /images?name=a",
    "POST /trust/reset",
    "DELETE /pods/default/web?gracePeriodSeconds=1",
    "PUT /api/v1/namespaces/default/configmaps/a",
    "PATCH /api/v1/namespaces/default/pods/web",
    "DELETE /api/v1/namespaces/default/pods/web",
    "OPTIONS /pods",
    "TRACE /pods",
    "POST /api/v1/namespaces/default/pods/web/exec?command=sh",
    "GET /api/v1/namespaces/default/pods/web/exec?command=sh",
    "GET /api/v1/namespaces/default/pods/web/attach",
    "GET /api/v1/namespaces/default/pods/web/portforward",
    "GET /api/v1/namespaces/default/pods/web/proxy/",
    "GET /api/v1/namespaces/default/pods/web/%65xec",
    "GET /api/v1/namespaces/default/pods/pods/exec",
    "GET /api/v1/namespaces/default/pods/x/pods/exec",
    "GET /exec/default/web/main?command=sh",
    "GET /attach/default/web/main",
    "GET /portForward/default/web",
    "GET /run/default/web/main?cmd=sh",
    "GET /exec//default/web/main",
  ])("may not %s", (call) => {
    expect(judged(call, { user })).toBe(403);
  });

  test.each([
    "/api/v1/secrets",
    "/api/v1/secrets?watch=true",
    "/api/v1/watch/secrets",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/secrets/a",
    "/api/v1/watch/namespaces/default/secrets/a",
    "/api/v1/namespaces/pods/secrets",
    "/api/v1/namespaces/namespaces/secrets",
    "/api/v1/namespaces/secrets/secrets/secrets",
    "/api/v1/namespaces/default/%73ecrets/a",
    "/api/v1/namespaces/default/%2573ecrets/a",
    "/api/v1/namespaces/default%2Fsecrets/a",
    "/api/v1//namespaces/default/secrets",
    "/api/v1/namespaces/default/SECRETS",
    "/apis/x/v1/secrets",
  ])("may not read %s", (path) => {
    expect(judged(`GET ${path}`, { user })).toBe(403);
    expect(judged(`GET ${path}`)).toBe(200);
  });

  test("may take over no connection, whatever the path", () => {
    expect(judged("GET /pods", { user, isUpgrade: true })).toBe(403);
    expect(judged("GET /pods", { isUpgrade: true })).toBe(200);
  });
});

test("users are made on the unix socket only", () => {
  for (const path of ["/kubeconfig", "/kubeconfig/listen", "/%6bubeconfig", "/kubeconfig//"]) {
    expect(judged(`POST ${path}`)).toBe(403);
    expect(judged(`GET ${path}`)).toBe(403);
    expect(judged(`POST ${path}`, { peer: { door: "unix" } })).toBe(200);
  }
});
