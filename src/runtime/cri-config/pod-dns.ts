// The DNS configuration of a pod, and the node's resolv.conf that it may come from.
// kubelet: network/dns Configurer.GetPodDNS, parseResolvConf

import { warning, type EventContent } from "../../api/v1/events.ts";
import type { PodDnsConfig } from "../../api/v1/dns.ts";
import type { Pod } from "../../api/v1/pod.ts";

export interface DnsFacts {
  /** The node's own, from `resolvConf`. */
  readonly node: DnsConfig;
  /** Addresses; empty = ClusterFirst behaves like Default. */
  readonly clusterDNS: readonly string[];
  /** "" = no search domains of a cluster. */
  readonly clusterDomain: string;
}

export interface PodDns {
  readonly config: DnsConfig;
  /** Report what was omitted because of a limit. */
  readonly events: readonly EventContent[];
}

/** libc's resolver ignores further servers. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
/** Characters; glibc aborts a process that reads a longer domain. */
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
  const events: EventContent[] = [];
  if (someServers.length < servers.length)
    events.push(
      tooMany(
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is",
        someServers,
      ),
    );
  if (someSearches.length < searches.length)
    events.push(
      tooMany(
        "Search Line limits were exceeded, some search paths have been omitted, the applied search line is",
        someSearches,
      ),
    );
  return { config: { servers: someServers, searches: someSearches, options }, events };
}

function fittingSearches(searches: readonly string[]): string[] {
  const all = searches.slice(0, MAX_SEARCHES).filter(({ length }) => length <= MAX_DOMAIN);
  while (all.join(" ").length > MAX_SEARCH_CHARACTERS) all.pop();
  return all;
}

function tooMany(what: string, applied: readonly string[]): EventContent {
  return warning("DNSConfigForming", `${what}: ${applied.join(" ")}`);
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** CRI's DNSConfig. */
export interface DnsConfig {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** Unknown lines are skipped, as libc does. Limits are applied by `podDns`. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  const options = new Map<string, string>();
  let searches: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...values] = line.trim().split(/\s+/);
    if (keyword === "nameserver") servers.push(...values.slice(0, 1));
    // The last search line counts, options add up.
    else if (keyword === "search") searches = values.map(withoutRoot);
    else if (keyword === "options")
      for (const option of values) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

/** A pod cannot reach systemd-resolved's stub, which listens on the host's loopback. */
export function isOnlyStub({ servers }: DnsConfig): boolean {
  return servers.length > 0 && servers.every((server) => server === "127.0.0.53");
}

/** `ndots` of `ndots:5`. */
export function optionName(option: string): string {
  return option.split(":", 1)[0] ?? option;
}

/** The same domain with and without the final dot counts once. */
function withoutRoot(domain: string): string {
  return domain === "." ? domain : domain.replace(/\.$/, "");
}
