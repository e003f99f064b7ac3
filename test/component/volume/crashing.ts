// Edges that die before, or in the middle of, their n-th change; from then on they do nothing, for ever.

import { readFileSync, readdirSync, rmSync } from "node:fs";
import type { Files } from "../../../src/host/files.ts";
import type { Mounts } from "../../../src/host/mounts.ts";

export class Crash extends Error {
  constructor() {
    super("crash");
  }
}

export interface CrashingEdges {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly died: () => boolean;
}

const LOOKS: ReadonlySet<string> = new Set([
  "list",
  "info",
  "target",
  "place",
  "hangable",
  "read",
  "readLink",
  "diskUsage",
  "isMountPoint",
  "mountsUnder",
  "boundUnder",
]);

/** `halfway`: what the deadly call does in part is done. */
export function crashingEdges(
  edges: { readonly files: Files; readonly mounts: Mounts },
  { at, halfway }: { readonly at: number; readonly halfway: boolean },
): CrashingEdges {
  let left = at;
  const wrap = <T extends object>(edge: T): T =>
    new Proxy(edge, {
      get: (_, name): unknown => {
        const member: unknown = Reflect.get(edge, name, edge);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (left < 0) throw new Crash();
          if (!LOOKS.has(String(name))) {
            left -= 1;
            if (left < 0) {
              if (halfway) doHalf(String(name), args, edges.files);
              throw new Crash();
            }
          }
          return Reflect.apply(member, edge, args);
        };
      },
    });
  return { files: wrap(edges.files), mounts: wrap(edges.mounts), died: () => left < 0 };
}

function doHalf(name: string, args: readonly unknown[], files: Files): void {
  const [path, data, mode] = args;
  if (name === "writeLazily" && data instanceof Uint8Array)
    files.writeLazily(String(path), data.slice(0, data.length >> 1), Number(mode));
  if (name !== "removeTree" || files.info(String(path)) === undefined) return;
  const some = readdirSync(String(path)).filter((_, index) => index % 2 === 0);
  for (const entry of some) rmSync(`${String(path)}/${entry}`, { recursive: true, force: true });
}

/** A file's text, undefined = there is none. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not there, or a link to nothing: all the same to a reader.
    return undefined;
  }
}
