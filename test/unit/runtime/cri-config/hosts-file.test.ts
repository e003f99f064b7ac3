import { expect, test } from "bun:test";
import {
  hostNetworkHostsFile,
  podHostsFile,
  type PodHosts,
} from "../../../../src/runtime/cri-config/pod-hosts.ts";

const plain: PodHosts = {
  ips: ["10.88.0.2"],
  hostname: "web",
  domain: "",
  aliases: [],
  others: [],
};
const aliases = [
  { ip: "192.0.2.7", hostnames: ["db", "db.local"] },
  { ip: "2001:db8::7", hostnames: ["db6"] },
];

/** Without what is only for people. */
const lines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

const LOCALHOST = [
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];

test("a pod knows localhost and itself", () => {
  expect(lines(podHostsFile(plain))).toEqual([...LOCALHOST, "10.88.0.2\tweb"]);
});

test("under its full name first, where it has one", () => {
  const file = podHostsFile({ ...plain, domain: "sub.default.svc.cluster.local" });
  expect(lines(file).at(-1)).toBe("10.88.0.2\tweb.sub.default.svc.cluster.local\tweb");
});

test("by all of its addresses", () => {
  const file = podHostsFile({ ...plain, ips: ["10.88.0.2", "2001:db8::2"] });
  expect(lines(file).slice(LOCALHOST.length)).toEqual(["10.88.0.2\tweb", "2001:db8::2\tweb"]);
});

test("and whatever it calls others, each address on one line at the end", () => {
  const file = podHostsFile({ ...plain, aliases });
  expect(lines(file).slice(-2)).toEqual(["192.0.2.7\tdb\tdb.local", "2001:db8::7\tdb6"]);
  expect(file.endsWith("db6\n")).toBe(true);
});

test("on the host's network it has the node's file, and its aliases behind it", () => {
  const node = "127.0.0.1 localhost\n127.0.1.1 pi\n";
  expect(lines(hostNetworkHostsFile(node, { aliases: [], others: [] }))).toEqual([
    "127.0.0.1 localhost",
    "127.0.1.1 pi",
  ]);
  expect(lines(hostNetworkHostsFile(node, { aliases, others: [] })).slice(-2)).toEqual([
    "192.0.2.7\tdb\tdb.local",
    "2001:db8::7\tdb6",
  ]);
});

test("a node's last line without its end does not run into the aliases", () => {
  const file = hostNetworkHostsFile("127.0.0.1 localhost", { aliases, others: [] });
  expect(lines(file)[0]).toBe("127.0.0.1 localhost");
});

test("a comment stands alone on its line", () => {
  for (const text of [
    podHostsFile({ ...plain, aliases }),
    hostNetworkHostsFile("", { aliases, others: [] }),
  ])
    for (const line of text.split("\n").filter((one) => one.includes("#")))
      expect(line.startsWith("# ")).toBe(true);
});
