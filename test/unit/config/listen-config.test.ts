import { describe, expect, test } from "bun:test";
import { AGENT_CONFIGURATION, decodeConfig } from "../../../src/config/config.ts";
import { hostAndPort, listenAddress } from "../../../src/config/listen-config.ts";
import { validatorOf } from "../../fakes/json-schema.ts";

const refusedBySchema = validatorOf(AGENT_CONFIGURATION.schema());

function errorsOf(document: object): readonly string[] {
  const result = decodeConfig(document);
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`);
}

describe("listen", () => {
  test.each([
    ["127.0.0.1:6450", "127.0.0.1", 6450],
    ["0.0.0.0:1", "0.0.0.0", 1],
    ["[::1]:65535", "::1", 65_535],
    ["[::]:6450", "::", 6450],
    ["[fd00::1]:6450", "fd00::1", 6450],
    ["localhost:6450", "localhost", 6450],
  ])("%s is an address and a port", (listen, host, port) => {
    expect(listenAddress(listen)).toEqual({ host, port });
    expect(hostAndPort({ host, port })).toBe(listen);
    expect(errorsOf({ listen })).toEqual([]);
    expect(refusedBySchema({ listen })).toEqual([]);
  });

  test.each([
    "6450",
    ":6450",
    "127.0.0.1",
    "127.0.0.1:0",
    "127.0.0.1:65536",
    "127.0.0.1:123456",
    "::1:6450",
    "[127.0.0.1]:6450",
    "[::1:6450",
    "pi.example:6450",
    "256.0.0.1:6450",
    "https://127.0.0.1:6450",
    "127.0.0.1:6450\n",
    "",
  ])("%j is refused with its path", (listen) => {
    const [error = ""] = errorsOf({ listen });
    expect(error).toStartWith("listen: ");
  });

  test("is off by default", () => {
    const result = decodeConfig({});
    expect(result.ok && result.value.listen).toBeUndefined();
  });
});

describe("socketGroup", () => {
  test.each([["adm"], ["27"], [27], [0], ["_kube-ops"]])("%j is a group", (socketGroup) => {
    const result = decodeConfig({ socketGroup });
    expect(result.ok && result.value.socketGroup).toBe(String(socketGroup));
    expect(refusedBySchema({ socketGroup })).toEqual([]);
  });

  test.each([["a b"], ["-1"], [-1], [1.5], [2 ** 32], [true], [""], ["a:b"]])(
    "%j is refused",
    (socketGroup) => {
      expect(errorsOf({ socketGroup })[0]).toStartWith("socketGroup: ");
    },
  );
});

test("a certificate needs its key, and a key its certificate", () => {
  expect(errorsOf({ tlsCertFile: "/a.pem" })).toEqual([
    "tlsPrivateKeyFile: Required value: the key of the certificate",
  ]);
  expect(errorsOf({ tlsPrivateKeyFile: "/a.key" })).toEqual([
    "tlsCertFile: Required value: the certificate of the key",
  ]);
  expect(errorsOf({ tlsCertFile: "/a.pem", tlsPrivateKeyFile: "/a.key" })).toEqual([]);
  expect(errorsOf({ tlsCertFile: "a.pem", tlsPrivateKeyFile: "/a.key" })[0]).toStartWith(
    "tlsCertFile: ",
  );
});
