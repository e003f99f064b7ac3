// The node's resolv.conf as CRI's DNS configuration. kubelet: parseResolvConf

/** CRI's DNSConfig. */
export interface DnsConfig {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** Lines it does not know are skipped, as libc does. Nothing is cut here. */
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

// The same domain with and without the dot counts once.
function withoutRoot(domain: string): string {
  return domain === "." ? domain : domain.replace(/\.$/, "");
}
