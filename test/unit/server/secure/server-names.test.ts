import { describe, expect, test } from "bun:test";
import { kubeconfig, userNameError } from "../../../../src/server/secure/kubeconfig.ts";
import {
  defaultServer,
  isLoopback,
  serverNames,
  serverUrl,
} from "../../../../src/server/secure/server-names.ts";

const NODE = {
  nodeName: "Pi-1",
  hostname: "raspberrypi",
  addresses: ["192.0.2.5", "fd00::5"],
  extra: ["pi.example", "198.51.100.1"],
};

describe("the names of a node", () => {
  test("are those under which it can be reached", () => {
    const always = [
      "localhost",
      "127.0.0.1",
      "::1",
      "pi.example",
      "198.51.100.1",
      "pi-1",
      "raspberrypi",
      "raspberrypi.local",
    ];
    expect(serverNames({ host: "127.0.0.1" }, NODE)).toEqual(always);
    expect(serverNames({ host: "localhost" }, NODE)).toEqual(always);
    expect(serverNames({ host: "0.0.0.0" }, NODE)).toEqual([...always, "192.0.2.5", "fd00::5"]);
    expect(serverNames({ host: "192.0.2.9" }, NODE)).toEqual([...always, "192.0.2.9"]);
  });

  test("leave out what no certificate can hold", () => {
    const node = { ...NODE, nodeName: "a_b", hostname: "", extra: ["x y"], addresses: [] };
    expect(serverNames({ host: "::" }, node)).toEqual(["localhost", "127.0.0.1", "::1"]);
  });
});

test.each([
  ["127.0.0.1", "https://127.0.0.1:6450"],
  ["::1", "https://[::1]:6450"],
  ["localhost", "https://localhost:6450"],
  ["0.0.0.0", "https://192.0.2.5:6450"],
  ["::", "https://192.0.2.5:6450"],
])("without --server, %s is reached at %s", (host, url) => {
  expect(defaultServer({ host, port: 6450 }, NODE.addresses)).toBe(url);
});

test("a node without addresses is reached at its own", () => {
  expect(defaultServer({ host: "::", port: 1 }, [])).toBe("https://127.0.0.1:1");
});

describe("--server", () => {
  test.each([
    ["https://pi.example:6450", "https://pi.example:6450", "pi.example"],
    ["https://pi.example", "https://pi.example:7000", "pi.example"],
    ["https://PI.example:443/", "https://pi.example:443", "pi.example"],
    ["pi.example", "https://pi.example:7000", "pi.example"],
    ["pi.example:1", "https://pi.example:1", "pi.example"],
    ["192.0.2.1", "https://192.0.2.1:7000", "192.0.2.1"],
    ["https://[fd00::1]:2", "https://[fd00::1]:2", "fd00::1"],
  ])("%s is %s", (written, url, host) => {
    expect(serverUrl(written, 7000)).toEqual({ url, host });
  });

  test.each([
    "http://pi.example",
    "https://user@pi.example",
    "https://pi.example/path",
    "https://pi.example?a",
    "https://",
    "",
    "a b",
    "pi_1",
    "ftp://x",
  ])("%j is refused", (written) => {
    expect(serverUrl(written, 7000)).toBeUndefined();
  });
});

test("loopback is known", () => {
  const all = ["127.0.0.1", "127.1.2.3", "::1", "localhost", "0.0.0.0", "192.0.2.1", "::"];
  expect(all.filter((host) => isLoopback({ host }))).toEqual([
    "127.0.0.1",
    "127.1.2.3",
    "::1",
    "localhost",
  ]);
});

test.each(["admin", "jo.smith@example.com", "a", "x".repeat(63)])("%s is a user", (name) => {
  expect(userNameError(name)).toBeUndefined();
});
test.each([
  "",
  "system:masters",
  "SYSTEM:node",
  "a b",
  "-a",
  "a-",
  "a/b",
  "a,O=x",
  "x".repeat(64),
  "ä",
  "a\n",
])("%j is none", (name) => {
  expect(userNameError(name)).toBeDefined();
});

test("a kubeconfig names the cluster, the user and the context after the node", () => {
  const parts = { nodeName: "pi-1", server: "https://127.0.0.1:6450", user: "admin" };
  const credential = { type: "Token", token: "t" } as const;
  expect(kubeconfig({ ...parts, authorities: "CA", credential })).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "pi-1",
        cluster: { server: "https://127.0.0.1:6450", "certificate-authority-data": "Q0E=" },
      },
    ],
    users: [{ name: "admin@pi-1", user: { token: "t" } }],
    contexts: [{ name: "admin@pi-1", context: { cluster: "pi-1", user: "admin@pi-1" } }],
    "current-context": "admin@pi-1",
  });
});
