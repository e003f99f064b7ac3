// Where the page of the fleet is served, and what that needs: another address than loopback needs a token or a certificate,
// and one that changes something a certificate.

import { UsageError } from "../../cli/exit-codes.ts";
import { hostAndPort } from "../../config/listen-config.ts";
import {
  isAddress,
  nameOfHost,
  readerAddress,
  type ReaderAddress,
} from "../http/reader-request.ts";

export interface AddressFlags {
  readonly listen?: string;
  readonly port?: number;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly key?: readonly string[];
}

const LOOPBACK = "127.0.0.1";
const ANY = ["0.0.0.0", "::"];

/** Port 0 = any free one. Throws UsageError for what would open the fleet to others. */
export function pageAddress(flags: AddressFlags): ReaderAddress {
  const { listen, port, tokenFile, tlsCert, tlsKey, key = [] } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError("--tls-cert and --tls-key belong together: name both files");
  if (listen === undefined) return { host: LOOPBACK, port: port ?? 0, isLoopback: true };
  if (port !== undefined) throw new UsageError("--listen has a port already: leave out --port");
  const address = readerAddress(listen);
  const isSecure = tlsCert !== undefined;
  if (address.isLoopback || isSecure) return address;
  const reached = `${listen} can be reached from other machines`;
  if (tokenFile === undefined)
    throw new UsageError(
      `${reached}; add --tls-cert and --tls-key, or at least --token-file, or listen on 127.0.0.1`,
    );
  if (key.length > 0)
    throw new UsageError(
      `${reached}, and who reads on the way could use --key; add --tls-cert and --tls-key`,
    );
  return address;
}

export interface OwnNames {
  readonly isLoopback: boolean;
  /** Whether the certificate is for the name; absent = there is none. */
  readonly isCertified?: (name: string) => boolean;
}

/** Whether a `Host` header names this server, and is no name that a stranger has pointed at it. Any port: a tunnel has one of
 * its own. */
export function isOwnHost(host: string, { isLoopback, isCertified }: OwnNames): boolean {
  if (!/^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(host)) return false;
  const name = nameOfHost(host).toLowerCase();
  if (isCertified?.(name) === true) return true;
  if (!isLoopback) return isAddress(name);
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

export interface PrintedAddress {
  readonly scheme: "http" | "https";
  readonly listen: { readonly host: string; readonly port: number };
  /** Addresses of this machine, those that others reach first. */
  readonly own: readonly string[];
  /** undefined = the person has it in a file. */
  readonly token: string | undefined;
}

/** For a browser. The token stands where no request has it. */
export function printedAddress({ scheme, listen, own, token }: PrintedAddress): string {
  const { host, port } = listen;
  const reached = ANY.includes(host) ? (own[0] ?? LOOPBACK) : host;
  const fragment = token === undefined ? "" : `#token=${token}`;
  return `${scheme}://${hostAndPort({ host: reached, port })}/${fragment}`;
}
