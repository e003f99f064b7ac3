// Kernel settings that a pod can have in its own namespaces, and those of them that affect no other pod. kubelet: sysctl allowlist

import type { Form } from "./validate-names.ts";

type SysctlNamespace = "ipc" | "net";

/** They change nothing outside of the pod, nor take from others. kubelet: SafeSysctlAllowlist */
const SAFE: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
];

const IPC_NAMES: readonly string[] = ["kernel.sem"];
const IPC_PREFIXES: readonly string[] = ["kernel.shm", "kernel.msg", "fs.mqueue."];
const NET_PREFIX = "net.";
const MAX_NAME = 253;
const SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const NAME = new RegExp(`^(${SEGMENT}[./])*${SEGMENT}$`);
const PATTERN = new RegExp(`^(${SEGMENT}[./])*(${SEGMENT}\\*?|\\*)$`);

export const SYSCTL_FORM: Form = {
  check: (name) =>
    name.length <= MAX_NAME && NAME.test(name)
      ? undefined
      : `must have at most ${MAX_NAME} characters and match regex ${NAME.source}`,
  schema: { pattern: NAME.source, maxLength: MAX_NAME },
};

/** With dots between its parts: a name may also be written like its path, `net/ipv4/…`. */
export function normalSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/" || name.length > MAX_NAME) return name;
  // Written as a path, a dot belongs to a part (an interface such as `eth0.1`).
  return name.replaceAll(/[./]/g, (sign) => (sign === "/" ? "." : "/"));
}

/** The namespace that keeps it apart; undefined = it is the whole node's. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (name.startsWith(NET_PREFIX)) return "net";
  if (IPC_NAMES.includes(name) || IPC_PREFIXES.some((prefix) => name.startsWith(prefix)))
    return "ipc";
  return undefined;
}

export function isSafeSysctl(name: string): boolean {
  return SAFE.includes(normalSysctl(name));
}

/** Whether one of the patterns (a name, or a prefix before `*`) allows it. */
export function isAllowedSysctl(name: string, patterns: readonly string[]): boolean {
  const wanted = normalSysctl(name);
  return patterns
    .map(normalSysctl)
    .some((pattern) =>
      pattern.endsWith("*") ? wanted.startsWith(pattern.slice(0, -1)) : wanted === pattern,
    );
}

/** What is wrong with an entry of `allowedUnsafeSysctls`; undefined = nothing. */
export function sysctlPatternError(pattern: string): string | undefined {
  if (pattern.length > MAX_NAME || !PATTERN.test(pattern))
    return "must be the name of a sysctl, or a prefix ending in * such as net.core.*";
  if (sysctlNamespace(normalSysctl(pattern).replace(/\*$/, "")) !== undefined) return undefined;
  return "must be a namespaced sysctl (net.*, kernel.shm*, kernel.msg*, kernel.sem or fs.mqueue.*): any other changes the whole node";
}
