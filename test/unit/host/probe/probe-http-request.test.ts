import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { HttpGetHandler } from "../../../../src/api/v1/probe.ts";
import {
  addressOf,
  httpTarget,
  PROBE_USER_AGENT,
  urlOf,
} from "../../../../src/host/probe/probe-http-request.ts";
import { aContainer } from "../../../fakes/a-pod.ts";

const container = aContainer("a", {
  ports: [
    { name: "web", containerPort: 8080, protocol: "TCP" },
    { name: "80", containerPort: 81, protocol: "TCP" },
  ],
});

const { ports } = container;

const requestOf = (handler: HttpGetHandler, podIP: string | undefined) =>
  httpTarget(handler, { ports, podIP, userAgent: PROBE_USER_AGENT });

function url(more: Partial<HttpGetHandler>, podIP: string | undefined = "10.88.0.2"): string {
  const handler = {
    type: "httpGet",
    path: "/",
    port: 80,
    scheme: "HTTP",
    httpHeaders: [],
  } as const;
  const found = requestOf({ ...handler, ...more }, podIP);
  return found.ok ? urlOf(found.target) : `error: ${found.message}`;
}

describe("an httpGet handler", () => {
  const urls: Readonly<Record<string, readonly [Partial<HttpGetHandler>, string]>> = {
    "means the pod": [{}, "http://10.88.0.2:80/"],
    "means a host that it names": [{ host: "example.com" }, "http://example.com:80/"],
    "means an IPv6 host": [{ host: "::1" }, "http://[::1]:80/"],
    "means an IPv6 host in brackets": [{ host: "[::1]" }, "http://[::1]:80/"],
    "means a port by its name": [{ port: "web" }, "http://10.88.0.2:8080/"],
    "means the port that is called so before the number": [{ port: "80" }, "http://10.88.0.2:81/"],
    "may write a number as text": [{ port: "8443", scheme: "HTTPS" }, "https://10.88.0.2:8443/"],
    "names a port that the container does not have": [
      { port: "admin" },
      'error: the container has no port with the name "admin"',
    ],
    "keeps the query and drops the fragment": [
      { path: "/a%20b?c=d&e=/f#g" },
      "http://10.88.0.2:80/a%20b?c=d&e=/f",
    ],
    "gets its slash": [{ path: "healthz" }, "http://10.88.0.2:80/healthz"],
    "is escaped where it must be": [
      { path: '/ü a\r\n%zz"' },
      "http://10.88.0.2:80/%C3%BC%20a%0D%0A%25zz%22",
    ],
  };
  test.each(Object.entries(urls))("%s", (_sentence, [handler, expected]) => {
    expect(url(handler)).toBe(expected);
  });

  test("has no target while the pod has no address", () => {
    const handler = {
      type: "httpGet",
      path: "/",
      port: 80,
      scheme: "HTTP",
      httpHeaders: [],
    } as const;
    expect(requestOf(handler, undefined)).toEqual({
      ok: false,
      message: "the pod has no address yet",
    });
    expect(requestOf({ ...handler, host: "a" }, undefined).ok).toBe(true);
  });

  test("never makes a path that ends its line", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (path) => {
        expect(url({ path })).toMatch(/^http:\/\/10\.88\.0\.2:80\/[\x21-\x7e]*$/);
      }),
    );
  });

  const headers = (...written: [name: string, value: string][]): string[] => {
    const httpHeaders = written.map(([name, value]) => ({ name, value }));
    const handler = { type: "httpGet", path: "/", port: 80, scheme: "HTTP", httpHeaders } as const;
    const found = requestOf(handler, "10.88.0.2");
    return found.ok ? found.target.headers.map(({ name, value }) => `${name}: ${value}`) : [];
  };
  const sent: Readonly<Record<string, readonly [actual: string[], expected: string[]]>> = {
    "contain the user agent": [headers(), ["User-Agent: kube-probe/1.36", "Accept: */*"]],
    "contain the author's headers, repeated ones too": [
      headers(["X-A", "1"], ["X-A", "2"], ["accept", "text/plain"], ["user-agent", "me"]),
      ["X-A: 1", "X-A: 2", "accept: text/plain", "user-agent: me"],
    ],
    "leaves out what the author wrote empty": [headers(["Accept", ""], ["User-Agent", ""]), []],
    "has one Host at most, and it comes first": [
      headers(["X", "1"], ["Host", "a"], ["host", "b"]),
      ["Host: a", "User-Agent: kube-probe/1.36", "Accept: */*", "X: 1"],
    ],
    "takes an empty Host for none": [
      headers(["Host", ""]),
      ["User-Agent: kube-probe/1.36", "Accept: */*"],
    ],
    "omit headers of a body": [
      headers(["Content-Length", "5"], ["Transfer-Encoding", "chunked"], ["Accept", ""]),
      ["User-Agent: kube-probe/1.36"],
    ],
  };
  test.each(Object.entries(sent))("%s", (_sentence, [actual, expected]) => {
    expect(actual).toEqual(expected);
  });
});

test("a tcpSocket handler means the pod or its own host", () => {
  const ask = (port: number | string, host?: string) =>
    addressOf({ port, ...(host === undefined ? {} : { host }) }, { ports, podIP: "fd00::2" });
  expect(ask("web")).toEqual({ ok: true, target: { host: "fd00::2", port: 8080 } });
  expect(ask(1, "::1")).toEqual({ ok: true, target: { host: "::1", port: 1 } });
  expect(ask("no")).toEqual({
    ok: false,
    message: 'the container has no port with the name "no"',
  });
  expect(ask(0).ok).toBe(false);
});
