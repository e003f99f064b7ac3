import { describe, expect, test } from "bun:test";
import {
  type DnsConfig,
  type DnsFacts,
  podDns,
} from "../../../../src/runtime/cri-config/pod-dns.ts";
import { aPod } from "../../../fakes/a-pod.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";

const node: DnsConfig = {
  servers: ["192.0.2.1"],
  searches: ["lan", "cluster.local"],
  options: ["edns0"],
};
const facts: DnsFacts = { node, clusterDNS: [], clusterDomain: "" };
const inCluster: DnsFacts = {
  node,
  clusterDNS: ["10.96.0.10", "fd00::a"],
  clusterDomain: "cluster.local",
};
const clustered: DnsConfig = {
  servers: ["10.96.0.10", "fd00::a"],
  searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"],
  options: ["ndots:5"],
};
const nothing: DnsConfig = { servers: [], searches: [], options: [] };
const of = (spec: Partial<PodSpec>, known: DnsFacts) =>
  podDns(aPod(spec, { namespace: "shop" }), known);

describe("dnsPolicy", () => {
  const cases: Record<string, [Partial<PodSpec>, DnsFacts, DnsConfig]> = {
    "Default is the node's": [{ dnsPolicy: "Default" }, inCluster, node],
    "ClusterFirst is the cluster's": [{}, inCluster, clustered],
    "ClusterFirst is Default without a cluster's servers": [
      {},
      { ...inCluster, clusterDNS: [] },
      node,
    ],
    "ClusterFirst without a cluster's domain searches as the node does": [
      {},
      { ...inCluster, clusterDomain: "" },
      { ...clustered, searches: node.searches },
    ],
    "ClusterFirst on the host's network is Default": [{ hostNetwork: true }, inCluster, node],
    "ClusterFirstWithHostNet is the cluster's there too": [
      { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" },
      inCluster,
      clustered,
    ],
    "ClusterFirstWithHostNet is Default without a cluster": [
      { dnsPolicy: "ClusterFirstWithHostNet" },
      facts,
      node,
    ],
    "None is nothing": [{ dnsPolicy: "None" }, inCluster, nothing],
  };

  test.each(Object.entries(cases))("%s", (_, [spec, known, config]) => {
    expect(of(spec, known)).toEqual({ config, events: [] });
  });
});

describe("dnsConfig", () => {
  const dnsConfig = {
    nameservers: ["192.0.2.9", "192.0.2.1"],
    searches: ["lan", "example.org"],
    options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
  };

  test("is all that there is under None", () => {
    expect(of({ dnsPolicy: "None", dnsConfig }, inCluster).config).toEqual({
      servers: ["192.0.2.9", "192.0.2.1"],
      searches: ["lan", "example.org"],
      options: ["ndots:2", "edns0"],
    });
  });

  test("stands behind what there is, each once", () => {
    expect(of({ dnsPolicy: "Default", dnsConfig }, facts).config).toEqual({
      servers: ["192.0.2.1", "192.0.2.9"],
      searches: ["lan", "cluster.local", "example.org"],
      options: ["edns0", "ndots:2"],
    });
  });

  test("its options go before those of the cluster", () => {
    expect(of({ dnsConfig }, inCluster).config.options).toEqual(["ndots:2", "edns0"]);
  });

  test("an option without a value takes the value away", () => {
    const without = { nameservers: [], searches: [], options: [{ name: "ndots" }] };
    expect(of({ dnsConfig: without }, inCluster).config.options).toEqual(["ndots"]);
  });
});

describe("what does not fit", () => {
  const many = (count: number, length = 1) =>
    Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, "x"));
  const none = { dnsPolicy: "None" } as const;
  const searching = (searches: readonly string[]) =>
    of({ ...none, dnsConfig: { nameservers: [], searches, options: [] } }, facts);

  test("three servers are used, and the others reported", () => {
    const nameservers = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
    const { config, events } = of(
      { ...none, dnsConfig: { nameservers, searches: [], options: [] } },
      facts,
    );
    expect(config.servers).toEqual(nameservers.slice(0, 3));
    expect(events).toEqual([
      {
        type: "Warning",
        reason: "DNSConfigForming",
        message:
          "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.1 192.0.2.2 192.0.2.3",
      },
    ]);
  });

  test("32 domains are searched", () => {
    expect(searching(many(32))).toEqual({
      config: { ...nothing, searches: many(32) },
      events: [],
    });
    const { config, events } = searching(many(33));
    expect(config.searches).toEqual(many(32));
    expect(events).toEqual([
      {
        type: "Warning",
        reason: "DNSConfigForming",
        message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${many(32).join(" ")}`,
      },
    ]);
  });

  test("of 2048 characters together", () => {
    const { config, events } = searching(many(12, 200));
    expect(config.searches).toEqual(many(10, 200));
    expect(events).toHaveLength(1);
    expect(searching([...many(10, 203), "0123456789"]).config.searches).toEqual([...many(10, 203)]);
    expect(searching([...many(10, 203), "012345678"]).config.searches).toHaveLength(10);
    expect(searching([...many(10, 203), "01234567"]).config.searches).toHaveLength(11);
  });

  test("none of more than 253 characters, which ends the process that reads it", () => {
    const [fits, long] = ["a".repeat(253), "b".repeat(254)];
    const { config, events } = searching([long, fits]);
    expect(config.searches).toEqual([fits]);
    expect(events).toHaveLength(1);
  });

  test("of the node's own counts as well", () => {
    const { config, events } = of(
      { dnsPolicy: "Default" },
      { ...facts, node: { ...node, servers: many(4) } },
    );
    expect(config.servers).toEqual(many(3));
    expect(events).toHaveLength(1);
  });
});
