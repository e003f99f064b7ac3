// The directory of manifests in a simulated world: a hand that writes into it, well or badly, and hints about it that
// may come late, vague or never.

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { DirectoryHint, DirectoryWatch } from "../../src/host/files.ts";
import type { Clock } from "../../src/lib/clock.ts";

export type HowWritten = "rename" | "inPlace" | "slow";
export type HowRemoved = "delete" | "moveOut";
/** `vague` = no queue of our own: Bun's two words. */
export type HintMode = "precise" | "vague" | "lost";

interface Watch {
  readonly queue: DirectoryHint[];
  readonly onHint: (hint: DirectoryHint) => void;
  readonly isHeard: () => boolean;
}

/** A writer that writes at all writes again before a file can be taken for settled. */
const PIECE_MS = 120;

export class SimDirectory {
  readonly path: string;
  hints: { mode: HintMode; lagMs: number } = { mode: "precise", lagMs: 0 };
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();
  /** Files under a slow writer's hand: what finishes them at once. */
  readonly #writing = new Map<string, () => void>();
  #touches = 0;
  #goneTo: string | undefined;

  constructor(clock: Clock, path: string) {
    this.#clock = clock;
    this.path = path;
    mkdirSync(path);
  }

  get isThere(): boolean {
    return existsSync(this.path);
  }

  /** For the edge: the agent's watch. */
  watch(onHint: (hint: DirectoryHint) => void, isHeard: () => boolean): DirectoryWatch {
    const watch: Watch = { queue: [], onHint, isHeard };
    if (this.isThere) this.#watches.add(watch);
    return {
      poll: () => {
        if (this.hints.mode === "precise") drain(watch);
      },
      [Symbol.dispose]: () => void this.#watches.delete(watch),
    };
  }

  /** `onDone` = the file says it all now. */
  write(
    name: string,
    text: string,
    { how, onDone }: { how: HowWritten; onDone: () => void },
  ): void {
    this.finish(name);
    if (!this.isThere) return;
    switch (how) {
      case "rename":
        this.#writeAll(`.${name}.new`, text);
        renameSync(join(this.path, `.${name}.new`), join(this.path, name));
        this.#hint({ type: "MovedIn", name });
        return onDone();
      case "inPlace":
        this.#open(name);
        this.#append(name, text);
        this.#hint({ type: "Closed", name });
        return onDone();
      case "slow":
        return this.#writeSlowly(name, text, onDone);
    }
  }

  remove(name: string, how: HowRemoved): void {
    this.finish(name);
    const path = join(this.path, name);
    if (!existsSync(path)) return;
    rmSync(path);
    this.#hint({ type: how === "delete" ? "Deleted" : "MovedOut", name });
  }

  /** The whole directory goes, with everything in it, or to another name. */
  takeAway(how: "remove" | "rename"): void {
    if (!this.isThere) return;
    for (const finish of this.#writing.values()) finish();
    if (how === "rename") {
      this.#goneTo = `${this.path}.away`;
      renameSync(this.path, this.#goneTo);
    } else {
      for (const name of readdirSync(this.path)) this.#hint({ type: "Deleted", name });
      rmSync(this.path, { recursive: true });
    }
    this.#hint({ type: "SelfGone" });
    this.#watches.clear();
  }

  /** As it was, or a new one that `texts` are copied into. */
  bringBack(texts: ReadonlyMap<string, string>): void {
    if (this.isThere) return;
    if (this.#goneTo !== undefined) renameSync(this.#goneTo, this.path);
    else {
      mkdirSync(this.path);
      for (const [name, text] of texts) this.#writeAll(name, text);
    }
    this.#goneTo = undefined;
  }

  /** A slow writer is done now. */
  finish(name: string): void {
    this.#writing.get(name)?.();
  }

  #writeSlowly(name: string, text: string, onDone: () => void): void {
    const lines = text.split("\n").map((line) => `${line}\n`);
    const size = Math.max(1, Math.ceil(lines.length / 4));
    const left = Array.from({ length: 4 }, (_, at) => lines.slice(at * size, (at + 1) * size))
      .map((piece) => piece.join(""))
      .filter((piece) => piece !== "");
    this.#open(name);
    let timer: Disposable | undefined;
    const end = (): void => {
      timer?.[Symbol.dispose]();
      this.#writing.delete(name);
      for (const piece of left.splice(0)) this.#append(name, piece);
      this.#hint({ type: "Closed", name });
      onDone();
    };
    const next = (): void => {
      const piece = left.shift();
      if (piece === undefined) return end();
      this.#append(name, piece);
      timer = this.#clock.after(PIECE_MS, next);
    };
    this.#writing.set(name, end);
    next();
  }

  #open(name: string): void {
    const isNew = !existsSync(join(this.path, name));
    this.#writeAll(name, "");
    this.#hint({ type: isNew ? "Created" : "Written", name });
  }

  #append(name: string, text: string): void {
    appendFileSync(join(this.path, name), text);
    this.#touch(name);
    this.#hint({ type: "Written", name });
  }

  #writeAll(name: string, text: string): void {
    writeFileSync(join(this.path, name), text);
    this.#touch(name);
  }

  /** The real clock's time would differ from run to run, and stand still within one. */
  #touch(name: string): void {
    this.#touches += 1;
    utimesSync(join(this.path, name), this.#touches, this.#touches);
  }

  #hint(hint: DirectoryHint): void {
    const { mode, lagMs } = this.hints;
    if (mode === "lost" && hint.type !== "SelfGone") return;
    const told = mode === "vague" ? vague(hint) : hint;
    for (const watch of this.#watches) {
      watch.queue.push(told);
      this.#clock.after(lagMs, () => drain(watch));
    }
  }
}

function drain({ queue, onHint, isHeard }: Watch): void {
  for (const hint of queue.splice(0)) if (isHeard()) onHint(hint);
}

function vague(hint: DirectoryHint): DirectoryHint {
  switch (hint.type) {
    case "MovedIn":
    case "MovedOut":
    case "Created":
    case "Deleted":
      return { type: "CameOrWent", name: hint.name };
    case "Closed":
      return { type: "Written", name: hint.name };
    case "Written":
    case "CameOrWent":
    case "SelfGone":
    case "Unknown":
      return hint;
  }
}
