// Whoever writes the manifest files of a simulated machine, well or badly, and remembers what they ought to say.

import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import type { Want } from "./sim-authority.ts";
import type { HowRemoved, HowWritten, SimDirectory } from "./sim-directory.ts";
import { manifestText } from "./sim-manifest.ts";
import type { ObjectName, SimContent, Spoiling } from "./sim-objects.ts";
import { NAMES, type FileName, type SimName, type SimSpec } from "./sim-specs.ts";
import type { Breakage } from "./sim-steps.ts";
import { WrittenObjects } from "./sim-written-objects.ts";

/** A file that is read after a moment away. */
const MOMENT_MS = 400;
/** Long enough that an agent that is well has read whatever was written. */
const READ_MS = 3_000;
const FILES: readonly FileName[] = [...NAMES, "objects"];

export interface AuthorOptions {
  readonly manifests: SimDirectory;
  readonly clock: Clock;
  readonly specs: ReadonlyMap<string, SimSpec>;
  /** The file in which each object stands at first. */
  readonly homes: ReadonlyMap<ObjectName, FileName>;
  /** A file says it. */
  readonly onWanted: (uid: string) => void;
  /** Files say something else now, or nothing clear any more. */
  readonly onChange: () => void;
  /** Since when an agent is there; undefined = none is. */
  readonly agentSince: () => Monotonic | undefined;
}

/** What is different in a file from now on; null = it is left out. */
interface Change {
  readonly want?: Want | null;
  readonly object?: readonly [ObjectName, SimContent | null];
}

export class SimAuthor {
  readonly #options: AuthorOptions;
  /** What the manifest files say, were they all in order. */
  readonly #files = new Map<SimName, Want>();
  readonly #broken = new Set<SimName>();
  readonly #objects: WrittenObjects;
  /** When objects came to the file in which they stand. */
  readonly #movedAt = new Map<ObjectName, Monotonic>();
  #revision = 0;
  #wasAway = false;

  constructor(options: AuthorOptions) {
    this.#options = options;
    this.#objects = new WrittenObjects(options.homes);
  }

  get files(): ReadonlyMap<SimName, Want> {
    return this.#files;
  }

  get objects(): ReadonlyMap<ObjectName, SimContent> {
    return this.#objects.contents;
  }

  /** Objects of which nobody can say whether they are there. */
  get unclear(): ReadonlySet<ObjectName> {
    return this.#objects.emptied;
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
    this.#rewrite(name, { want }, how);
  }

  relabel(name: SimName, how: HowWritten): void {
    const want = this.#files.get(name);
    if (want !== undefined) this.put(name, { ...want, revision: ++this.#revision }, how);
  }

  /** The file goes, with everything in it. */
  remove(name: SimName, how: HowRemoved): void {
    const { manifests } = this.#options;
    manifests.remove(fileOf(name), how);
    // Where the directory is away, its files are as they were when it comes back.
    if (!manifests.isThere) return;
    this.#broken.delete(name);
    this.#forget(name);
  }

  readd(name: SimName, atOnce: boolean): void {
    const { manifests, clock } = this.#options;
    const want = this.#files.get(name);
    if (want === undefined || this.#broken.has(name)) return;
    if (!atOnce) return void clock.after(MOMENT_MS, this.takeOut(name));
    manifests.remove(fileOf(name), "delete");
    this.put(name, want, "rename");
  }

  /** Deletes the file; the answer writes it again as it was, unless somebody else did. */
  takeOut(name: SimName): () => void {
    const { manifests } = this.#options;
    const want = this.#files.get(name);
    const objects = this.#objects.in(name);
    this.remove(name, "delete");
    return () => {
      if (this.#files.has(name) || this.#broken.has(name) || !manifests.isThere) return;
      for (const [object, content] of objects)
        if (!this.objects.has(object)) this.#objects.set(object, content);
      if (want !== undefined) this.put(name, want, "rename");
    };
  }

  break(name: SimName, how: Breakage): void {
    const { manifests, onChange } = this.#options;
    if (!manifests.isThere) return;
    manifests.finish(fileOf(name));
    const good = this.#files.has(name) ? this.#text(name) : "";
    const misspelt = good.replace("restartPolicy:", "restartPolcy:");
    const torn = "apiVersion: v1\nkind: Pod\nmetadata: {name: web\n";
    const text = how === "empty" ? "" : how === "syntax" || good === "" ? torn : misspelt;
    this.#broken.add(name);
    const written = how === "empty" ? "inPlace" : "rename";
    manifests.write(fileOf(name), text, { how: written, onDone: () => undefined });
    // What came to it and was never read there is in no good copy of it.
    for (const [object] of this.#objects.in(name)) {
      const movedAt = this.#movedAt.get(object);
      if (how === "empty" || (movedAt !== undefined && !this.#hasRead(movedAt)))
        this.#objects.empty(object);
    }
    onChange();
  }

  #hasRead(writtenAt: Monotonic): boolean {
    const { clock, agentSince } = this.#options;
    const since = agentSince();
    return since !== undefined && clock.monotonic() - Math.max(writtenAt, since) > READ_MS;
  }

  putObject(name: ObjectName, content: SimContent, how: HowWritten): void {
    this.#rewrite(this.#objects.homeOf(name), { object: [name, content] }, how);
  }

  dropObject(name: ObjectName): void {
    this.#rewrite(this.#objects.homeOf(name), { object: [name, null] }, "rename");
  }

  /** To another file, where it is before it leaves this one: nothing changes. */
  moveObject(name: ObjectName, to: FileName): void {
    const from = this.#objects.homeOf(name);
    const { manifests } = this.#options;
    for (const file of [from, to]) manifests.finish(fileOf(file));
    if (from === to || !manifests.isThere || !this.objects.has(name)) return;
    this.#objects.move(name, to);
    this.#movedAt.set(name, this.#options.clock.monotonic());
    this.#rewrite(to, {}, "rename");
    this.#rewrite(from, {}, "rename");
  }

  /** Writes it with a fault, all else in order: what it said before counts. */
  spoilObject(name: ObjectName, how: Spoiling): void {
    const home = this.#objects.homeOf(name);
    const { manifests } = this.#options;
    manifests.finish(fileOf(home));
    if (!manifests.isThere || !this.objects.has(name) || this.#isBroken(home)) return;
    this.#objects.spoil(name);
    const text = this.#text(home, { name, how });
    manifests.write(fileOf(home), text, { how: "rename", onDone: () => undefined });
  }

  /** Nobody remembers what was good before files were broken. */
  loseLastGood(): void {
    this.#objects.doubt((file) => this.#isBroken(file));
  }

  takeAway(how: "remove" | "rename"): void {
    this.#wasAway = true;
    this.#options.manifests.takeAway(how);
  }

  bringBack(): void {
    const texts = FILES.map((name) => [fileOf(name), this.#text(name)] as const);
    this.#options.manifests.bringBack(new Map(texts.filter(([, text]) => text !== "")));
  }

  /** Whoever writes slowly comes to an end. */
  finish(): void {
    for (const name of FILES) this.#options.manifests.finish(fileOf(name));
  }

  /** Broken files are mended; names that went with their directory are given back, to be deleted like any other. */
  async straighten(patiently: (ms: number) => Promise<void>): Promise<void> {
    for (const name of NAMES) {
      const want = this.#files.get(name);
      if (this.#broken.has(name) && want !== undefined) this.put(name, want, "rename");
      if (want !== undefined || !(this.#wasAway || this.#broken.has(name))) continue;
      this.put(name, { spec: this.want(name, 1).spec, revision: 0 }, "rename");
      await patiently(READ_MS);
      this.#rewrite(name, { want: null }, "rename");
    }
    this.#broken.clear();
    this.#wasAway = false;
    await this.#straightenObjects(patiently);
  }

  /** What was immutable, or nobody can say, goes and comes again. */
  async #straightenObjects(patiently: (ms: number) => Promise<void>): Promise<void> {
    const again = this.#objects.takeDoubtful();
    for (const [name] of again) this.dropObject(name);
    if (again.length > 0) await patiently(READ_MS);
    for (const [name, content] of again) this.putObject(name, content, "rename");
    for (const name of this.#objects.spoiled)
      this.#rewrite(this.#objects.homeOf(name), {}, "rename");
    this.#options.onChange();
  }

  /** The whole file anew, in order. */
  #rewrite(name: FileName, change: Change, how: HowWritten): void {
    const { manifests } = this.#options;
    manifests.finish(fileOf(name));
    if (!manifests.isThere) return;
    const before = this.#in(name);
    const after = { ...before, objects: new Map(before.objects) };
    if (change.want !== undefined) after.want = change.want ?? undefined;
    if (change.object !== undefined) {
      const [object, content] = change.object;
      if (content === null) after.objects.delete(object);
      else after.objects.set(object, content);
    }
    const text = manifestText(after);
    const onDone = (): void => this.#apply(name, change);
    if (text !== "") return manifests.write(fileOf(name), text, { how, onDone });
    manifests.remove(fileOf(name), "delete");
    onDone();
  }

  #apply(name: FileName, { want, object }: Change): void {
    const { onWanted, onChange } = this.#options;
    if (name !== "objects") {
      if (want === null) this.#files.delete(name);
      else if (want !== undefined) this.#files.set(name, want);
      this.#broken.delete(name);
      if (want !== undefined && want !== null) onWanted(want.spec.uid);
    }
    this.#objects.mend(name);
    if (object !== undefined) {
      const [one, content] = object;
      if (content === null) this.#objects.delete(one);
      else this.#objects.set(one, content);
    }
    onChange();
  }

  #forget(name: SimName): void {
    this.#files.delete(name);
    for (const [object] of this.#objects.in(name)) this.#objects.delete(object);
    this.#options.onChange();
  }

  #in(name: FileName): { want: Want | undefined; objects: Map<ObjectName, SimContent> } {
    const want = name === "objects" ? undefined : this.#files.get(name);
    return { want, objects: new Map(this.#objects.in(name)) };
  }

  #text(name: FileName, spoiled?: { readonly name: ObjectName; readonly how: Spoiling }): string {
    return manifestText(this.#in(name), spoiled);
  }

  #isBroken(name: FileName): boolean {
    return name !== "objects" && this.#broken.has(name);
  }
}

function fileOf(name: FileName): string {
  return `${name}.yaml`;
}
