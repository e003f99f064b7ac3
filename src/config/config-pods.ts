// The part of a configuration that pods notice: name servers, classes, reserves, limits.

import { CONFIG_DEFAULTS } from "./config-defaults.ts";
import {
  absolutePath,
  bool,
  className,
  dnsDomain,
  handlerName,
  integer,
  ipAddresses,
  priorityClassName,
  quantity,
  sysctlPatterns,
  type Check,
} from "./config-fields.ts";
import type { FieldReader, Mapping } from "./config-reader.ts";
import type { AgentConfig, PodSettings } from "./config.ts";

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;
/** Beyond it lie the system's own classes. kubelet: HighestUserDefinablePriority */
const HIGHEST_PRIORITY = 1_000_000_000;
const NO_PIDS_LIMIT = -1;
const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

/** Where the agent keeps what is its own. */
export type OwnDirectories = Pick<
  AgentConfig,
  "stateDir" | "staticPodPath" | "podLogsDir" | "socket"
>;

export function readPodSettings(
  reader: FieldReader,
  root: Mapping,
  own: OwnDirectories,
): PodSettings {
  const defaults = CONFIG_DEFAULTS;
  const read = <T>(key: string, check: Check<T>, fallback: T): T =>
    reader.value(root, [key], check) ?? fallback;
  const map = <T>(key: string, check: EntryCheck<T>): Readonly<Record<string, T>> =>
    readEntries(reader, root, { key, ...check });
  return {
    clusterDNS: read("clusterDNS", ipAddresses, defaults.clusterDNS),
    clusterDomain: read("clusterDomain", dnsDomain, defaults.clusterDomain),
    allowedUnsafeSysctls: read(
      "allowedUnsafeSysctls",
      sysctlPatterns,
      defaults.allowedUnsafeSysctls,
    ),
    seccompDefault: read("seccompDefault", bool, defaults.seccompDefault),
    claimRoot: readClaimRoot(reader, root, own),
    claimRootMustBeMount: read("claimRootMustBeMount", bool, defaults.claimRootMustBeMount),
    runtimeClasses: map("runtimeClasses", { name: className, value: handlerName }),
    priorityClasses: map("priorityClasses", {
      name: priorityClassName,
      value: integer({ min: INT32_MIN, max: HIGHEST_PRIORITY }),
    }),
    podPidsLimit: read("podPidsLimit", pidsLimit, defaults.podPidsLimit),
    cpuCFSQuota: read("cpuCFSQuota", bool, defaults.cpuCFSQuota),
    systemReserved: map("systemReserved", { name: reservable, value: quantity }),
    kubeReserved: map("kubeReserved", { name: reservable, value: quantity }),
  };
}

/**
 * Below it a namespace and a name lead to a directory that pods write to: they must lead to none of the agent's own, nor
 * may claims lie where the agent tidies up.
 */
function readClaimRoot(reader: FieldReader, root: Mapping, own: OwnDirectories): string {
  const state = namesOf(own.stateDir);
  const written = reader.value(root, ["claimRoot"], absolutePath);
  if (written === undefined) return pathOf([...state, "claims"]);
  const names = namesOf(written);
  const closed = [
    [...state, "pods"],
    [...state, "desired"],
  ];
  const met =
    [state, ...[own.staticPodPath, own.podLogsDir, own.socket].map(namesOf)].find((one) =>
      isWithin(one, names),
    ) ?? closed.find((one) => isWithin(names, one));
  if (met === undefined) return written;
  const message = `must not lie in ${pathOf(met)}, nor around it: that is the agent's own`;
  reader.refuse(["claimRoot"], "Invalid", message);
  return written;
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function pathOf(names: readonly string[]): string {
  return `/${names.join("/")}`;
}

function isWithin(path: readonly string[], directory: readonly string[]): boolean {
  return directory.every((name, index) => path[index] === name);
}

interface EntryCheck<T> {
  /** What is wrong with a key. */
  readonly name: (key: string) => string | undefined;
  readonly value: Check<T>;
}

function readEntries<T>(
  reader: FieldReader,
  root: Mapping,
  { key, name, value }: EntryCheck<T> & { readonly key: string },
): Readonly<Record<string, T>> {
  const entries: [string, T][] = [];
  for (const [entry, written] of Object.entries(reader.freeMapping(root[key], [key]))) {
    const wrong = name(entry);
    if (wrong !== undefined) reader.refuse([key, entry], "Invalid", wrong);
    const checked = value(written);
    if (!checked.ok) reader.refuse([key, entry], "Invalid", checked.message);
    else if (wrong === undefined) entries.push([entry, checked.value]);
  }
  return Object.fromEntries(entries);
}

const pidsLimit: Check<number> = (written) => {
  const limit = integer({ min: NO_PIDS_LIMIT, max: INT32_MAX })(written);
  if (limit.ok && limit.value === 0)
    return { ok: false, message: "must be at least 1, or -1 for no limit" };
  return limit;
};

function reservable(resource: string): string | undefined {
  if (RESERVABLE.includes(resource)) return undefined;
  return `cannot be reserved; ${RESERVABLE.join(", ")} can`;
}
