// What a request of a reader of the fleet proves, and where readers are answered: for the exporter and the page.

import { UsageError } from "../../cli/exit-codes.ts";
import { listenAddress, type ListenAddress } from "../../config/listen-config.ts";
import { isIP, isLoopback } from "../../server/secure/server-names.ts";

export interface ReaderAddress extends ListenAddress {
  /** Only this machine reaches it. */
  readonly isLoopback: boolean;
}

/** `127.0.0.1:9460`, `[::1]:9460`. Throws UsageError. */
export function readerAddress(written: string): ReaderAddress {
  const address = listenAddress(written);
  if (address !== undefined) return { ...address, isLoopback: isLoopback(address) };
  throw new UsageError(
    `${JSON.stringify(written)} is no address to listen on; write it as 127.0.0.1:9460 or [::1]:9460`,
  );
}

/** The token of an `Authorization` header; undefined = it has none. */
export function bearerOf(header: string | null | undefined): string | undefined {
  return /^Bearer (\S+)$/.exec(header ?? "")?.[1];
}

/** The name in a `Host` header, without port and brackets. */
export function nameOfHost(host: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, "");
}

/** What no stranger can make lead to another machine: an address, or localhost. */
export function isAddress(name: string): boolean {
  return isIP(name) || name === "localhost";
}
