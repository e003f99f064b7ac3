// One directory per run holds everything a run makes, and says who owns it: what a killed run left is swept by the next.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { cleanUpContainerd, readContainerdFacts, unmountBelow } from "./containerd-leftovers.ts";
import { endProcesses, identify, isAlive, type ProcessIdentity } from "./processes.ts";

const PREFIX = "agt-";
const OWNER = "owner.json";
const CHILDREN = "children";

export interface TempDirectory extends Disposable {
  readonly path: string;
  /** Makes a sub-directory and returns its path. */
  directory(name: string): string;
  /** The process is ended with the directory, at the latest. */
  adopt(pid: number): void;
  /** Ends every adopted process, containerd with all it runs, unmounts and deletes. Blocks; may be called twice. */
  remove(): void;
}

/** Short, because a path of a unix socket has at most 107 bytes. */
export function makeTempDirectory(): TempDirectory {
  sweepLeftovers();
  const path = mkdtempSync(join(shortTmp(), PREFIX));
  mkdirSync(join(path, CHILDREN));
  writeFileSync(join(path, OWNER), JSON.stringify(identify(process.pid)));
  const remove = (): void => {
    live.delete(remove);
    removeDirectory(path);
  };
  live.add(remove);
  installExitHandlers();
  return {
    path,
    directory: (name) => {
      mkdirSync(join(path, name), { recursive: true });
      return join(path, name);
    },
    adopt: (pid) => {
      const child = identify(pid);
      if (child !== undefined)
        writeFileSync(join(path, CHILDREN, String(pid)), JSON.stringify(child));
    },
    remove,
    [Symbol.dispose]: remove,
  };
}

/** Removes what runs that were killed have left behind; directories of living runs are not touched. */
export function sweepLeftovers(): void {
  for (const name of readdirSync(shortTmp())) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(shortTmp(), name);
    const owner = readIdentity(join(path, OWNER));
    if (owner !== undefined && !isAlive(owner)) removeDirectory(path);
  }
}

const live = new Set<() => void>();
let installed = false;

function installExitHandlers(): void {
  if (installed) return;
  installed = true;
  process.on("exit", () => {
    for (const remove of [...live].reverse()) remove();
  });
  for (const [name, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)
    process.on(name, () => process.exit(code));
}

function removeDirectory(path: string): void {
  const children = listIfThere(join(path, CHILDREN))
    .map((name) => readIdentity(join(path, CHILDREN, name)))
    .filter((child) => child !== undefined);
  endProcesses(children, 3_000);
  const facts = readContainerdFacts(path);
  if (facts !== undefined) cleanUpContainerd(facts);
  unmountBelow(path);
  rmSync(path, { recursive: true, force: true });
}

function shortTmp(): string {
  return tmpdir().length <= 40 ? tmpdir() : "/tmp";
}

function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value !== "object" || value === null || !("pid" in value) || !("started" in value))
      return undefined;
    return { pid: Number(value.pid), started: String(value.started) };
  } catch {
    return undefined; // Half made or already half removed by its owner.
  }
}

function listIfThere(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // Removed by its owner meanwhile.
  }
}
