import { expect, test } from "bun:test";
import { parseResolvConf } from "../../../src/runtime/resolv-conf.ts";

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

test("an empty file says nothing", () => {
  expect(parseResolvConf("")).toEqual({ servers: [], searches: [], options: [] });
});

test("no more than libc uses", () => {
  const servers = [1, 2, 3, 4].map((n) => `nameserver 192.0.2.${n}\n`).join("");
  const domains = Array.from({ length: 40 }, (_, n) => `d${n}`);
  const parsed = parseResolvConf(`${servers}search ${domains.join(" ")} d0\n`);
  expect(parsed.servers).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  expect(parsed.searches).toEqual(domains.slice(0, 32));
});

test("search domains have 2048 characters together", () => {
  const long = Array.from({ length: 12 }, (_, n) => `${n}`.padEnd(200, "x"));
  expect(parseResolvConf(`search ${long.join(" ")}`).searches).toEqual(long.slice(0, 10));
});
