// The mounts of a simulated machine: they outlive processes, not boots. What a tmpfs holds goes with it, and what is
// below a mount is never touched through it.

import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { HeldPath } from "../../src/host/bind-mount.ts";
import type { Mounts } from "../../src/host/mounts.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { Mortal } from "./sim-mortal.ts";

type Mount =
  | { readonly type: "Memory" }
  /** One that the machine mounts by itself. */
  | { readonly type: "Disk" }
  /** `text`: of the file that is shown, as it was then; undefined = a directory. */
  | { readonly type: "Bind"; readonly text: string | undefined; readonly root: string };

export class SimMounts {
  readonly #points = new Map<string, Mount>();
  /** Mount point → the path of the host that is bound to it. */
  readonly #held = new Map<string, string>();

  /** All that is mounted. */
  get points(): readonly string[] {
    return [...this.#points.keys()];
  }

  reboot(): void {
    for (const path of this.points.toReversed())
      if (this.#points.get(path)?.type !== "Disk") this.#unmount(path);
  }

  /** Plugged in; what is on it is there already. */
  plugIn(path: string): void {
    this.#points.set(path, { type: "Disk" });
  }

  pullOut(path: string): void {
    this.#points.delete(path);
  }

  /** Text of the file that a bind mount shows; undefined = there is none, or it is a directory. */
  boundText(path: string): string | undefined {
    const mount = this.#points.get(path);
    return mount?.type === "Bind" ? mount.text : undefined;
  }

  isDisk(path: string): boolean {
    return this.#points.get(path)?.type === "Disk";
  }

  isMemory(path: string): boolean {
    return this.#points.get(path)?.type === "Memory";
  }

  /** Something is mounted on `path` or below it. */
  isInTheWayOf(path: string): boolean {
    return this.points.some((point) => point === path || point.startsWith(`${path}/`));
  }

  /** `mayMount` = false: not this time. */
  edge(mortal: Mortal, mayMount: () => boolean): Mounts {
    const points = this.#points;
    const begin = (path: string): void => {
      mortal.mustAct();
      if (mayMount()) return;
      throw new AgentError({ reason: "MountError", message: `cannot mount ${path}: errno 12` });
    };
    const memory = (path: string): void => {
      begin(path);
      this.#mountMemory(path);
    };
    return {
      tmpfs: memory,
      hugetlbfs: memory,
      bindBeneath: ({ root, path, create, target }) => {
        begin(target);
        const text = textBeneath(root, path, create);
        points.set(target, { type: "Bind", text, root: this.#inItsMemory(join(root, path)) });
      },
      hold: (path) => this.#hold(path, begin),
      makePrivate: () => mortal.mustAct(),
      unmount: (path) => {
        mortal.mustAct();
        this.#unmount(path);
      },
      mountsUnder: (path) =>
        this.points
          .filter((point) => point.startsWith(`${path}/`))
          .toSorted((a, b) => b.length - a.length),
      boundUnder: (path) =>
        [...points].flatMap(([point, mount]) =>
          point.startsWith(`${path}/`) && mount.type === "Bind" ? [mount.root] : [],
        ),
      isMountPoint: (path) => points.has(path),
    };
  }

  #hold(path: string, begin: (path: string) => void): HeldPath {
    let found = heldAt(path);
    const create = (make: (place: string) => void): void => {
      begin(found.path);
      make(found.path);
      found = heldAt(path);
    };
    return {
      get path() {
        return found.path;
      },
      get found() {
        return found.kind;
      },
      isBroken: false,
      createDirectory: (mode) => create((place) => mkdirSync(place, { recursive: true, mode })),
      createFile: (mode) => create((place) => writeFileSync(place, "", { mode })),
      bindTo: (target) => {
        begin(target);
        const text = found.kind === "directory" ? undefined : readFileSync(found.path, "utf8");
        if (text === undefined) mkdirSync(target, { recursive: true });
        else writeFileSync(target, "");
        this.#points.set(target, { type: "Bind", text, root: this.#inItsMemory(found.path) });
        this.#held.set(target, found.path);
      },
      isBoundTo: (target) => this.#held.get(target) === found.path && this.#points.has(target),
      [Symbol.dispose]: () => undefined,
    };
  }

  /** As a path inside of the tmpfs that it lies in, if it does. */
  #inItsMemory(path: string): string {
    const found = realpathSync(path);
    const memory = this.points.find((one) => this.isMemory(one) && found.startsWith(`${one}/`));
    return found.slice(memory?.length ?? 0);
  }

  #mountMemory(path: string): void {
    // What it would hide would come back with the next boot.
    if (readdirSync(path).length > 0) throw new Error(`${path} is not empty`);
    this.#points.set(path, { type: "Memory" });
  }

  #unmount(path: string): void {
    const mount = this.#points.get(path);
    this.#points.delete(path);
    if (mount?.type !== "Memory" || !existsSync(path)) return;
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
  }
}

/** What is there, by its path without links. */
function heldAt(path: string): { readonly path: string; readonly kind?: "directory" | "file" } {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { path };
  return { path: realpathSync(path), kind: stats.isDirectory() ? "directory" : "file" };
}

/** As `openBeneath` finds it: never outside of the root. */
function textBeneath(root: string, path: string, create: boolean): string | undefined {
  const wanted = join(root, path);
  if (!existsSync(wanted)) {
    if (!create)
      throw new AgentError({ reason: "MountError", message: `"${path}" does not exist` });
    mkdirSync(wanted, { recursive: true });
  }
  const found = realpathSync(wanted);
  if (!found.startsWith(`${realpathSync(root)}/`))
    throw new AgentError({ reason: "MountError", message: `"${path}" leads out of the volume` });
  return statSync(found).isDirectory() ? undefined : readFileSync(found, "utf8");
}
