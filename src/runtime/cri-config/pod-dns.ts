// Decides where a pod's names are looked up. kubelet: network/dns Configurer.GetPodDNS

import type { Said } from "../../api/v1/events.ts";
import type { PodDnsConfig } from "../../api/v1/dns.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { optionName, type DnsConfig } from "./resolv-conf.ts";

export interface DnsFacts {
  /** The node's own, as `resolvConf` has it. */
  readonly node: DnsConfig;
  /** Addresses; empty = ClusterFirst is Default. */
  readonly clusterDNS: readonly string[];
  /** "" = no search domains of a cluster. */
  readonly clusterDomain: string;
}

export interface PodDns {
  readonly config: DnsConfig;
  /** What did not fit. */
  readonly said: readonly Said[];
}

/** The resolver of libc looks no further. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
/** glibc aborts the process that meets a longer one. */
const MAX_DOMAIN = 253;
const CLUSTER_OPTIONS: readonly string[] = ["ndots:5"];

export function podDns(pod: Pod, facts: DnsFacts): PodDns {
  const base = baseOf(pod, facts);
  const { dnsConfig } = pod.spec;
  return fitting(dnsConfig === undefined ? base : merged(base, dnsConfig));
}

function baseOf(pod: Pod, facts: DnsFacts): DnsConfig {
  switch (pod.spec.dnsPolicy) {
    case "None":
      return { servers: [], searches: [], options: [] };
    case "Default":
      return facts.node;
    case "ClusterFirst":
      return pod.spec.hostNetwork ? facts.node : clusterFirst(pod, facts);
    case "ClusterFirstWithHostNet":
      return clusterFirst(pod, facts);
  }
}

function clusterFirst({ metadata }: Pod, { node, clusterDNS, clusterDomain }: DnsFacts): DnsConfig {
  if (clusterDNS.length === 0) return node;
  const services = `svc.${clusterDomain}`;
  const own = [`${metadata.namespace}.${services}`, services, clusterDomain];
  return {
    servers: [...clusterDNS],
    searches: clusterDomain === "" ? node.searches : unique([...own, ...node.searches]),
    options: [...CLUSTER_OPTIONS],
  };
}

function merged(base: DnsConfig, { nameservers, searches, options }: PodDnsConfig): DnsConfig {
  const byName = new Map(base.options.map((option) => [optionName(option), option]));
  for (const { name, value = "" } of options)
    byName.set(name, value === "" ? name : `${name}:${value}`);
  return {
    servers: unique([...base.servers, ...nameservers]),
    searches: unique([...base.searches, ...searches]),
    options: [...byName.values()],
  };
}

function fitting({ servers, searches, options }: DnsConfig): PodDns {
  const [someServers, someSearches] = [servers.slice(0, MAX_SERVERS), fittingSearches(searches)];
  const said: Said[] = [];
  if (someServers.length < servers.length)
    said.push(
      tooMany(
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is",
        someServers,
      ),
    );
  if (someSearches.length < searches.length)
    said.push(
      tooMany(
        "Search Line limits were exceeded, some search paths have been omitted, the applied search line is",
        someSearches,
      ),
    );
  return { config: { servers: someServers, searches: someSearches, options }, said };
}

function fittingSearches(searches: readonly string[]): string[] {
  const all = searches.slice(0, MAX_SEARCHES).filter(({ length }) => length <= MAX_DOMAIN);
  while (all.join(" ").length > MAX_SEARCH_CHARACTERS) all.pop();
  return all;
}

function tooMany(what: string, applied: readonly string[]): Said {
  const message = `${what}: ${applied.join(" ")}`;
  return { type: "Warning", reason: "DNSConfigForming", message };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
