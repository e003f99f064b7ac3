// Performs: brings the images of the archives in a directory to the node: at the start, and when a file comes or changes.
// An archive that was imported is not read again, unless an image of it is gone and wanted.

import type { CriClient } from "../../cri/cri-client.ts";
import type { DirectoryHint, DirectoryWatch, Files } from "../../host/files.ts";
import type { MachineFacts } from "../../host/machine.ts";
import { nextBackoff, retryAt, type BackoffEntry, type BackoffPolicy } from "../../lib/backoff.ts";
import { deadline } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { Mailbox } from "../../lib/mailbox.ts";
import { jitter } from "../../lib/random.ts";
import type { Edges } from "../../edges.ts";
import type { ArchiveRecord, ArchiveRecords } from "../../store/archive-records.ts";
import { nodeImage, type NodeImage } from "../gc/image-keys.ts";
import { normalizedName, type ImageReference } from "../image-reference.ts";
import { isInvalidArchive } from "./archive-error.ts";
import { bringArchive } from "./bring-archive.ts";
import { archiveLooks, planArchives, type ArchiveLooks } from "./plan-archives.ts";

export interface ImageArchivesOptions {
  readonly edges: Pick<Edges, "clock" | "random" | "log" | "archives"> & {
    readonly files: Pick<Files, "info" | "list" | "target" | "watch">;
    readonly cri: Pick<CriClient, "imageStatus">;
    readonly machine: Pick<MachineFacts, "architecture">;
    readonly store: { readonly archives: Pick<ArchiveRecords, "load" | "put" | "remove"> };
  };
  readonly config: { readonly imageArchivePath: string };
  /** Paths of archives outside of the directory, read only: they do not change while the agent runs. */
  readonly others?: readonly string[];
  /** Of the agent. */
  readonly version: string;
  /** Called for each full name without a digest. */
  readonly brought: (image: NodeImage, name: string) => void;
  /** Images with these full names are on the node now. */
  readonly onImported: (names: readonly string[]) => void;
}

/** An image that an archive in the directory has brought. */
export interface ArchiveImage {
  /** Full name. */
  readonly name: string;
  /** Path of the archive. */
  readonly file: string;
}

/** A scan without a hint: lists the directory, reads nothing. */
const RESCAN_MS = 60_000;
const RESCAN_JITTER = 1 / 3;
/** A file whose size and time stay the same for so long is complete. */
const SETTLE_MS = 2_000;
const BACKOFF: BackoffPolicy = { initial: 10_000, max: 300_000, resetAfter: 600_000 };

export class ImageArchives {
  readonly #options: ImageArchivesOptions;
  readonly #hints = new Mailbox<DirectoryHint>();
  readonly #records: Map<string, ArchiveRecord>;
  /** Files to be read. */
  readonly #pending = new Set<string>();
  readonly #failed = new Map<string, BackoffEntry>();
  #looks: ArchiveLooks = new Map();
  #settling: ArchiveLooks = new Map();
  #isStarting = false;
  #isRunning = false;
  /** Imports so far, and the number of the import that has brought a name. */
  #imports = 0;
  readonly #broughtBy = new Map<string, number>();
  #change = Promise.withResolvers<void>();

  constructor(options: ImageArchivesOptions) {
    this.#options = options;
    this.#records = new Map(options.edges.store.archives.load());
  }

  /** Names that archives in the directory have brought. */
  images(): readonly ArchiveImage[] {
    return [...this.#records].flatMap(([name, { names }]) =>
      names.map((image) => ({ name: image, file: this.#path(name) })),
    );
  }

  /** Refused files, with the reason. */
  refused(): readonly { readonly file: string; readonly why: string }[] {
    return [...this.#records].flatMap(([name, { refused }]) =>
      refused === undefined ? [] : [{ file: this.#path(name), why: refused.why }],
    );
  }

  /**
   * Waits while an archive that is not read yet could have the image, which containerd lacks; reads one again that has
   * brought it before. True = it has come. Never rejects.
   */
  async bring(reference: ImageReference, signal: AbortSignal): Promise<boolean> {
    const name = nameOf(reference);
    const start = this.#imports;
    const file = this.#isRunning ? this.#fileOf(name) : undefined;
    if (file !== undefined && !this.#pending.has(file) && !this.#failed.has(file)) {
      this.#pending.add(file);
      this.#hints.send({ type: "Unknown" });
    }
    while (this.#isStarting || this.#pending.size > 0) {
      const left = Promise.withResolvers<void>();
      const leave = (): void => left.resolve();
      signal.addEventListener("abort", leave, { once: true });
      if (signal.aborted) return false;
      await Promise.race([this.#change.promise, left.promise]);
      signal.removeEventListener("abort", leave);
      if ((this.#broughtBy.get(name) ?? 0) > start) return true;
    }
    return (this.#broughtBy.get(name) ?? 0) > start;
  }

  /** Runs until `signal` aborts. What is in the directory is known before the first await. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#isStarting = true;
    let watch: Watched | undefined;
    try {
      watch = this.#watch(watch);
      this.#scan({ complete: new Set(), isFirst: true });
      await this.#recover(signal);
      this.#isStarting = false;
      this.#tell();
      while (!signal.aborted) {
        await this.#importPending(signal);
        using timer = deadline(this.#options.edges.clock, this.#delay(), signal);
        const first = await this.#hints.receive(timer.signal);
        if (signal.aborted) break;
        watch = this.#watch(watch);
        const hints = [...(first === undefined ? [] : [first]), ...this.#hints.drain()];
        this.#scan({ complete: completeFiles(hints), isFirst: false });
      }
    } finally {
      this.#isRunning = false;
      this.#isStarting = false;
      this.#pending.clear();
      this.#tell();
      watch?.hints[Symbol.dispose]();
    }
  }

  /** That of an archive outside of the directory is its name. */
  #path(name: string): string {
    return name.startsWith("/") ? name : `${this.#options.config.imageArchivePath}/${name}`;
  }

  #fileOf(image: string): string | undefined {
    return [...this.#records].find(([, { names }]) => names.includes(image))?.[0];
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  #delay(): number {
    const { clock, random } = this.#options.edges;
    if (this.#settling.size > 0) return SETTLE_MS;
    const now = clock.monotonic();
    const retries = [...this.#failed.values()].map((entry) => Math.max(0, retryAt(entry) - now));
    return Math.min(jitter(random, RESCAN_MS, RESCAN_JITTER), ...retries);
  }

  /** Of the directory that is there now. */
  #watch(before: Watched | undefined): Watched | undefined {
    const { edges, config } = this.#options;
    const { identity } = edges.files.target(config.imageArchivePath) ?? {};
    if (identity === before?.identity) return before;
    before?.hints[Symbol.dispose]();
    if (identity === undefined) return undefined;
    const send = (hint: DirectoryHint): void => this.#hints.send(hint);
    return { identity, hints: edges.files.watch(config.imageArchivePath, send) };
  }

  #scan(hinted: { readonly complete: ReadonlySet<string>; readonly isFirst: boolean }): void {
    const { edges, version } = this.#options;
    const { log, store, clock } = edges;
    const looks = this.#look();
    if (looks === undefined) return;
    this.#looks = looks.seen;
    for (const name of this.#failed.keys()) if (!this.#looks.has(name)) this.#failed.delete(name);
    const now = clock.monotonic();
    const isWaiting = (name: string): boolean => now < retryAt(this.#failed.get(name));
    const plan = planArchives({
      seen: new Map([...this.#looks].filter(([name]) => !isWaiting(name))),
      records: this.#records,
      settling: this.#settling,
      complete: new Set([...hinted.complete, ...this.#failed.keys()]),
      isFirst: hinted.isFirst,
      version,
    });
    this.#settling = plan.settling;
    for (const name of plan.read) this.#pending.add(name);
    const isGone = (name: string): boolean => !this.#looks.has(name) && looks.isKnown(name);
    for (const name of plan.gone.filter(isGone)) {
      this.#records.delete(name);
      store.archives.remove(name);
      log.info("image archive is gone; its images stay until they are collected", {
        file: this.#path(name),
      });
    }
  }

  /** undefined = there is nothing to be seen; `isKnown`: whether an archive that is not seen is gone. */
  #look(): { readonly seen: ArchiveLooks; isKnown(name: string): boolean } | undefined {
    const { edges, config, others = [] } = this.#options;
    const { files, log } = edges;
    const seen = new Map(others.flatMap((path) => this.#lookOfOther(path)));
    // A directory that is not there, such as an unplugged stick, deletes nothing.
    const hasDirectory = files.target(config.imageArchivePath) !== undefined;
    if (!hasDirectory && others.length === 0) return undefined;
    try {
      if (hasDirectory)
        for (const [name, look] of archiveLooks(files.list(config.imageArchivePath)))
          seen.set(name, look);
    } catch (error) {
      log.error("the image archives cannot be listed", { error: messageOf(error) });
      return undefined;
    }
    return { seen, isKnown: (name) => hasDirectory && !name.startsWith("/") };
  }

  /** FAT has no inodes: their numbers are others after each mount. */
  #lookOfOther(path: string): readonly (readonly [string, string])[] {
    const info = this.#options.edges.files.target(path);
    return info?.kind === "file" ? [[path, `${info.size}:${info.mtimeMs}`]] : [];
  }

  /** Takes back what a killed agent has left, and finds images that were removed since. */
  async #recover(signal: AbortSignal): Promise<void> {
    const { archives, log } = this.#options.edges;
    try {
      await archives.store.sweep(signal);
      for (const [file, { names }] of this.#records)
        for (const name of names)
          if (this.#looks.has(file) && (await archives.store.target(name, signal)) === undefined)
            this.#pending.add(file);
    } catch (error) {
      if (!signal.aborted)
        log.warn("cannot look for the images of archives", { error: messageOf(error) });
    }
  }

  async #importPending(signal: AbortSignal): Promise<void> {
    for (;;) {
      const [name] = [...this.#pending].toSorted();
      if (name === undefined || signal.aborted) return;
      const imported = await this.#import(name, signal);
      this.#pending.delete(name);
      this.#tell();
      if (imported.length > 0) this.#options.onImported(imported);
    }
  }

  /** The names that came; none if it failed. */
  async #import(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const { edges, version } = this.#options;
    const { clock, log, machine, archives, cri } = edges;
    const [path, look] = [this.#path(name), this.#lookOf(name)];
    if (look === undefined) return [];
    const start = clock.monotonic();
    try {
      const { architecture } = machine;
      const options = { archives, cri, clock, path, architecture, signal };
      const names = (await bringArchive(options)).flatMap((image) => image.names);
      this.#failed.delete(name);
      const record = { look, names };
      this.#records.set(name, record);
      this.#imports += 1;
      for (const one of names) this.#broughtBy.set(one, this.#imports);
      // A kill before both are stored costs another import; images that are not known as brought would stay for ever.
      await this.#noteBrought(names, signal);
      if (signal.aborted) return [];
      this.#note(name, record);
      const ms = Math.round(clock.monotonic() - start);
      log.info("imported image archive", { file: path, images: names, ms });
      return names;
    } catch (error) {
      if (signal.aborted) return [];
      this.#failedImport({ name, look, version }, error);
      return [];
    }
  }

  /** If it fails, the images count as those of others: nothing removes them. */
  async #noteBrought(names: readonly string[], signal: AbortSignal): Promise<void> {
    const { cri, log } = this.#options.edges;
    try {
      for (const name of names.filter((one) => !one.includes("@"))) {
        const image = await cri.imageStatus({ image: name }, { signal });
        if (image !== undefined) this.#options.brought(nodeImage(image), name);
      }
    } catch (error) {
      const facts = { images: names, error: messageOf(error) };
      log.warn("images of an archive will not be collected: the runtime does not show them", facts);
    }
  }

  #failedImport(
    { name, look, version }: { name: string; look: string; version: string },
    error: unknown,
  ): void {
    const { clock, log } = this.#options.edges;
    const [file, why] = [this.#path(name), messageOf(error)];
    // It was still being written: the next scan sees it.
    if (this.#lookOf(name) !== look) return;
    if (isInvalidArchive(error)) {
      this.#failed.delete(name);
      log.error("image archive refused", { file, error: why });
      const names = this.#records.get(name)?.names ?? [];
      this.#note(name, { look, names, refused: { why, version } });
      return;
    }
    const entry = nextBackoff(this.#failed.get(name), clock.monotonic(), BACKOFF);
    this.#failed.set(name, entry);
    log.warn("cannot import image archive", { file, error: why, retryMs: entry.delay });
  }

  #note(name: string, record: ArchiveRecord): void {
    const { store, log } = this.#options.edges;
    this.#records.set(name, record);
    try {
      store.archives.put(name, record);
    } catch (error) {
      // It is read again after the next start; nothing else depends on it.
      log.warn("cannot store that an image archive was imported", { error: messageOf(error) });
    }
  }

  #lookOf(name: string): string | undefined {
    const { files } = this.#options.edges;
    if (name.startsWith("/")) return this.#lookOfOther(name)[0]?.[1];
    const info = files.info(this.#path(name));
    return info === undefined ? undefined : archiveLooks([info]).get(name);
  }
}

interface Watched {
  readonly identity: string;
  readonly hints: DirectoryWatch;
}

/** Files that were moved in, or closed after writing. */
function completeFiles(hints: readonly DirectoryHint[]): ReadonlySet<string> {
  return new Set(
    hints.flatMap((hint) => (hint.type === "MovedIn" || hint.type === "Closed" ? hint.name : [])),
  );
}

/** As archives name images: a digest counts, not the tag beside it. */
function nameOf(reference: ImageReference): string {
  const { tag: _tag, ...untagged } = reference;
  return normalizedName(reference.digest === undefined ? reference : untagged);
}
