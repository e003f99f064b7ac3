// Performs: the node's own name servers, as its pods get them: looked up for each sandbox, for a resolver may start
// after the agent.

import type { Files } from "../../host/files.ts";
import { isOnlyStub, parseResolvConf, type DnsConfig } from "./resolv-conf.ts";

const ETC_RESOLV_CONF = "/etc/resolv.conf";
/** The file systemd-resolved writes the real name servers to. */
const RESOLVED_CONF = "/run/systemd/resolve/resolv.conf";
const RESOLV_CONF_BYTES = 64 * 1024;

type Reading = Pick<Files, "target" | "readFollowing">;

/** `configured`: what `resolvConf` says, which is then taken as it is. */
export function nodeDns(files: Reading, configured: string | undefined): DnsConfig {
  if (configured !== undefined) return read(files, configured);
  const own = read(files, ETC_RESOLV_CONF);
  return isOnlyStub(own) ? read(files, RESOLVED_CONF) : own;
}

/** What is not there names no servers. */
function read(files: Reading, path: string): DnsConfig {
  const isThere = files.target(path) !== undefined;
  const text = isThere ? files.readFollowing(path, RESOLV_CONF_BYTES) : new Uint8Array();
  return parseResolvConf(new TextDecoder().decode(text));
}
