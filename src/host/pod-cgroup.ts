// Performs: makes cgroups and writes limits into them: version 1 has a tree for each controller, version 2 one for all.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { readCgroupFacts, type CgroupController, type CgroupFacts } from "./cgroup.ts";

/** One file of a cgroup and what belongs in it. */
export interface CgroupValue {
  readonly controller: CgroupController;
  readonly file: string;
  readonly value: string;
  /** Somebody relies on it: without it a pod must not run. */
  readonly isLimit: boolean;
}

export interface CgroupFailure {
  readonly path: string;
  readonly value: CgroupValue;
  readonly message: string;
}

/** Synchronous: a handful of writes into the kernel's memory. */
export interface Cgroups {
  readonly facts: CgroupFacts;
  /**
   * Writes the values into the cgroup at `path` (relative to the root of the tree), in their order; `make` = makes it and
   * whatever lies above it first. Throws nothing: the answer is what could not be written.
   */
  write(
    path: string,
    values: readonly CgroupValue[],
    options: { readonly make: boolean },
  ): readonly CgroupFailure[];
}

/** `root` = "/" except in tests. */
export function realCgroups(root = "/"): Cgroups {
  const facts = readCgroupFacts(root);
  return {
    facts,
    write: (path, values, { make }) => {
      const usable = values.filter(({ controller }) => facts.controllers.includes(controller));
      const missing = values.filter((value) => !usable.includes(value));
      if (make) makeCgroup(facts, path, usable);
      return [
        ...missing.map((value) => ({
          path,
          value,
          message: `the kernel has no ${value.controller} cgroup`,
        })),
        ...usable.flatMap((value) => writeValue(facts, path, value)),
      ];
    },
  };
}

/** A failure shows when the values are written. */
function makeCgroup(facts: CgroupFacts, path: string, values: readonly CgroupValue[]): void {
  const controllers = [...new Set(values.map(({ controller }) => controller))];
  try {
    if (facts.version === 2) makeUnified(facts.mountPoint, path, controllers);
    else
      for (const controller of controllers)
        mkdirSync(join(facts.mountPoint, controller, path), { recursive: true });
  } catch {
    // The kernel's reason comes back with the first value.
  }
}

/** In version 2 a cgroup has the files of those controllers that the one above it hands down. */
function makeUnified(
  mountPoint: string,
  path: string,
  controllers: readonly CgroupController[],
): void {
  let directory = mountPoint;
  const handDown = controllers.map((controller) => `+${controller}`).join(" ");
  for (const part of path.split("/")) {
    writeFileSync(join(directory, "cgroup.subtree_control"), handDown);
    directory = join(directory, part);
    if (!existsSync(directory)) mkdirSync(directory);
  }
}

function writeValue(
  { version, mountPoint }: CgroupFacts,
  path: string,
  value: CgroupValue,
): readonly CgroupFailure[] {
  const tree = version === 2 ? mountPoint : join(mountPoint, value.controller);
  const file = join(tree, path, value.file);
  try {
    // A file that is not there is a limit that this kernel does not have: none must be made.
    writeFileSync(file, value.value, { flag: "r+" });
    return [];
  } catch (error) {
    return [{ path, value, message: `${file}: ${messageOf(error)}` }];
  }
}
