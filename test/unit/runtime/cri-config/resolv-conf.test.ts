import { expect, test } from "bun:test";
import { isOnlyStub, parseResolvConf } from "../../../../src/runtime/cri-config/pod-dns.ts";

test("servers, the last search line, and all options", () => {
  const text = `# made by somebody
; and somebody else
domain ignored.example
nameserver 192.0.2.1
  nameserver\t2001:db8::1   more
search old.example
search a.example. b.example .
options ndots:2 edns0
options rotate edns0
sortlist 130.155.160.0
nameserver
`;
  expect(parseResolvConf(text)).toEqual({
    servers: ["192.0.2.1", "2001:db8::1"],
    searches: ["a.example", "b.example", "."],
    options: ["ndots:2", "edns0", "rotate"],
  });
});

test("an empty file yields nothing", () => {
  expect(parseResolvConf("")).toEqual({ servers: [], searches: [], options: [] });
});

test("the last of two options of one name counts", () => {
  const text = "options ndots:1 rotate\noptions ndots:5\n";
  expect(parseResolvConf(text).options).toEqual(["ndots:5", "rotate"]);
});

test("nothing is cut: the pod's own share comes on top", () => {
  const servers = [1, 2, 3, 4].map((n) => `192.0.2.${n}`);
  const domains = Array.from({ length: 40 }, (_, n) => `d${n}`);
  const lines = servers.map((server) => `nameserver ${server}`);
  const parsed = parseResolvConf(`${lines.join("\n")}\nsearch ${domains.join(" ")}\n`);
  expect(parsed).toEqual({ servers, searches: domains, options: [] });
});

test.each([
  ["names no server", "", false],
  ["names real servers", "nameserver 9.9.9.9\n", false],
  ["names only the stub", "# stub\nnameserver 127.0.0.53\noptions edns0\n", true],
  ["names the stub as one of several", "nameserver 127.0.0.53\nnameserver 9.9.9.9\n", false],
  ["mentions the stub", "# nameserver 127.0.0.53\n", false],
])(
  "whether only the stub resolver is configured, in a file that %s",
  (_sentence, text, expected) => {
    expect(isOnlyStub(parseResolvConf(text))).toBe(expected);
  },
);
