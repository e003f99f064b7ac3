// Files of a machine whose power is cut before one of the changes that it makes: that one and all later ones do not happen.

import type { Files } from "../../src/host/files.ts";

export class PowerCut extends Error {}

const READS: ReadonlySet<string> = new Set([
  "diskUsage",
  "hangable",
  "info",
  "list",
  "place",
  "read",
  "readBeneath",
  "readFollowing",
  "readFrom",
  "readLink",
  "tail",
  "target",
]);

export interface CutFiles {
  readonly files: Files;
  /** A further change, such as one that `Files` does not make itself. */
  readonly change: <T>(run: () => T) => T;
  /** Changes so far, with the one that was cut off. */
  readonly changes: () => number;
}

/** `after`: how many changes still happen. */
export function cutFiles(real: Files, after: number): CutFiles {
  let changes = 0;
  const change = <T>(run: () => T): T => {
    changes += 1;
    if (changes > after) throw new PowerCut("the power is off");
    return run();
  };
  const files = new Proxy(real, {
    get: (_, name): unknown => {
      const member: unknown = Reflect.get(real, name, real);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const run = (): unknown => Reflect.apply(member, real, args);
        if (!READS.has(String(name))) return change(run);
        if (changes > after) throw new PowerCut("the power is off");
        return run();
      };
    },
  });
  return { files, change, changes: () => changes };
}
