// The disk of a simulated machine as one process sees it: real small files and a real database, and no space now and then.

import { totalChanges } from "../fakes/in-the-store.ts";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { addonPath } from "#sqlite-addon";
import type { Files } from "../../src/host/files.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { Random } from "../../src/lib/random.ts";
import type { Durability } from "../../src/store/sqlite/database.ts";
import { Store } from "../../src/store/store.ts";
import type { SimDirectory } from "./sim-directory.ts";
import type { Mortal } from "./sim-mortal.ts";
import type { SimMounts } from "./sim-mounts.ts";
import { volumeAt, type VolumePlace } from "./sim-volumes.ts";
import type { PodFailure } from "../../src/api/v1/pod-status.ts";
import type { Removal } from "../../src/api/pod/desired-pod.ts";

/** What needs space, or at least a disk that can be written. */
const CHANGING: ReadonlySet<string> = new Set([
  "createDirectory",
  "createFile",
  "makeDirectory",
  "makeLink",
  "writeAtomic",
  "writeLazily",
  "remove",
  "removeTree",
]);

export interface DiskOptions {
  /** Everything the simulation owns lies below it. */
  readonly root: string;
  readonly manifests: SimDirectory;
  readonly mortal: Mortal;
  /** Something is about to be written; false = there is no space. */
  readonly mayWrite: () => boolean;
  readonly mounts: SimMounts;
  /** Writes what containers have written since, before anyone looks. */
  readonly logFiles?: { flush(): void } | undefined;
  /** Something below a volume that the agent fills is different now. */
  readonly onVolume: (volume: VolumePlace) => void;
  /** What no agent may do. */
  readonly accuse: (text: string) => void;
}

export function simFiles(options: DiskOptions): Files {
  const { root, manifests, mortal, mayWrite } = options;
  const real = watchedFiles(options);
  const isOurs = (path: string): boolean => path.startsWith(root);
  const files: Files = {
    ...real,
    // The machine under the simulation has nothing to say in it.
    list: (path) => (isOurs(path) ? real.list(path) : []),
    info: (path) => (isOurs(path) ? real.info(path) : undefined),
    target: (path) => (isOurs(path) ? real.target(path) : undefined),
    place: (path) => (isOurs(path) ? real.place(path) : path),
    hangable: () => undefined,
    removeEmptyDirectory: (path) => (isOurs(path) ? real.removeEmptyDirectory(path) : undefined),
    watch: (path, onHint) =>
      path === manifests.path
        ? manifests.watch(onHint, () => mortal.act())
        : { poll: () => undefined, [Symbol.dispose]: () => undefined },
  };
  return mortal.files(files, (method) => {
    options.logFiles?.flush();
    if (!CHANGING.has(method) || mayWrite()) return;
    const message = "no space left on device";
    const cause = Object.assign(new Error(message), { code: "ENOSPC" });
    throw new AgentError({ reason: "FileError", message, cause });
  });
}

/** The real ones; volumes are looked at after each change, and nothing is removed through a mount. */
function watchedFiles({ mounts, onVolume, accuse }: DiskOptions): Files {
  const real = realFiles();
  const look = (path: string): void => {
    const volume = volumeAt(path);
    if (volume !== undefined) onVolume(volume);
  };
  const mustBeFree = (path: string): void => {
    if (!mounts.isInTheWayOf(path)) return;
    accuse(`${path} is removed through a mount`);
    const message = `cannot remove ${path}: a mount point is inside`;
    throw new AgentError({ reason: "FileError", message });
  };
  return {
    ...real,
    writeLazily: (path, data, mode) => {
      real.writeLazily(path, data, mode);
      look(path);
    },
    remove: (path) => {
      real.remove(path);
      look(path);
    },
    rename: (from, to) => {
      real.rename(from, to);
      look(to);
    },
    removeTree: (path) => {
      mustBeFree(path);
      real.removeTree(path);
      look(path);
    },
    emptyLargeTree: (path) => {
      mustBeFree(path);
      return real.emptyLargeTree(path);
    },
  };
}

export interface SimStoreOptions extends DiskOptions {
  readonly random: Random;
  readonly files: Files;
  /** A removal is about to be written down. */
  readonly onBegin: (fresh: readonly Removal[]) => void;
  readonly onSettle: (uid: string) => void;
  readonly onFailure: (uid: string, failure: PodFailure) => void;
  /** That a pod has failed is about to be forgotten. */
  readonly onForget: (uid: string) => void;
  /** A document is on the disk now. */
  readonly onAccepted: (generation: number, digest: string) => void;
}

/** Dies and fills up between, and within, its transactions. */
export function openStore(options: SimStoreOptions): Store {
  const { root, files, random, mortal, mayWrite } = options;
  mortal.mustAct();
  const store = Store.open({
    stateDir: join(root, "state"),
    files,
    random,
    nativeBinding: addonPath,
  });
  const { database, removals, documents, failures } = store;
  const transaction = database.transaction.bind(database);
  let depth = 0;
  database.transaction = <T>(run: () => T, durability?: Durability): T => {
    if (depth > 0) return transaction(run, durability);
    mortal.mustAct();
    const before = totalChanges(database);
    depth += 1;
    try {
      return transaction(() => {
        const result = run();
        if (totalChanges(database) === before) return result;
        if (!mayWrite()) throw new Sqlite.SqliteError("database or disk is full", "SQLITE_FULL");
        // The last moment before the commit, and the first after it.
        mortal.mustAct();
        return result;
      }, durability);
    } finally {
      depth -= 1;
    }
  };
  const begin = removals.begin.bind(removals);
  removals.begin = (wanted) => {
    const fresh = wanted.filter(({ uid }) => !removals.all().some((one) => one.uid === uid));
    begin(wanted);
    options.onBegin(fresh);
  };
  const settle = removals.settle.bind(removals);
  removals.settle = (...args) => {
    options.onSettle(args[0]);
    settle(...args);
  };
  const put = failures.put.bind(failures);
  failures.put = (...args) => {
    put(...args);
    options.onFailure(...args);
  };
  const forget = failures.forget.bind(failures);
  failures.forget = (uid) => {
    if (failures.get(uid) !== undefined) options.onForget(uid);
    forget(uid);
  };
  const accept = documents.accept.bind(documents);
  documents.accept = (document) => {
    accept(document);
    options.onAccepted(document.generation, document.digest);
  };
  return store;
}
