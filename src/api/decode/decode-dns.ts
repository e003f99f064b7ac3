// What a pod is called and how its names are resolved, as written → defaulted. k8s: validatePodDNSConfig, ValidateHostAliases

import { DEFAULT_DNS_POLICY } from "./defaults.ts";
import {
  booleanField,
  checkFields,
  choiceField,
  invalid,
  isUnwritten,
  judgedList,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "./field-reader.ts";
import { optional } from "./optional-field.ts";
import type { DnsPolicy, HostAlias, PodDnsConfig, PodSpec } from "../v1/pod.ts";
import { DNS_CONFIG, DNS_OPTION, HOST_ALIAS } from "../schema/pod-spec.ts";
import {
  dnsLabelError,
  ipError,
  searchPathError,
  subdomainNameError,
} from "../validation/validate-names.ts";

const MAX_NAMESERVERS = 3;
const MAX_SEARCH_PATHS = 32;
/** With the spaces between them. */
const MAX_SEARCH_CHARACTERS = 2048;
/** Of the kernel. */
const MAX_HOST_NAME = 64;

const POLICIES: readonly DnsPolicy[] = [
  "ClusterFirstWithHostNet",
  "ClusterFirst",
  "Default",
  "None",
];

type Naming = Pick<
  PodSpec,
  "hostname" | "subdomain" | "setHostnameAsFQDN" | "hostAliases" | "dnsPolicy" | "dnsConfig"
>;

export interface NamingContext {
  /** What the pod is called where no `hostname` is written. */
  readonly podName: string;
  /** Whether this node has name servers for `ClusterFirst`. */
  readonly clusterDNS: boolean;
}

export function decodeNaming(spec: Node, { podName, clusterDNS }: NamingContext): Naming {
  const hostname = labelField(spec, "hostname");
  const subdomain = labelField(spec, "subdomain");
  const setHostnameAsFQDN = booleanField(spec, "setHostnameAsFQDN") ?? false;
  const full = `${hostname ?? podName}.${subdomain ?? ""}`;
  if (setHostnameAsFQDN && subdomain !== undefined && full.length > MAX_HOST_NAME) {
    const message = `the host name ${full} has ${full.length} characters; at most ${MAX_HOST_NAME} are possible`;
    invalid(spec, "setHostnameAsFQDN", message);
  }
  return {
    ...optional("hostname", hostname),
    ...optional("subdomain", subdomain),
    setHostnameAsFQDN,
    hostAliases: objectList(spec, "hostAliases").map(decodeHostAlias),
    ...decodeDns(spec, clusterDNS),
  };
}

function labelField(node: Node, key: "hostname" | "subdomain"): string | undefined {
  const text = stringField(node, key);
  if (text === undefined || text === "") return undefined;
  const error = dnsLabelError(text);
  if (error !== undefined) invalid(node, key, error);
  return text;
}

function decodeHostAlias(node: Node): HostAlias {
  checkFields(node, HOST_ALIAS);
  const ip = stringField(node, "ip") ?? "";
  const error = ip === "" ? undefined : ipError(ip);
  if (isUnwritten(node, "ip")) required(node, "ip");
  if (error !== undefined) invalid(node, "ip", error);
  return { ip, hostnames: judgedList(node, "hostnames", subdomainNameError) };
}

function decodeDns(spec: Node, clusterDNS: boolean): Pick<PodSpec, "dnsPolicy" | "dnsConfig"> {
  const written = choiceField(spec, "dnsPolicy", POLICIES);
  if ((written === "ClusterFirst" || written === "ClusterFirstWithHostNet") && !clusterDNS) {
    const message =
      "there is no cluster DNS on this node; the pod gets the node's resolv.conf (configure clusterDNS, or write Default)";
    spec.findings.warn([...spec.path, "dnsPolicy"], "Ignored", message);
  }
  const node = objectField(spec, "dnsConfig");
  const config = node === undefined ? undefined : decodeDnsConfig(node);
  if (written === "None" && node === undefined)
    required(spec, "dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
  if (written === "None" && node !== undefined && config?.nameservers.length === 0) {
    const message = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    required(node, "nameservers", message);
  }
  return { dnsPolicy: written ?? DEFAULT_DNS_POLICY, ...optional("dnsConfig", config) };
}

function decodeDnsConfig(node: Node): PodDnsConfig {
  checkFields(node, DNS_CONFIG);
  const nameservers = judgedList(node, "nameservers", ipError);
  if (nameservers.length > MAX_NAMESERVERS)
    invalid(node, "nameservers", `must not have more than ${MAX_NAMESERVERS} nameservers`);
  const searches = judgedList(node, "searches", searchPathError);
  if (searches.length > MAX_SEARCH_PATHS)
    invalid(node, "searches", `must not have more than ${MAX_SEARCH_PATHS} search paths`);
  if (searches.join(" ").length > MAX_SEARCH_CHARACTERS) {
    const message = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    invalid(node, "searches", message);
  }
  return { nameservers, searches, options: objectList(node, "options").map(decodeOption) };
}

function decodeOption(node: Node): PodDnsConfig["options"][number] {
  checkFields(node, DNS_OPTION);
  const name = optionText(node, "name") ?? "";
  if (isUnwritten(node, "name")) required(node, "name", "must not be empty");
  return { name, ...optional("value", optionText(node, "value")) };
}

/** It becomes a word of resolv.conf: with a line break it would become another line. */
function optionText(node: Node, key: "name" | "value"): string | undefined {
  const text = stringField(node, key);
  if (text !== undefined && /[\s\0]/.test(text)) invalid(node, key, "must not contain white space");
  return text;
}
