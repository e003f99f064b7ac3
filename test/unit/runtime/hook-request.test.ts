import { describe, expect, test } from "bun:test";
import type { HttpGetHandler } from "../../../src/api/v1/probe.ts";
import type { HttpRequest } from "../../../src/host/probe/probe-edge.ts";
import {
  followed,
  handlerText,
  hookAddress,
  hookRequest,
  plainRequest,
  type HookTarget,
} from "../../../src/runtime/hook-request.ts";
import { aSandbox, UID } from "../../fakes/a-pod.ts";

const target: HookTarget = {
  uid: UID,
  containerId: "a-0",
  podIP: "10.88.0.2",
  ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
};

function get(more: Partial<HttpGetHandler> = {}): HttpGetHandler {
  return { type: "httpGet", path: "/stop", port: "http", scheme: "HTTP", httpHeaders: [], ...more };
}

const agent = { name: "User-Agent", value: "kube-lifecycle/1.36" };
const accept = { name: "Accept", value: "*/*" };

describe("hookRequest", () => {
  test("asks the pod at the named port", () => {
    expect(hookRequest(get(), target)).toEqual({
      scheme: "HTTP",
      host: "10.88.0.2",
      port: 8080,
      path: "/stop",
      headers: [agent, accept],
    });
  });

  const paths: Record<string, [string, string]> = {
    "a path without a slash gets one": ["stop", "/stop"],
    "the query stays": ["/stop?now=1&why=a b", "/stop?now=1&why=a%20b"],
    "two slashes are no host": ["//example.com/x", "//example.com/x"],
    "no path is the root": ["", "/"],
  };
  test.each(Object.entries(paths))("%s", (_, [path, expected]) => {
    expect(hookRequest(get({ path }), target).path).toBe(expected);
  });

  test("a host of its own replaces the pod's address", () => {
    const request = hookRequest(get({ host: "example.com", port: 81 }), {
      ...target,
      podIP: undefined,
    });
    expect([request.host, request.port]).toEqual(["example.com", 81]);
  });

  test("headers: the author's have precedence, an empty default is not sent, those of the connection are ignored", () => {
    const httpHeaders = [
      { name: "user-agent", value: "mine" },
      { name: "Accept", value: "" },
      { name: "Content-Length", value: "7" },
      { name: "X-Empty", value: "" },
    ];
    expect(hookRequest(get({ httpHeaders }), target).headers).toEqual([
      { name: "user-agent", value: "mine" },
      { name: "X-Empty", value: "" },
    ]);
  });

  test("a missing target is an error with the reason", () => {
    expect(() => hookRequest(get(), { ...target, podIP: undefined })).toThrow("no address yet");
    expect(() => hookRequest(get({ port: "admin" }), target)).toThrow(
      'no port with the name "admin"',
    );
  });
});

describe("followed", () => {
  const asked: HttpRequest = {
    scheme: "HTTP",
    host: "10.88.0.2",
    port: 8080,
    path: "/a/b?x=1",
    headers: [{ name: "Host", value: "web.example" }, accept],
  };
  const to = (location: string, status = 302): HttpRequest | undefined =>
    followed([asked], { status, location, body: "" });

  test("follows to the same host, whatever the port and scheme", () => {
    expect(to("c")).toEqual({ ...asked, path: "/a/c" });
    expect(to("/c?y=2")).toEqual({ ...asked, path: "/c?y=2" });
    const absolute = { ...asked, headers: [accept] };
    expect(to("https://10.88.0.2/d")).toEqual({
      ...absolute,
      scheme: "HTTPS",
      port: 443,
      path: "/d",
    });
    // Go's client keeps the Host for whatever names no scheme.
    expect(to("//10.88.0.2:81/d")).toEqual({ ...asked, port: 81, path: "/d" });
  });

  const ends: Record<string, [string, number]> = {
    "another host": ["http://10.88.0.3:8080/", 302],
    "no location": ["", 302],
    "an answer that is no redirect": ["/c", 200],
    "304 is no redirect": ["/c", 304],
  };
  test.each(Object.entries(ends))("ends at %s", (_, [location, status]) => {
    expect(to(location, status)).toBeUndefined();
  });

  test("fails for a location that cannot be followed", () => {
    expect(() => to("ftp://10.88.0.2/")).toThrow("failed to parse Location header");
  });

  test("knows an IPv6 host again", () => {
    const request = { ...asked, host: "fd00::2" };
    expect(followed([request], { status: 301, location: "/z", body: "" })?.host).toBe("fd00::2");
  });
});

test("the plain request keeps everything but the password", () => {
  const request: HttpRequest = {
    scheme: "HTTPS",
    host: "h",
    port: 443,
    path: "/",
    headers: [{ name: "authorization", value: "secret" }, accept],
  };
  expect(plainRequest(request)).toEqual({ ...request, scheme: "HTTP", headers: [accept] });
});

test("a pod on the host's network is our neighbour", () => {
  expect(hookAddress(aSandbox())).toBe("10.88.0.2");
  expect(hookAddress(aSandbox({ ips: [], hostNetwork: true }))).toBe("127.0.0.1");
  expect(hookAddress(aSandbox({ ips: [] }))).toBeUndefined();
  expect(hookAddress(undefined)).toBeUndefined();
});

test("handlers in words", () => {
  expect(handlerText({ type: "exec", command: ["sh", "-c", "date"] })).toBe("exec [sh -c date]");
  expect(handlerText(get())).toBe("httpGet HTTP :http/stop");
  expect(handlerText({ type: "sleep", seconds: 5 })).toBe("sleep 5 s");
});
