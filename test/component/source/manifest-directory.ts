// A real directory of manifests, a FileSource on it, and time and hints in the hands of the test.

import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { SourceSnapshot } from "../../../src/api/pod/desired-pod.ts";
import type {
  LastGood,
  LastGoodChanges,
  LastGoodCopies,
  LastGoodKey,
  LostGood,
} from "../../../src/api/pod/last-good.ts";
import type { DirectoryHint, Files } from "../../../src/host/files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { FileSource, type FileSourceOptions } from "../../../src/source/file/file-source.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeGuard } from "../../fakes/fake-guard.ts";
import { sha256 } from "../../unit/api/digest.ts";

/** Longer than any rescan, shorter than two. */
export const RESCAN = 20_000;

type LastGoodStore = FileSourceOptions["lastGood"];

export class MemoryLastGood implements LastGoodStore {
  readonly saved: LastGoodChanges[] = [];
  readonly #rows = new Map<string, LastGood>();
  /** Copies that cannot be read, as after the loss of the key. */
  readonly lost = new Map<string, LostGood>();
  failing = false;

  load(): LastGoodCopies {
    const copies = [...this.#rows].flatMap(([key, row]) => (this.lost.has(key) ? [] : [row]));
    return { copies, lost: [...this.lost.values()] };
  }

  /** From now on no Secret that is kept by now can be read. */
  loseKey(): void {
    for (const [key, row] of this.#rows)
      if (row.kind === "Secret") this.lost.set(key, { ...row, why: "another key" });
  }

  /** What it holds, readable or not. */
  keys(): readonly string[] {
    return [...this.#rows.keys()];
  }

  save(changes: LastGoodChanges): void {
    if (this.failing) throw new Error("disk full");
    this.saved.push(changes);
    for (const key of changes.removed.map(keyOf)) {
      this.#rows.delete(key);
      this.lost.delete(key);
    }
    for (const row of changes.put) {
      this.#rows.set(keyOf(row), row);
      this.lost.delete(keyOf(row));
    }
  }
}

function textOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : new TextDecoder().decode(value);
}

function keyOf({ path, kind, namespace, name }: LastGoodKey): string {
  return `${path} ${kind} ${namespace}/${name}`;
}

/** An agent's life: start it, play, stop it; another one may follow on the same directory and store. */
export class ManifestDirectory implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "manifests-"));
  readonly directory = join(this.root, "manifests");
  readonly store = new MemoryLastGood();
  readonly clock = new VirtualClock();
  readonly snapshots: SourceSnapshot[] = [];
  /** Paths in the order they were read. */
  readonly reads: string[] = [];
  readonly log: string[] = [];
  /** Times that the directory was listed. */
  lists = 0;
  /** Time that listing takes. */
  listingMs = 0;
  /** Hints whose wake-up was dropped. */
  readonly unheard: DirectoryHint[] = [];
  source: FileSource | undefined;
  readonly guard = new FakeGuard();
  /** Why its file system, one that may hang, does not answer; "" = it does; undefined = it is one that never hangs. */
  silence: string | undefined;
  /** Instead of `store`. */
  lastGood: LastGoodStore | undefined;
  #hint: ((hint: DirectoryHint) => void) | undefined;
  #life: AbortController | undefined;
  #running: Promise<void> | undefined;

  constructor() {
    mkdirSync(this.directory);
  }

  /** Starts the source; resolves after its first look. */
  async start(): Promise<void> {
    this.#life = new AbortController();
    this.source = new FileSource({
      files: this.#files(),
      clock: this.clock,
      random: { next: () => 0.5, hex: (length) => "0".repeat(length * 2) },
      log: createLogger({
        clock: this.clock,
        level: "debug",
        write: (line) => this.log.push(line),
      }),
      directory: this.directory,
      askDirectory: () => Promise.resolve(this.silence === "" ? undefined : this.silence),
      lastGood: this.lastGood ?? this.store,
      nodeName: "pi-1",
      sha256,
      guard: this.guard,
      emit: (snapshot) => this.snapshots.push(snapshot),
    });
    this.#running = this.source.run(this.#life.signal);
    await this.clock.settle();
  }

  async stop(): Promise<void> {
    this.#life?.abort();
    await this.#running;
    this.snapshots.length = 0;
    this.reads.length = 0;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** As a careful writer does it; tells the source. */
  async move(name: string, text: string): Promise<void> {
    const temporary = join(this.root, "temporary");
    writeFileSync(temporary, text);
    renameSync(temporary, this.path(name));
    await this.hint({ type: "MovedIn", name });
  }

  /** As `cat >> name` does it; tells the source. */
  async append(name: string, text: string): Promise<void> {
    appendFileSync(this.path(name), text);
    await this.hint({ type: "Written", name });
  }

  async remove(name: string): Promise<void> {
    rmSync(this.path(name));
    await this.hint({ type: "Deleted", name });
    await this.clock.advance(100);
  }

  /** Hints that arrive together. */
  async hint(...hints: readonly DirectoryHint[]): Promise<void> {
    for (const hint of hints) this.#hint?.(hint);
    await this.clock.settle();
  }

  /** The newest snapshot: `name image` of each pod, and `file code path` of each rejection. */
  now(): {
    readonly ready: boolean;
    readonly pods: readonly string[];
    readonly rejected: readonly string[];
  } {
    const snapshot = this.snapshots.at(-1);
    if (snapshot === undefined) throw new Error("no snapshot yet");
    return {
      ready: snapshot.ready,
      pods: snapshot.pods.map(({ pod }) => `${pod.metadata.name} ${pod.spec.containers[0]?.image}`),
      rejected: snapshot.rejected.map(({ ref, code, path }) =>
        `${ref.slice(this.directory.length + 1)} ${code} ${path}`.trim(),
      ),
    };
  }

  /** The newest snapshot's objects: `ConfigMap web a=1`. */
  objects(): readonly string[] {
    return (this.snapshots.at(-1)?.objects ?? []).map(({ object }) => {
      const data: Readonly<Record<string, string | Uint8Array>> =
        object.kind === "PersistentVolumeClaim" ? {} : object.data;
      const shown = Object.entries(data).map(([key, value]) => `${key}=${textOf(value)}`);
      return [object.kind, object.metadata.name, ...shown].join(" ");
    });
  }

  [Symbol.dispose](): void {
    this.#life?.abort();
    rmSync(this.root, { recursive: true, force: true });
  }

  #files(): Files {
    const real = realFiles();
    return {
      ...real,
      hangable: () => (this.silence === undefined ? undefined : { point: this.root, type: "nfs4" }),
      list: (directory) => {
        if (this.silence !== undefined && this.silence !== "") throw new Error("this call hangs");
        this.lists += 1;
        this.clock.spend(this.listingMs);
        return real.list(directory);
      },
      read: (path, maxBytes) => {
        this.reads.push(path.slice(this.directory.length + 1));
        return real.read(path, maxBytes);
      },
      watch: (_directory, onHint) => {
        this.#hint = onHint;
        return {
          poll: () => {
            for (const hint of this.unheard.splice(0)) onHint(hint);
          },
          [Symbol.dispose]: () => (this.#hint = undefined),
        };
      },
    };
  }
}

/** A manifest of one pod. */
export function manifest(name: string, image = "busybox:1"): string {
  return `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n    - name: a\n      image: ${image}\n`;
}

/** A manifest of one ConfigMap or Secret; `more` are further lines of it. */
export function objectManifest(
  [kind, name]: readonly ["ConfigMap" | "Secret", string],
  value: string,
  more = "",
): string {
  const field = kind === "ConfigMap" ? "data" : "stringData";
  return `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${field}:\n  a: "${value}"\n${more}`;
}
