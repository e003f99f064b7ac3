// The text of a pod's /etc/hosts. kubelet: managedHostsFileContent, nodeHostsFileContent

import type { HostAlias } from "../../api/v1/dns.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import { AgentError } from "../../lib/errors.ts";

export interface PodHosts {
  readonly ips: readonly string[];
  readonly hostname: string;
  /** "" = none. */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
}

const HEADER =
  "# Written by the agent for this pod. Manual changes are overwritten when a container starts.\n";
const NODE_HEADER = "# Copied by the agent from the node, for a pod with hostNetwork.\n";
const LOCALHOST = [
  ["127.0.0.1", "localhost"],
  ["::1", "localhost ip6-localhost ip6-loopback"],
  ["fe00::0", "ip6-localnet"],
  ["fe00::0", "ip6-mcastprefix"],
  ["fe00::1", "ip6-allnodes"],
  ["fe00::2", "ip6-allrouters"],
] as const;

/** `<stateDir>/pods/<uid>/etc-hosts`. Throws AgentError `InvalidUID` for a UID that could escape that directory. */
export function etcHostsPath(stateDir: string, uid: PodUID): string {
  if (!/^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(uid))
    throw new AgentError({ reason: "InvalidUID", message: `"${uid}" is not a pod's UID` });
  return `${stateDir.replace(/\/+$/, "")}/pods/${uid}/etc-hosts`;
}

/** For a pod with its own network. */
export function podHostsFile({ ips, hostname, domain, aliases }: PodHosts): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...LOCALHOST, ...ips.map((ip) => [ip, names] as const)];
  return `${HEADER}${lines.map(lineOf).join("")}${aliasesText(aliases)}`;
}

/** For a pod with hostNetwork; `node` is the text of the node's own file. */
export function hostNetworkHostsFile(node: string, aliases: readonly HostAlias[]): string {
  const end = node === "" || node.endsWith("\n") ? "" : "\n";
  return `${NODE_HEADER}${node}${end}${aliasesText(aliases)}`;
}

function aliasesText(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames }) => lineOf([ip, hostnames.join("\t")]));
  return `\n# From the pod's hostAliases.\n${lines.join("")}`;
}

function lineOf([ip, names]: readonly [string, string]): string {
  return `${ip}\t${names}\n`;
}
