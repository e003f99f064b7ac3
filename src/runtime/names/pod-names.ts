// The names by which the pods of this node find each other, as lines of their hosts files. k8s: DNS for Services and Pods

import { compareText } from "../../lib/compare.ts";

/** Who may be seen by whom: what an unsigned document names is invisible to everything else. */
export type NameOwner = "Static" | "SignedDocument" | "UnsignedDocument";

/** A pod that has an address. */
export interface NamedPod {
  readonly namespace: string;
  readonly name: string;
  /** As its own containers see it; "" = none of its own. */
  readonly hostname: string;
  readonly subdomain: string;
  readonly ips: readonly string[];
  readonly owner: NameOwner;
}

/** A Service and the addresses behind its name. */
export interface NamedService {
  readonly namespace: string;
  readonly name: string;
  readonly ips: readonly string[];
  readonly owner: NameOwner;
}

export interface NamesWorld {
  /** "" = none. */
  readonly clusterDomain: string;
  readonly pods: readonly NamedPod[];
  readonly services: readonly NamedService[];
}

export interface NameReader {
  readonly namespace: string;
  readonly owner: NameOwner;
}

/** A line of a hosts file. */
export interface HostsLine {
  readonly ip: string;
  readonly names: readonly string[];
}

/** Of the names in one hosts file, each with its addresses; what comes last in precedence is left out. */
export const MAX_NAME_BYTES = 128 * 1024;
/** musl reads lines of at most 511 bytes. */
const MAX_LINE_BYTES = 400;
const NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Names that mean the machine itself, and what a resolver takes for an address. */
const RESERVED = /^(?:localhost|.*\.localhost|ip6-.*|[0-9.]+)$/;

/** One name of one object, as a reader may see it. Lower tiers come first. */
interface Candidate {
  readonly name: string;
  readonly tier: number;
  /** Orders the candidates of one tier. Those of one name with the same key are one object: their addresses count together. */
  readonly key: string;
  readonly ips: readonly string[];
}

const OWN_NAMESPACE = 0;
const QUALIFIED = 1;
/** Only if no two other namespaces have it. */
const OTHER_NAMESPACE = 2;
/** After every name of the same reader's other tiers. */
const LESS_TRUSTED = 3;

/** The addresses of each name that pods of this namespace and owner may look up. */
export function namesFor(
  reader: NameReader,
  world: NamesWorld,
): ReadonlyMap<string, readonly string[]> {
  const candidates = [
    ...world.services.flatMap((service) => serviceNames(service, reader, world)),
    ...world.pods.flatMap((pod) => podNames(pod, reader, world)),
  ];
  const names = new Map<string, Candidate>();
  for (const candidate of candidates.toSorted(byPrecedence)) {
    if (!NAME.test(candidate.name) || RESERVED.test(candidate.name)) continue;
    const first = names.get(candidate.name);
    if (first === undefined) names.set(candidate.name, candidate);
    else if (first.key === candidate.key)
      names.set(candidate.name, { ...first, ips: [...first.ips, ...candidate.ips] });
  }
  return within(MAX_NAME_BYTES, names);
}

function within(
  bytes: number,
  names: ReadonlyMap<string, Candidate>,
): ReadonlyMap<string, readonly string[]> {
  const kept = new Map<string, readonly string[]>();
  let left = bytes;
  for (const [name, { ips }] of names) {
    const addresses = [...new Set(ips)];
    for (const ip of addresses) left -= name.length + ip.length + 2;
    if (left < 0) break;
    kept.set(name, addresses);
  }
  return kept;
}

function byPrecedence(a: Candidate, b: Candidate): number {
  return a.tier - b.tier || compareText(a.key, b.key);
}

/** The same names as lines, without those that the file has already; equal for equal names, in whatever order they came. */
export function namesLines(
  names: ReadonlyMap<string, readonly string[]>,
  taken: ReadonlySet<string>,
): readonly HostsLine[] {
  const byAddress = new Map<string, string[]>();
  for (const [name, ips] of names) {
    if (taken.has(name)) continue;
    for (const ip of ips) byAddress.getOrInsert(ip, []).push(name);
  }
  return [...byAddress]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([ip, ofAddress]) => splitLines(ip, ofAddress.toSorted(byLength)));
}

/** The shortest first: a resolver that reads only the first lines finds what people write. */
function byLength(a: string, b: string): number {
  return a.length - b.length || compareText(a, b);
}

function splitLines(ip: string, names: readonly string[]): readonly HostsLine[] {
  const lines: string[][] = [];
  let length = MAX_LINE_BYTES;
  for (const name of names) {
    if (length + name.length >= MAX_LINE_BYTES) {
      lines.push([]);
      length = ip.length;
    }
    lines.at(-1)?.push(name);
    length += name.length + 1;
  }
  return lines.map((ofLine) => ({ ip, names: ofLine }));
}

function podNames(pod: NamedPod, reader: NameReader, world: NamesWorld): readonly Candidate[] {
  if (!isVisible(pod.owner, reader)) return [];
  const { namespace, name, hostname, subdomain, ips } = pod;
  const own = `2 Pod ${namespace}/${name}`;
  const isNear = namespace === reader.namespace;
  const less = lessTrusted(pod.owner, reader);
  const at = (tier: number, named: string, key = own): Candidate => ({
    name: named,
    tier: tier + less,
    key,
    ips,
  });
  const isRival = (other: NamedPod): boolean =>
    other.name === name &&
    other.namespace !== namespace &&
    other.namespace !== reader.namespace &&
    isVisible(other.owner, reader) &&
    lessTrusted(other.owner, reader) <= less;
  const isAlone = (): boolean => !world.pods.some(isRival);
  const bare = isNear ? [at(OWN_NAMESPACE, name)] : isAlone() ? [at(OTHER_NAMESPACE, name)] : [];
  const host = hostname === "" || subdomain === "" ? "" : `${hostname}.${subdomain}`;
  const shared = `3 Host ${namespace}/${host}`;
  const hosts =
    host === ""
      ? []
      : [
          ...(isNear ? [at(OWN_NAMESPACE, host, shared)] : []),
          ...inCluster(`${host}.${namespace}`, world).map((full) => at(QUALIFIED, full, shared)),
        ];
  return [...bare, at(QUALIFIED, `${name}.${namespace}`), ...hosts];
}

const TRUST: readonly NameOwner[] = ["Static", "SignedDocument", "UnsignedDocument"];

function serviceNames(
  service: NamedService,
  reader: NameReader,
  world: NamesWorld,
): readonly Candidate[] {
  if (!isVisible(service.owner, reader)) return [];
  const { namespace, name, ips, owner } = service;
  const less = lessTrusted(owner, reader);
  // Of two owners the more trusted counts; their pods are not mixed.
  const key = `1 Service ${namespace}/${name} ${TRUST.indexOf(owner)}`;
  const at = (tier: number, named: string): Candidate => ({
    name: named,
    tier: tier + less,
    key,
    ips,
  });
  const qualified = inCluster(`${name}.${namespace}`, world).map((full) => at(QUALIFIED, full));
  return namespace === reader.namespace ? [at(OWN_NAMESPACE, name), ...qualified] : qualified;
}

function inCluster(name: string, { clusterDomain }: NamesWorld): readonly string[] {
  const service = `${name}.svc`;
  return clusterDomain === "" ? [name, service] : [name, service, `${service}.${clusterDomain}`];
}

/** A name that an unsigned document chooses could be one that other pods look up outside (file-pods-untouched). */
export function isVisible(owner: NameOwner, reader: Pick<NameReader, "owner">): boolean {
  return owner !== "UnsignedDocument" || reader.owner === "UnsignedDocument";
}

/** To a pod of a file, every name of files comes before those of documents (files-win). */
function lessTrusted(owner: NameOwner, reader: NameReader): number {
  return reader.owner === "Static" && owner !== "Static" ? LESS_TRUSTED : 0;
}
