// Whoever writes the manifest files of a simulated machine, well or badly, and remembers what they ought to say.

import type { Clock } from "../../src/lib/clock.ts";
import type { Want } from "./sim-authority.ts";
import type { HowRemoved, HowWritten, SimDirectory } from "./sim-directory.ts";
import { manifestText } from "./sim-manifest.ts";
import { NAMES, type SimName, type SimSpec } from "./sim-specs.ts";
import type { Breakage } from "./sim-steps.ts";

/** A file that is read after a moment away. */
const MOMENT_MS = 400;

export interface AuthorOptions {
  readonly manifests: SimDirectory;
  readonly clock: Clock;
  readonly specs: ReadonlyMap<string, SimSpec>;
  /** A file says it. */
  readonly onWanted: (uid: string) => void;
}

export class SimAuthor {
  readonly #options: AuthorOptions;
  /** What the manifest files say, were they all in order. */
  readonly #files = new Map<SimName, Want>();
  readonly #broken = new Set<SimName>();
  #revision = 0;
  #wasAway = false;

  constructor(options: AuthorOptions) {
    this.#options = options;
  }

  get files(): ReadonlyMap<SimName, Want> {
    return this.#files;
  }

  /** Its file says nothing clear. */
  isBroken(name: SimName): boolean {
    return this.#broken.has(name);
  }

  want(name: SimName, version: number): Want {
    const { specs } = this.#options;
    const spec = [...specs.values()].find(({ key }) => key === `${name}-${version}`);
    if (spec === undefined) throw new Error(`no spec ${name}-${version}`);
    return { spec, revision: ++this.#revision };
  }

  put(name: SimName, want: Want, how: HowWritten): void {
    const { manifests, onWanted } = this.#options;
    if (!manifests.isThere) return;
    const onDone = (): void => {
      this.#files.set(name, want);
      this.#broken.delete(name);
      onWanted(want.spec.uid);
    };
    manifests.write(fileOf(name), manifestText(want.spec, want.revision), { how, onDone });
  }

  relabel(name: SimName, how: HowWritten): void {
    const want = this.#files.get(name);
    if (want !== undefined) this.put(name, { ...want, revision: ++this.#revision }, how);
  }

  remove(name: SimName, how: HowRemoved): void {
    const { manifests } = this.#options;
    manifests.remove(fileOf(name), how);
    this.#broken.delete(name);
    if (manifests.isThere) this.#files.delete(name);
  }

  readd(name: SimName, atOnce: boolean): void {
    const { manifests, clock } = this.#options;
    const want = this.#files.get(name);
    if (want === undefined || this.#broken.has(name)) return;
    manifests.remove(fileOf(name), "delete");
    const again = (): void => this.put(name, want, "rename");
    if (atOnce) return again();
    this.#files.delete(name);
    clock.after(MOMENT_MS, () => {
      if (!this.#files.has(name) && !this.#broken.has(name)) again();
    });
  }

  break(name: SimName, how: Breakage): void {
    const { manifests } = this.#options;
    const want = this.#files.get(name);
    if (!manifests.isThere) return;
    const good = want === undefined ? "" : manifestText(want.spec, want.revision);
    const misspelt = good.replace("restartPolicy:", "restartPolcy:");
    const torn = "apiVersion: v1\nkind: Pod\nmetadata: {name: web\n";
    const text = how === "empty" ? "" : how === "syntax" || good === "" ? torn : misspelt;
    manifests.finish(fileOf(name));
    this.#broken.add(name);
    const written = how === "empty" ? "inPlace" : "rename";
    manifests.write(fileOf(name), text, { how: written, onDone: () => undefined });
  }

  takeAway(how: "remove" | "rename"): void {
    this.#wasAway = true;
    this.#options.manifests.takeAway(how);
  }

  bringBack(): void {
    const texts = [...this.#files].map(([name, { spec, revision }]) => {
      return [fileOf(name), manifestText(spec, revision)] as const;
    });
    this.#options.manifests.bringBack(new Map(texts));
  }

  /** Whoever writes slowly comes to an end. */
  finish(): void {
    for (const name of NAMES) this.#options.manifests.finish(fileOf(name));
  }

  /** Broken files are mended; names that went with their directory are given back, to be deleted like any other. */
  async straighten(patiently: (ms: number) => Promise<void>): Promise<void> {
    for (const name of NAMES) {
      const want = this.#files.get(name);
      if (this.#broken.has(name) && want !== undefined) this.put(name, want, "rename");
      if (want !== undefined || !(this.#wasAway || this.#broken.has(name))) continue;
      this.put(name, { spec: this.want(name, 1).spec, revision: 0 }, "rename");
      await patiently(3_000);
      this.remove(name, "delete");
    }
    this.#broken.clear();
  }
}

function fileOf(name: SimName): string {
  return `${name}.yaml`;
}
