// Performs: keeps, of each resource that was asked for, its objects with the version of their last change, and the newest
// changes for watches. Nothing is kept, compared or woken while no client asks. k8s: watch cache

import type { Clock } from "../../lib/clock.ts";
import { Alarm } from "../../lib/alarm.ts";
import { compareText } from "../../lib/compare.ts";
import type { ServerFacts } from "../../node/node-api.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import type { KubeResource } from "./kube-resource.ts";
import { keyOf, withResourceVersion } from "./object-meta.ts";

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  /** As it is now; of a deletion as it was, with the version of the deletion. */
  readonly object: V1Object;
  /** Of a modification: as it was before. */
  readonly before?: V1Object;
}

export interface Snapshot {
  readonly version: number;
  /** In the order of namespace and name. */
  readonly objects: readonly V1Object[];
}

export interface WatchCacheOptions {
  readonly clock: Clock;
  readonly facts: ServerFacts;
  /** Calls back whenever something that is shown may have changed. */
  readonly onChange: (run: () => void) => Disposable;
}

interface Known {
  readonly text: string;
  readonly object: V1Object;
}

interface Kept {
  readonly known: Map<string, Known>;
  /** Oldest first. */
  readonly changes: Change[];
  /** Changes up to this version are not in `changes`. */
  compacted: number;
  /** Watches were woken for the changes up to this version. */
  woken: number;
  /** Compared last when so many changes had been reported. */
  reported: number;
}

/** Changes of one resource that a watch can still ask for. */
const MAX_CHANGES = 500;
/** Changes in between join: those of one pod's start cost each watch one or two messages instead of five. */
const GATHER_MS = 200;
/** What no client has asked for in this time is forgotten. */
const KEEP_MS = 600_000;

export class WatchCache implements Disposable {
  readonly #options: WatchCacheOptions;
  readonly #kept = new Map<KubeResource, Kept>();
  readonly #waiting = new Map<KubeResource, Set<() => void>>();
  readonly #gather: Alarm;
  readonly #forget: Alarm;
  #follow: Disposable | undefined;
  /** How often something that is shown may have changed, as far as it is followed. */
  #reported = 0;
  #version: number;

  constructor(options: WatchCacheOptions) {
    const { clock } = options;
    this.#options = options;
    // Versions of an earlier process are lower, unless the clock went back: then they are expired all the same.
    this.#version = Math.max(1, Math.floor(clock.now())) * 100;
    this.#gather = new Alarm(clock, () => this.#refreshWatched());
    this.#forget = new Alarm(clock, () => this.#forgetUnused());
  }

  get version(): number {
    return this.#version;
  }

  /** The objects now. */
  list(resource: KubeResource): Snapshot {
    const { known } = this.#asReported(resource);
    const sorted = [...known].toSorted(([a], [b]) => compareText(a, b));
    const objects = sorted.map(([, { object }]) => object);
    return { version: this.#version, objects };
  }

  /** The changes after `version`; undefined = they are no longer known, and the client has to list again. */
  since(resource: KubeResource, version: number): readonly Change[] | undefined {
    const kept = this.#asReported(resource);
    if (version < kept.compacted || version > this.#version) return undefined;
    return kept.changes.filter((change) => change.version > version);
  }

  /** Resolves when the resource may have changed, or `signal` aborts. */
  changed(resource: KubeResource, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(resource) ?? new Set();
    this.#waiting.set(resource, waiting);
    this.#follow ??= this.#begins();
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        waiting.delete(done);
        this.#unfollow();
        resolve();
      };
      if (signal.aborted) return done();
      waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  [Symbol.dispose](): void {
    this.#follow?.[Symbol.dispose]();
    this.#gather[Symbol.dispose]();
    this.#forget[Symbol.dispose]();
  }

  #begins(): Disposable {
    // Nothing was reported before.
    this.#reported += 1;
    return this.#options.onChange(() => {
      this.#reported += 1;
      this.#gather.by(this.#soon());
    });
  }

  /** All watches ask after each change, and after what they have sent: one comparison is enough for them all. */
  #asReported(resource: KubeResource): Kept {
    const kept = this.#kept.get(resource);
    const isCurrent = this.#follow !== undefined && kept?.reported === this.#reported;
    return kept !== undefined && isCurrent ? kept : this.#refresh(resource);
  }

  #soon(): number {
    return this.#options.clock.monotonic() + GATHER_MS;
  }

  #watched(): readonly KubeResource[] {
    return [...this.#waiting].filter(([, waiting]) => waiting.size > 0).map(([one]) => one);
  }

  /** A watch between two waits follows still: the next change within a moment is its own. */
  #unfollow(): void {
    this.#forget.by(this.#options.clock.monotonic() + KEEP_MS);
  }

  #refreshWatched(): void {
    for (const resource of this.#watched()) {
      const kept = this.#refresh(resource);
      // A list in between may have found the change first.
      const newest = kept.changes.at(-1)?.version ?? 0;
      if (newest <= kept.woken) continue;
      kept.woken = newest;
      for (const done of this.#waiting.get(resource) ?? []) done();
    }
  }

  #forgetUnused(): void {
    const watched = this.#watched();
    for (const resource of this.#kept.keys())
      if (!watched.includes(resource)) this.#kept.delete(resource);
    if (watched.length > 0) {
      this.#forget.after(KEEP_MS);
      return;
    }
    this.#follow?.[Symbol.dispose]();
    this.#follow = undefined;
  }

  #refresh(resource: KubeResource): Kept {
    this.#forget.by(this.#options.clock.monotonic() + KEEP_MS);
    const kept = this.#kept.get(resource) ?? this.#begin();
    this.#kept.set(resource, kept);
    kept.reported = this.#reported;
    const gone = new Set(kept.known.keys());
    for (const object of resource.objects(this.#options.facts)) {
      const key = keyOf(object);
      gone.delete(key);
      this.#note(kept, key, { object, text: textOf(resource, object) });
    }
    for (const key of gone) this.#noteGone(kept, key);
    while (kept.changes.length > MAX_CHANGES)
      kept.compacted = kept.changes.shift()?.version ?? kept.compacted;
    return kept;
  }

  /** What was there before this moment has no history. */
  #begin(): Kept {
    const [version, reported] = [this.#version, this.#reported];
    return { known: new Map(), changes: [], compacted: version, woken: version, reported };
  }

  #note({ known, changes }: Kept, key: string, { object, text }: Known): void {
    const before = known.get(key);
    if (before?.text === text) return;
    const version = ++this.#version;
    const shown = withResourceVersion(object, String(version));
    known.set(key, { object: shown, text });
    changes.push({
      type: before === undefined ? "ADDED" : "MODIFIED",
      version,
      object: shown,
      ...(before === undefined ? {} : { before: before.object }),
    });
  }

  #noteGone({ known, changes }: Kept, key: string): void {
    const last = known.get(key);
    if (last === undefined) return;
    known.delete(key);
    const version = ++this.#version;
    const object = withResourceVersion(last.object, String(version));
    changes.push({ type: "DELETED", version, object });
  }
}

function textOf({ volatile }: KubeResource, object: V1Object): string {
  return JSON.stringify(volatile === undefined ? object : volatile(object));
}
