// Performs: watches the directory of manifests as a source of pods and objects. Directory events make it fast, a slow
// rescan makes it correct.

import { manifestRef, type SourceSnapshot } from "../../api/pod/desired-pod.ts";
import type { LastGoodManifests } from "../../store/last-good-manifests.ts";
import type { DirectoryHint, DirectoryWatch } from "../../host/files.ts";
import { deadline, type Monotonic } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { Mailbox } from "../../lib/mailbox.ts";
import { jitter, type Random } from "../../lib/random.ts";
import {
  joinPath,
  listManifests,
  readSettled,
  type Entry,
  type ReadContext,
} from "./manifest-files.ts";
import { fileRejection } from "../rejections.ts";
import {
  lastGoodChanges,
  lostCopies,
  type Outcomes,
  restoreEntries,
} from "./manifest-last-good.ts";
import { NO_HINTS, sortHints, type Hinted } from "./directory-events.ts";
import { NOTHING_SETTLING, lookAgainAt, planScan, type Settling } from "./manifest-settle.ts";
import type { ManifestFile } from "./manifest-entry.ts";
import { digestText, snapshotOf } from "./manifest-snapshot.ts";
import {
  afterScan,
  holdingUp,
  initialState,
  keepsEntries,
  withDirectoryError,
  type ManifestState,
} from "./manifest-state.ts";
import {
  certainlyDeleted,
  departuresNow,
  recreated,
  undecided,
  type Departures,
} from "./recreated-manifests.ts";

/** Why a directory cannot be read; undefined = its file system answers. Never rejects. */
export type AskDirectory = (
  path: string,
  mountPoint: string,
  signal: AbortSignal,
) => Promise<string | undefined>;

export interface FileSourceOptions extends ReadContext {
  readonly random: Random;
  readonly log: Logger;
  readonly directory: string;
  readonly lastGood: Pick<LastGoodManifests, "load" | "save">;
  /** Asked before each scan of a directory whose file system may hang; absent = it is never asked. */
  readonly askDirectory?: AskDirectory;
  /** Receives a snapshot at the start and after every change. */
  readonly emit: (snapshot: SourceSnapshot) => void;
}

/** Rescan without an event: 10 to 20 s. */
const RESCAN_MS = 15_000;
const RESCAN_JITTER = 1 / 3;
/** Interval for a missing directory, ms: no event reports its return. */
const MISSING_RESCAN_MS = 2000;
/** Longest wait of the first snapshot for files that are still being written, ms. */
const FIRST_SNAPSHOT_MS = 1000;
/** Delay of a second look after an event, ms: an event that follows closely may be merged into the first and lost. */
const RECHECK_MS = 5;

/** A scan of hundreds of files, or one that reads some, ms. */
const LONG_SCAN_MS = 5;
const MAX_REST_MS = 1000;

/** The directory as last seen. */
type DirectorySeen =
  | { readonly type: "Never" }
  | { readonly type: "There"; readonly identity: string }
  | { readonly type: "Gone" };

export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #hints = new Mailbox<DirectoryHint>();
  /** The content of the checkpoint. */
  #stored: Outcomes = new Map();
  #state: ManifestState = initialState(this.#stored);
  #settling: Settling = NOTHING_SETTLING;
  #departures: Departures = new Map();
  #watch: DirectoryWatch | undefined;
  #wasHinted = false;
  /** The last scan did not read all that it might have. */
  #isCut = false;
  #directory: DirectorySeen = { type: "Never" };
  /** What the log has about rejections that still stand. */
  #logged: ReadonlySet<string> = new Set();
  /** undefined until the first snapshot. */
  #published: ManifestState | undefined;
  /** Files that wait, by path (start-guard). */
  readonly #guarded = new Map<string, AbortController>();
  /** Files that waited and may be read now. */
  readonly #freed = new Set<string>();
  /** Until then the first snapshot waits for files to settle. */
  #publishAt: Monotonic = 0;

  constructor(options: FileSourceOptions) {
    this.#options = options;
  }

  /** sha256 over the sorted (path, sha256) of all manifest files: the digest of the "static" acknowledgement. */
  digest(): string {
    return `sha256:${this.#options.sha256(digestText(this.#state))}`;
  }

  /** Ends when `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#restore();
    this.#publishAt = this.#options.clock.monotonic() + FIRST_SNAPSHOT_MS;
    let hinted = NO_HINTS;
    try {
      while (!signal.aborted) {
        // No await where nothing hangs: it would move the scan behind other work.
        const asking = this.#askDirectory(signal);
        const silence = asking === undefined ? undefined : await asking;
        if (signal.aborted) break;
        const since = this.#options.clock.monotonic();
        if (silence === undefined) this.#scan(hinted);
        else this.#directoryFailed(silence);
        if (this.#state !== this.#published && this.#mayPublish()) this.#publish();
        await this.#rest(since, signal);
        using timer = deadline(this.#options.clock, this.#delay(), signal);
        hinted = this.#sort(await this.#hints.receive(timer.signal));
        this.#wasHinted = hinted !== NO_HINTS;
      }
    } finally {
      this.#watch?.[Symbol.dispose]();
      for (const path of this.#guarded.keys()) this.#stopWaiting(path);
    }
  }

  /**
   * After a long scan: lets everything else run for as long as it took, above all the pods of the files so far. Hints
   * that arrive one by one meanwhile cause one scan.
   */
  async #rest(since: Monotonic, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const took = clock.monotonic() - since;
    if (took >= LONG_SCAN_MS) await clock.sleep(Math.min(took, MAX_REST_MS), signal);
  }

  /** A file edited or deleted while the agent was down must not start its old pod until it has settled. */
  #mayPublish(): boolean {
    const now = this.#options.clock.monotonic();
    const again = lookAgainAt(this.#settling);
    if (this.#published === undefined) return again === undefined || now >= this.#publishAt;
    // In the middle of a burst: what has left one file may be in one that is not read yet.
    const isReading = this.#isCut || (again !== undefined && again <= now);
    return !isReading || keepsEntries(this.#published, this.#state);
  }

  #delay(): number {
    const { clock, random } = this.#options;
    if (this.#isCut) return 0;
    const rescan = this.#directory.type === "There" ? RESCAN_MS : MISSING_RESCAN_MS;
    const delay = jitter(random, rescan, RESCAN_JITTER);
    const times = [
      this.#wasHinted ? clock.monotonic() + RECHECK_MS : undefined,
      lookAgainAt(this.#settling),
      this.#published === undefined ? this.#publishAt : undefined,
    ].filter((time) => time !== undefined);
    return Math.max(0, Math.min(delay, ...times.map((time) => time - clock.monotonic())));
  }

  #sort(first: DirectoryHint | undefined): Hinted {
    this.#watch?.poll();
    const hints = [...(first === undefined ? [] : [first]), ...this.#hints.drain()];
    if (hints.length === 0) return NO_HINTS;
    return sortHints(hints, (name) => joinPath(this.#options.directory, name));
  }

  /** The last good copies stand for the files until the directory is read. */
  #restore(): void {
    const { lastGood, log } = this.#options;
    this.#stored = restoreEntries(lastGood.load(), this.#options);
    for (const { path, document, kind, namespace, name, why } of lostCopies(this.#stored))
      log.error("last good manifest cannot be read", {
        ref: manifestRef(path, document),
        object: `${kind} ${namespace}/${name}`,
        why,
      });
    this.#state = initialState(this.#stored);
  }

  /** Resolves to why the directory cannot be read now; undefined = its file system answers, or never hangs. */
  #askDirectory(signal: AbortSignal): Promise<string | undefined> | undefined {
    const { files, directory, askDirectory } = this.#options;
    const mount = askDirectory === undefined ? undefined : files.hangable(directory);
    if (mount === undefined) return undefined;
    return askDirectory?.(directory, mount.point, signal).then((why) =>
      why === undefined
        ? undefined
        : `${mount.point} (${mount.type}) does not answer (${why}): check the server or the program that serves it`,
    );
  }

  /** Scans the directory once and reads the files that have settled. */
  #scan(hinted: Hinted): void {
    const { files, directory, clock } = this.#options;
    let seen: ReadonlyMap<string, Entry>;
    let replaced: boolean;
    try {
      // Watching starts before listing: changes in between are reported as events.
      replaced = this.#followDirectory(hinted.directory);
      seen = listManifests(files, directory);
    } catch (thrown) {
      this.#directoryFailed(messageOf(thrown));
      return;
    }
    const held = this.#heldFiles(seen, replaced);
    const { left, arrivals } = replaced ? NO_HINTS : hinted;
    const departures = this.#departuresNow(left, replaced);
    const deleted = certainlyDeleted(departures);
    const known = [...this.#state.files].filter(
      ([path]) => !deleted.has(path) && !this.#freed.has(path),
    );
    const plan = planScan(this.#settling, {
      now: clock.monotonic(),
      seen,
      read: new Map(known.map(([path, file]) => [path, file.look])),
      expected: new Set([...this.#known()].filter((path) => !held.has(path))),
      arrivals,
    });
    const found = readSettled(this.#options, { seen, plan, state: this.#state });
    const { read } = found;
    this.#settling = found.settling;
    this.#isCut = found.isCut;
    for (const path of plan.gone) this.#stopWaiting(path);
    for (const file of read) this.#readLater(file);
    const waiting = [...this.#settling.pending.keys()];
    const open = new Set([...waiting, ...this.#settling.vanished.paths]);
    this.#departures = undecided(departures, open);
    this.#publishWithout(recreated(departures, read, this.#state), held);
    const before = this.#state;
    this.#state = afterScan(before, { files: read, gone: plan.gone, held, waiting, deleted });
    for (const path of plan.gone) this.#logDeleted(path, before);
  }

  #logDeleted(path: string, { outcomes }: ManifestState): void {
    const { log } = this.#options;
    const [waitsFor] = outcomes.has(path) ? holdingUp(this.#state) : [];
    if (waitsFor === undefined) return log.info("manifest deleted", { path });
    const todo = `make ${waitsFor} valid, or delete it`;
    log.warn("manifest deleted; its pods run until another file is valid", {
      path,
      waitsFor,
      todo,
    });
  }

  /** A file that was not read is read as soon as it may be. */
  #readLater({ path, reading }: ManifestFile): void {
    this.#stopWaiting(path);
    const { guard } = this.#options;
    if (reading.type === "Decoded" || reading.waits === undefined || guard === undefined) return;
    const waiting = new AbortController();
    this.#guarded.set(path, waiting);
    void guard.free(reading.waits, waiting.signal).then((isFree) => {
      if (!isFree) return;
      this.#freed.add(path);
      this.#hints.send({ type: "Unknown" });
    });
  }

  #stopWaiting(path: string): void {
    this.#guarded.get(path)?.abort();
    this.#guarded.delete(path);
    this.#freed.delete(path);
  }

  /** Files that disappeared with their directory were not deleted. */
  #departuresNow(left: Hinted["left"], replaced: boolean): Departures {
    const absent = this.#settling.vanished.paths;
    return replaced ? new Map() : departuresNow(this.#departures, left, absent);
  }

  /** Publishes once without these files; the snapshot of the scan, which contains them, follows. */
  #publishWithout(paths: readonly string[], held: ReadonlySet<string>): void {
    if (paths.length === 0 || this.#published === undefined) return;
    for (const path of paths) this.#options.log.info("manifest removed and added again", { path });
    const without = afterScan(this.#state, {
      files: [],
      gone: paths,
      held,
      waiting: [],
      deleted: new Set(),
    });
    this.#options.emit(snapshotOf(without));
    this.#published = without;
  }

  /** Watches the directory that is there now; true if it is another one than before. */
  #followDirectory(suspect: boolean): boolean {
    const { files, directory } = this.#options;
    const info = files.target(directory);
    if (info === undefined) throw new Error(`the manifest directory ${directory} does not exist`);
    const before = this.#directory;
    if (before.type === "There" && before.identity === info.identity && !suspect) return false;
    this.#watch?.[Symbol.dispose]();
    // The remaining events concern the old directory.
    this.#hints.drain();
    this.#watch = files.watch(directory, (hint) => this.#hints.send(hint));
    this.#directory = { type: "There", identity: info.identity };
    return before.type !== "Never";
  }

  #directoryFailed(message: string): void {
    const { directory, log } = this.#options;
    if (this.#directory.type === "There") {
      this.#watch?.[Symbol.dispose]();
      this.#watch = undefined;
      this.#directory = { type: "Gone" };
    }
    // Nothing settles in a missing directory.
    this.#settling = NOTHING_SETTLING;
    this.#isCut = false;
    this.#departures = new Map();
    const next = withDirectoryError(
      this.#state,
      fileRejection(directory, { code: "DirectoryError", message }),
    );
    if (next !== this.#state)
      log.error("manifest directory cannot be read", { directory, message });
    this.#state = next;
  }

  /** Files that disappeared with their directory stay held until their name is seen again. */
  #heldFiles(seen: ReadonlyMap<string, Entry>, replaced: boolean): ReadonlySet<string> {
    const candidates = replaced ? this.#known() : this.#state.held;
    return new Set([...candidates].filter((path) => !seen.has(path)));
  }

  /** Files that were read, or have a last good copy. */
  #known(): ReadonlySet<string> {
    return new Set([...this.#state.files.keys(), ...this.#state.outcomes.keys()]);
  }

  #publish(): void {
    const { emit, log } = this.#options;
    this.#published = this.#state;
    const snapshot = snapshotOf(this.#state);
    const logged = new Set<string>();
    for (const { ref, line, path, code, message } of snapshot.rejected) {
      const facts = { ref, line, path, code, message };
      const key = JSON.stringify(facts);
      // Each file of a burst causes a snapshot with all rejections so far.
      if (!this.#logged.has(key)) log.warn("manifest not applied as written", facts);
      logged.add(key);
    }
    this.#logged = logged;
    this.#save();
    emit(snapshot);
  }

  /** A checkpoint that cannot be written is written with the next change. */
  #save(): void {
    const { put, removed } = lastGoodChanges(this.#stored, this.#state.outcomes);
    // Of a deleted file whose pods still run, so that the next start knows why they do.
    const isKept = !this.#state.ready && removed.length > 0;
    const changes = { put, removed: isKept ? [] : removed };
    if (changes.put.length === 0 && changes.removed.length === 0) return;
    try {
      this.#options.lastGood.save(changes);
      if (!isKept) this.#stored = this.#state.outcomes;
    } catch (thrown) {
      const message = messageOf(thrown);
      this.#options.log.error("last good manifests not saved", { message });
    }
  }
}
