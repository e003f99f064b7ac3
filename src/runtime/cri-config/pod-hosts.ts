// The host name of a pod, and the text of its /etc/hosts. kubelet: GeneratePodHostNameAndDomain, GetNodenameForKernel,
// managedHostsFileContent, nodeHostsFileContent

import type { HostAlias } from "../../api/v1/dns.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { AgentError } from "../../lib/errors.ts";
import type { HostsLine } from "../names/pod-names.ts";

export interface PodHostname {
  readonly hostname: string;
  /** `<subdomain>.<namespace>.svc.<clusterDomain>`; "" = none. */
  readonly domain: string;
}

/** Characters that the kernel accepts: 64 bytes with the terminating NUL. */
const MAX_HOSTNAME = 63;
const MAX_FQDN = 64;

/** A subdomain counts only if the node has a cluster domain; hostnameOverride is the whole name. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostname = metadata.name, subdomain = "", hostnameOverride } = spec;
  if (hostnameOverride !== undefined) return { hostname: hostnameOverride, domain: "" };
  const hasDomain = subdomain !== "" && clusterDomain !== "";
  return {
    hostname: truncated(hostname),
    domain: hasDomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/**
 * For the sandbox; "" = the node's: runc refuses a host name together with the host's network.
 * Throws AgentError `CreatePodSandboxError` when a full name would be too long.
 */
export function kernelHostname(pod: Pod, clusterDomain: string): string {
  if (pod.spec.hostNetwork) return "";
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || domain === "") return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= MAX_FQDN) return fqdn;
  const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${MAX_FQDN} characters is the max, ${fqdn.length} characters requested)`;
  throw new AgentError({ reason: "CreatePodSandboxError", message });
}

function truncated(hostname: string): string {
  if (hostname.length <= MAX_HOSTNAME) return hostname;
  return hostname.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "");
}

export interface OtherNames {
  readonly aliases: readonly HostAlias[];
  /** Names of this node's pods. */
  readonly others: readonly HostsLine[];
}

export interface PodHosts extends PodHostname, OtherNames {
  readonly ips: readonly string[];
}

const HEADER = "# Written by the agent for this pod. Manual changes are overwritten.\n";
const NODE_HEADER = "# Copied by the agent from the node, for a pod with hostNetwork.\n";
const LOCALHOST = [
  ["127.0.0.1", "localhost"],
  ["::1", "localhost ip6-localhost ip6-loopback"],
  ["fe00::0", "ip6-localnet"],
  ["fe00::0", "ip6-mcastprefix"],
  ["fe00::1", "ip6-allnodes"],
  ["fe00::2", "ip6-allrouters"],
] as const;

/** For a pod with its own network. */
export function podHostsFile({ ips, hostname, domain, ...more }: PodHosts): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...LOCALHOST, ...ips.map((ip) => [ip, names] as const)];
  return `${HEADER}${lines.map(lineOf).join("")}${otherText(more)}`;
}

/** For a pod with hostNetwork; `node` is the text of the node's own file. */
export function hostNetworkHostsFile(node: string, more: OtherNames): string {
  const end = node === "" || node.endsWith("\n") ? "" : "\n";
  return `${NODE_HEADER}${node}${end}${otherText(more)}`;
}

/** Every name that a hosts file has an address for. */
export function namesInHosts(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [, ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    return names.map((name) => name.toLowerCase());
  });
}

/** The first line of a name counts, so what the pod's author wrote stands first. */
function otherText({ aliases, others }: OtherNames): string {
  const aliased = aliases.map(({ ip, hostnames }) => lineOf([ip, hostnames.join("\t")]));
  const named = others.map(({ ip, names }) => lineOf([ip, names.join("\t")]));
  return [
    aliased.length === 0 ? "" : `\n# From the pod's hostAliases.\n${aliased.join("")}`,
    named.length === 0 ? "" : `\n# Pods of this node.\n${named.join("")}`,
  ].join("");
}

function lineOf([ip, names]: readonly [string, string]): string {
  return `${ip}\t${names}\n`;
}
