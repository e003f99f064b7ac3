// Under which names and addresses this node is called, and the URL in a kubeconfig.

import { hostAndPort, type ListenAddress } from "../../config/listen-config.ts";
import { IP_FORM, SUBDOMAIN_FORM } from "../../api/validation/validate-names.ts";

export interface NodeNames {
  readonly nodeName: string;
  /** "" = unknown. */
  readonly hostname: string;
  /** IP addresses, those of the default route first. */
  readonly addresses: readonly string[];
  /** Added with `agent kubeconfig --server`. */
  readonly extra: readonly string[];
}

const LOOPBACK = ["127.0.0.1", "::1"];
const ANY = ["0.0.0.0", "::"];

/**
 * In small letters, those that are used most first. Addresses on which the API is not listened on are left out: they may
 * change often, and each change costs a certificate.
 */
export function serverNames(
  { host }: Pick<ListenAddress, "host">,
  { nodeName, hostname, addresses, extra }: NodeNames,
): readonly string[] {
  const reached = ANY.includes(host) ? addresses : isIP(host) ? [host] : [];
  const local = hostname === "" || hostname.includes(".") ? [] : [`${hostname}.local`];
  const names = [...extra, nodeName, hostname, ...local].map((name) => name.toLowerCase());
  const valid = names.filter((name) => isIP(name) || SUBDOMAIN_FORM.check(name) === undefined);
  return [...new Set(["localhost", ...LOOPBACK, ...valid, ...reached])];
}

export function isIP(name: string): boolean {
  return IP_FORM.check(name) === undefined;
}

export function isLoopback({ host }: Pick<ListenAddress, "host">): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** How a client reaches the API: by the address that is listened on, else by the first of the node. */
export function defaultServer({ host, port }: ListenAddress, addresses: readonly string[]): string {
  const reached = ANY.includes(host) ? (addresses[0] ?? "127.0.0.1") : host;
  return `https://${hostAndPort({ host: reached, port })}`;
}

/** Of `--server`: a URL, or a host with or without port. */
export function serverUrl(
  written: string,
  port: number,
): { readonly url: string; readonly host: string } | undefined {
  const withScheme = written.includes("://") ? written : `https://${written}`;
  const url = URL.parse(withScheme);
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "")
    return undefined;
  if (!["", "/"].includes(url.pathname) || url.search !== "" || url.hash !== "") return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!isIP(host) && SUBDOMAIN_FORM.check(host) !== undefined) return undefined;
  // What is written as :443 is the default of the scheme.
  const isPort = /:\d+\/?$/.test(withScheme);
  const own = url.port === "" ? 443 : Number(url.port);
  return { url: `https://${hostAndPort({ host, port: isPort ? own : port })}`, host };
}
