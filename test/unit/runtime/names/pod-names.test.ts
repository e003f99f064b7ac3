import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  MAX_NAME_BYTES,
  namesFor,
  namesLines,
  type NamedPod,
  type NamedService,
  type NameReader,
  type NamesWorld,
} from "../../../../src/runtime/names/pod-names.ts";

const file: NameReader = { namespace: "default", owner: "Static" };
const signed: NameReader = { namespace: "default", owner: "SignedDocument" };
const unsigned: NameReader = { namespace: "default", owner: "UnsignedDocument" };

const pod = (name: string, ip: string, more: Partial<NamedPod> = {}): NamedPod => ({
  namespace: "default",
  name,
  hostname: name,
  subdomain: "",
  ips: [ip],
  owner: "Static",
  ...more,
});
const service = (name: string, ...ips: string[]): NamedService => ({
  namespace: "default",
  name,
  ips,
  owner: "Static",
});

function names(world: Partial<NamesWorld>, reader = file): Record<string, readonly string[]> {
  return Object.fromEntries(
    namesFor(reader, { clusterDomain: "", pods: [], services: [], ...world }),
  );
}

describe("a pod is found", () => {
  test("by its name, alone and with its namespace", () => {
    expect(names({ pods: [pod("web", "10.0.0.1")] })).toEqual({
      web: ["10.0.0.1"],
      "web.default": ["10.0.0.1"],
    });
  });

  test("by its hostname and subdomain, as in a cluster", () => {
    const world = { pods: [pod("web-0", "10.0.0.1", { hostname: "front", subdomain: "site" })] };
    expect(Object.keys(names({ ...world, clusterDomain: "cluster.local" }))).toEqual([
      "web-0",
      "front.site",
      "web-0.default",
      "front.site.default",
      "front.site.default.svc",
      "front.site.default.svc.cluster.local",
    ]);
  });

  test("from another namespace by its name only if no second one has it", () => {
    const a = pod("db", "10.0.0.1", { namespace: "a" });
    const b = pod("db", "10.0.0.2", { namespace: "b" });
    expect(names({ pods: [a] })).toEqual({ "db.a": ["10.0.0.1"], db: ["10.0.0.1"] });
    expect(names({ pods: [a, b] })).toEqual({ "db.a": ["10.0.0.1"], "db.b": ["10.0.0.2"] });
  });

  test("in the reader's own namespace before any other", () => {
    const near = pod("db", "10.0.0.1");
    const far = pod("db", "10.0.0.2", { namespace: "a" });
    expect(names({ pods: [far, near] })["db"]).toEqual(["10.0.0.1"]);
  });

  test("by all of its addresses", () => {
    const dual = pod("web", "10.0.0.1", { ips: ["10.0.0.1", "2001:db8::1"] });
    expect(names({ pods: [dual] })["web"]).toEqual(["10.0.0.1", "2001:db8::1"]);
  });

  test("under a shared hostname with its siblings", () => {
    const shared = { hostname: "node", subdomain: "ring" };
    const world = { pods: [pod("a", "10.0.0.1", shared), pod("b", "10.0.0.2", shared)] };
    expect(names(world)["node.ring"]).toEqual(["10.0.0.1", "10.0.0.2"]);
  });
});

describe("a Service", () => {
  test("is a name of the addresses behind it, in its own namespace also alone", () => {
    const world = { services: [service("db", "10.0.0.1", "10.0.0.2")], clusterDomain: "c.local" };
    const both = ["10.0.0.1", "10.0.0.2"];
    const full = { "db.default": both, "db.default.svc": both, "db.default.svc.c.local": both };
    expect(names(world)).toEqual({ db: both, ...full });
    expect(names(world, { ...file, namespace: "other" })).toEqual(full);
  });

  test("comes before a pod of its name, as in a cluster", () => {
    const world = { pods: [pod("db", "10.0.0.9")], services: [service("db", "10.0.0.1")] };
    expect(names(world)["db"]).toEqual(["10.0.0.1"]);
    expect(names(world)["db.default"]).toEqual(["10.0.0.1"]);
  });
});

describe("whose name it is", () => {
  const world = {
    pods: [
      pod("web", "10.0.0.1"),
      pod("api", "10.0.0.2", { owner: "SignedDocument" }),
      pod("github.com", "10.0.0.3", { owner: "UnsignedDocument" }),
    ],
  };

  test("no name of an unsigned document reaches a pod of a file or of a signed document", () => {
    const all = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    const found = (reader: NameReader) =>
      all.filter((ip) => Object.values(names(world, reader)).flat().includes(ip));
    expect(found(file)).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(found(signed)).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(found(unsigned)).toEqual(all);
  });

  test("an unsigned pod does not make a file's name ambiguous", () => {
    const far = pod("db", "10.0.0.1", { namespace: "a" });
    const other = pod("db", "10.0.0.2", { namespace: "b", owner: "UnsignedDocument" });
    expect(names({ pods: [far, other] })["db"]).toEqual(["10.0.0.1"]);
    expect(names({ pods: [far, other] }, unsigned)["db"]).toBeUndefined();
  });

  test("to a pod of a file, any name of a file comes before one of a document", () => {
    const far = pod("db", "10.0.0.1", { namespace: "a" });
    const near = pod("db", "10.0.0.2", { owner: "SignedDocument" });
    expect(names({ pods: [far, near] })["db"]).toEqual(["10.0.0.1"]);
    expect(names({ pods: [far, near] }, signed)["db"]).toEqual(["10.0.0.2"]);
  });

  test("none is the machine's own, an address, or no name at all", () => {
    const odd = ["localhost", "a.localhost", "ip6-allnodes", "10.1.2.3", "a b", "UP", "x\n1.1.1.1"];
    const found = Object.keys(names({ services: odd.map((name) => service(name, "10.0.0.1")) }));
    for (const name of odd) expect(found).not.toContain(name);
    for (const name of found) expect(name).toMatch(/^[-a-z0-9.]+$/);
  });
});

describe("the lines of a hosts file", () => {
  test("hold one address each, the short names first, without those that it has already", () => {
    const found = new Map([
      ["web.default", ["10.0.0.2"]],
      ["web", ["10.0.0.2"]],
      ["db", ["10.0.0.1"]],
      ["own", ["10.0.0.3"]],
    ]);
    expect(namesLines(found, new Set(["own"]))).toEqual([
      { ip: "10.0.0.1", names: ["db"] },
      { ip: "10.0.0.2", names: ["web", "web.default"] },
    ]);
  });

  test("are short enough for musl, and hold every name once", () => {
    const label = fc.stringMatching(/^[a-z]{1,60}$/);
    fc.assert(
      fc.property(fc.uniqueArray(label, { maxLength: 200, size: "max" }), (all) => {
        const lines = namesLines(new Map(all.map((name) => [name, ["10.0.0.1"]])), new Set());
        for (const { ip, names: ofLine } of lines)
          expect(`${ip}\t${ofLine.join("\t")}\n`.length).toBeLessThan(512);
        expect(lines.flatMap((line) => line.names).toSorted()).toEqual(all.toSorted());
      }),
    );
  });

  test("are never too many: names of documents are left out before those of files", () => {
    const pods = Array.from({ length: 2000 }, (_, n) =>
      pod(`${"a".repeat(100)}-${n}`, `10.0.${n >> 8}.${n & 255}`, { owner: "SignedDocument" }),
    );
    const found = namesFor(file, {
      clusterDomain: "",
      services: [],
      pods: [...pods, pod("web", "10.1.0.0")],
    });
    const text = [...found].map(([name, ips]) => `${ips.join()} ${name}\n`).join("");
    expect(text.length).toBeLessThan(MAX_NAME_BYTES);
    expect(text.length).toBeGreaterThan(MAX_NAME_BYTES / 2);
    expect([...found.keys()].slice(0, 2)).toEqual(["web", "web.default"]);
  });

  test("do not depend on the order in which the pods came", () => {
    const shared = { hostname: "node", subdomain: "ring" };
    const pods = [
      pod("a", "10.0.0.1", shared),
      pod("b", "10.0.0.2", { ...shared, namespace: "x" }),
      pod("c", "10.0.0.3", { owner: "SignedDocument" }),
      pod("c", "10.0.0.4", { namespace: "y" }),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(pods, { minLength: 4 }), (order) => {
        const world = { clusterDomain: "", services: [] };
        const lines = (given: readonly NamedPod[]) =>
          namesLines(namesFor(file, { ...world, pods: given }), new Set());
        expect(lines(order)).toEqual(lines(pods));
      }),
    );
  });
});
