// Performs: reads what has passed the network interfaces of a process's network namespace.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ignoring } from "../../lib/errors.ts";

/** Counters since the interface was made. */
export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxErrors: number;
  readonly txBytes: number;
  readonly txErrors: number;
}

export interface NetworkUsage {
  /** The one of the default route, else the first. */
  readonly default: InterfaceUsage;
  /** All but loopback. */
  readonly interfaces: readonly InterfaceUsage[];
}

const GONE = ["ENOENT", "ESRCH", "EINVAL", "EACCES", "EPERM"];

/** `process`: a directory of /proc. undefined = it is gone, or has no interface but loopback. */
export function readNetworkUsage(process: string): NetworkUsage | undefined {
  const devices = textOf(join(process, "net/dev"));
  if (devices === undefined) return undefined;
  const interfaces = parseDevices(devices).filter(({ name }) => name !== "lo");
  const route = defaultInterface(textOf(join(process, "net/route")) ?? "");
  const [first] = interfaces;
  if (first === undefined) return undefined;
  return { default: interfaces.find(({ name }) => name === route) ?? first, interfaces };
}

/** net/dev: `name: bytes packets errs drop fifo frame compressed multicast bytes packets errs …`. */
function parseDevices(text: string): readonly InterfaceUsage[] {
  return [...text.matchAll(/^\s*([^\s:]+):\s*(\d[\d ]*)$/gm)].map(([, name = "", numbers = ""]) => {
    const at = numbers.split(/ +/).map(Number);
    const of = (index: number): number => at[index] ?? 0;
    return { name, rxBytes: of(0), rxErrors: of(2), txBytes: of(8), txErrors: of(10) };
  });
}

/** net/route: `interface destination gateway …`, where the default route has the destination 0. */
function defaultInterface(text: string): string | undefined {
  return /^(\S+)\t0{8}\t/m.exec(text)?.[1];
}

function textOf(path: string): string | undefined {
  return ignoring(GONE, () => readFileSync(path, "utf8"));
}
