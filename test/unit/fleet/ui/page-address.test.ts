import { describe, expect, test } from "bun:test";
import {
  isOwnHost,
  pageAddress,
  printedAddress,
  type AddressFlags,
  type OwnNames,
} from "../../../../src/fleet/ui/page-address.ts";

const TLS = { tlsCert: "cert.pem", tlsKey: "key.pem" };
const OTHER = "192.0.2.7:8443";

describe("where the page is served", () => {
  test("is any free port of loopback by default", () => {
    expect(pageAddress({})).toEqual({ host: "127.0.0.1", port: 0, isLoopback: true });
    expect(pageAddress({ port: 8123 }).port).toBe(8123);
  });

  const allowed: Readonly<Record<string, AddressFlags>> = {
    "another address of loopback": { listen: "[::1]:8123" },
    "another address with a certificate": { listen: OTHER, ...TLS },
    "another address with a token, to read": { listen: OTHER, tokenFile: "token" },
    "another address with a certificate and a key": { listen: OTHER, ...TLS, key: ["k.pem"] },
    "loopback with a key": { key: ["k.pem"] },
  };
  test.each(Object.entries(allowed))("may be %s", (_, flags) => {
    expect(() => pageAddress(flags)).not.toThrow();
  });

  const refused: Readonly<Record<string, readonly [AddressFlags, string]>> = {
    "another address without either": [{ listen: OTHER }, "add --tls-cert and --tls-key"],
    "all addresses without either": [{ listen: "0.0.0.0:80" }, "add --tls-cert and --tls-key"],
    "another address with a token, to change something": [
      { listen: OTHER, tokenFile: "token", key: ["k.pem"] },
      "could use --key",
    ],
    "a certificate without its key": [{ tlsCert: "cert.pem" }, "belong together"],
    "two ports": [{ listen: "127.0.0.1:1", port: 2 }, "leave out --port"],
    "no address": [{ listen: "kiosk" }, "is no address to listen on"],
  };
  test.each(Object.entries(refused))("must not be %s", (_, [flags, why]) => {
    expect(() => pageAddress(flags)).toThrow(why);
  });

  test("is printed with the token where no request has it, and with an address that others reach", () => {
    const listen = { host: "0.0.0.0", port: 8443 };
    const own = ["192.0.2.7"];
    expect(printedAddress({ scheme: "https", listen, own, token: "t" })).toBe(
      "https://192.0.2.7:8443/#token=t",
    );
    const ipv6 = { host: "::1", port: 80 };
    expect(printedAddress({ scheme: "http", listen: ipv6, own, token: undefined })).toBe(
      "http://[::1]:80/",
    );
  });
});

describe("a Host header", () => {
  const loopback: OwnNames = { isLoopback: true };
  const other: OwnNames = { isLoopback: false };
  const certified: OwnNames = { isLoopback: false, isCertified: (name) => name === "fleet.test" };
  const cases: readonly (readonly [string, OwnNames, boolean])[] = [
    ["127.0.0.1:8123", loopback, true],
    ["localhost:9", loopback, true],
    ["LOCALHOST", loopback, true],
    ["[::1]:8123", loopback, true],
    ["evil.test", loopback, false],
    ["127.0.0.1.evil.test", loopback, false],
    ["127.evil.test", loopback, false],
    ["192.0.2.7", loopback, false],
    ["192.0.2.7:8443", other, true],
    ["[2001:db8::7]:8443", other, true],
    ["evil.test:8443", other, false],
    ["fleet.test:8443", certified, true],
    ["evil.test:8443", certified, false],
    ["fleet.test:8443@evil.test", certified, false],
    ["", other, false],
  ];
  test.each(cases)("%s", (host, names, isOwn) => {
    expect(isOwnHost(host, names)).toBe(isOwn);
  });
});
