import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";
import { UsageError } from "../../../../src/cli/exit-codes.ts";
import {
  forwardedPort,
  hostPort,
  listenAddresses,
} from "../../../../src/cli/stream/forwarded-ports.ts";

const CONTAINERS = [{ name: "a", ports: [{ name: "http", containerPort: 8080 }] }];

describe("a port", () => {
  test.each([
    ["80", { local: 80, remote: 80 }],
    ["8080:80", { local: 8080, remote: 80 }],
    [":80", { local: 0, remote: 80 }],
    ["0:80", { local: 0, remote: 80 }],
    ["http", { local: 8080, remote: 8080 }],
    ["9000:http", { local: 9000, remote: 8080 }],
  ])("%s", (written, expected) => {
    expect(forwardedPort(written, CONTAINERS)).toEqual(expected);
  });

  test.each(["", "0", "1:2:3", "80:0", "x:80", "80:ftp", "65536", "-1:80"])(
    "%p is refused",
    (written) => {
      expect(() => forwardedPort(written, CONTAINERS)).toThrow(UsageError);
    },
  );
});

describe("the addresses", () => {
  const of = (written: string) =>
    listenAddresses(written, (text) => isIP(text) !== 0).map(({ host }) => host);

  test("of localhost are both loopbacks, each address once", () => {
    expect(of("localhost")).toEqual(["127.0.0.1", "::1"]);
    expect(of("localhost,127.0.0.1, 10.0.0.1")).toEqual(["127.0.0.1", "::1", "10.0.0.1"]);
  });

  test("must be addresses", () => {
    expect(() => of("example.org")).toThrow(UsageError);
  });

  test("are shown as they are written in URLs", () => {
    expect([hostPort("127.0.0.1", 80), hostPort("::1", 80)]).toEqual(["127.0.0.1:80", "[::1]:80"]);
  });
});
