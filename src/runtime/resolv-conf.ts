// The node's resolv.conf as CRI's DNS configuration of a pod. kubelet: parseResolvConf, dnsPolicy Default

/** CRI's DNSConfig. */
export interface DnsConfig {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** The resolver of libc looks no further. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;

/** Lines it does not know are skipped, as libc does. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = [];
  const options: string[] = [];
  let searches: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...values] = line.trim().split(/\s+/);
    // The last search line counts, options add up.
    if (keyword === "nameserver") servers.push(...values.slice(0, 1));
    else if (keyword === "search") searches = values.map(withoutRoot);
    else if (keyword === "options") options.push(...values);
  }
  return {
    servers: servers.slice(0, MAX_SERVERS),
    searches: fitting(searches),
    options: [...new Set(options)],
  };
}

function withoutRoot(domain: string): string {
  return domain === "." ? domain : domain.replace(/\.$/, "");
}

function fitting(searches: readonly string[]): string[] {
  const all = [...new Set(searches)].slice(0, MAX_SEARCHES);
  while (all.join(" ").length > MAX_SEARCH_CHARACTERS) all.pop();
  return all;
}
