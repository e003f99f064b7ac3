// What the kernel says a process uses.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** USER_HZ is 100 on every Linux that Bun runs on. */
const TICK_MS = 10;

export interface Memory {
  readonly rss: number;
  readonly anonymous: number;
}

/** Megabytes of 10^6 bytes. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (field: string): number =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) * 1024) /
    1e6;
  return { rss: megabytes("VmRSS"), anonymous: megabytes("RssAnon") };
}

/** Milliseconds of CPU of all threads, ended ones too; children are not in it. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Milliseconds that the main thread was ready to run and had no processor: how busy the machine was beside it. */
export function waitMsOf(pid: number): number {
  const [, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(waited) / 1e6;
}

export interface Writes {
  /** Bytes that the process caused to be written to block devices. */
  readonly toDisk: number;
  /** Bytes of all write calls, those to sockets among them. */
  readonly all: number;
}

export function writesOf(pid: number): Writes {
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const field = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)`, "m").exec(io)?.[1] ?? Number.NaN);
  return { toDisk: field("write_bytes"), all: field("wchar") };
}

/** Path below `directory` → modification time and size; directories too: a file that came and went leaves its mark there. */
export function filesBelow(directory: string): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const path of [".", ...readdirSync(directory, { recursive: true, encoding: "utf8" })]) {
    const stat = statSync(join(directory, path), { throwIfNoEntry: false });
    if (stat !== undefined) facts.set(path, `${stat.mtimeMs} ${stat.isFile() ? stat.size : 0}`);
  }
  return facts;
}

/** Paths that are new, gone, or written since. */
export function changedFiles(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

/** Resolves when the process has used no CPU tick for `quietMs`; gives up silently after `timeoutMs`. */
export async function settled(
  pid: number,
  options: { readonly quietMs?: number; readonly timeoutMs?: number } = {},
): Promise<void> {
  const { quietMs = 100, timeoutMs = 5_000 } = options;
  const end = performance.now() + timeoutMs;
  let last = cpuMsOf(pid);
  while (performance.now() < end) {
    await Bun.sleep(quietMs);
    const now = cpuMsOf(pid);
    if (now === last) return;
    last = now;
  }
}
