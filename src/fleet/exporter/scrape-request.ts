// Whether a request for metrics is answered, and where the exporter listens.

import { UsageError } from "../../cli/exit-codes.ts";
import { listenAddress, type ListenAddress } from "../../config/listen-config.ts";
import { isIP } from "../../server/secure/server-names.ts";

export interface ScrapeAddress extends ListenAddress {
  /** Only this machine reaches it. */
  readonly isLoopback: boolean;
}

/** `127.0.0.1:9460`, `[::1]:9460`. Throws UsageError. */
export function scrapeAddress(written: string): ScrapeAddress {
  const address = listenAddress(written);
  if (address === undefined)
    throw new UsageError(
      `${JSON.stringify(written)} is no address to listen on; write it as 127.0.0.1:9460 or [::1]:9460`,
    );
  const { host } = address;
  const isLoopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  return { ...address, isLoopback };
}

/** `Host` of a request: an address or localhost, with or without a port. */
function isOwnName(host: string): boolean {
  const name = /^\[(.+)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, "");
  return isIP(name) || name === "localhost";
}

export interface Denied {
  readonly status: 401 | 403 | 405;
  readonly text: string;
}

type Asked = Pick<Request, "method" | "headers">;

/** undefined = it is answered. `isToken`: whether what was sent is the token; true for anything if there is none. */
export function mayAnswer(
  { method, headers }: Asked,
  isToken: (sent: string | undefined) => boolean,
): Denied | undefined {
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "only GET is answered" };
  // A page in a browser could otherwise read the fleet through the browser of an operator.
  if (headers.has("origin") || headers.get("sec-fetch-site") === "cross-site")
    return { status: 403, text: "pages of other origins get no metrics" };
  // Nor through a name that a stranger has pointed at this address.
  if (!isOwnName(headers.get("host") ?? ""))
    return { status: 403, text: "ask for it by an IP address, or as localhost" };
  const sent = /^Bearer (\S+)$/.exec(headers.get("authorization") ?? "")?.[1];
  if (isToken(sent)) return undefined;
  return { status: 401, text: "send the token as Authorization: Bearer" };
}
