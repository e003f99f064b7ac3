// Performs: the agent's persistent state, in one SQLite file and a few plain files beside it. Synchronous: the process
// ends between two calls, or inside a transaction that is then rolled back.

import { join } from "node:path";
import { podsDirectory } from "../api/pod/pod-directory.ts";
import type { Random } from "../lib/random.ts";
import { BroughtImages } from "./brought-images.ts";
import { ArchiveRecords } from "./archive-records.ts";
import { Commands } from "./commands.ts";
import type { Database } from "./sqlite/database.ts";
import { Documents } from "./document/documents.ts";
import { Incarnation } from "./incarnation.ts";
import { Evictions } from "./evictions.ts";
import { LastGoodManifests } from "./last-good-manifests.ts";
import { ClockMark, Meta } from "./meta.ts";
import { unpackAddon } from "./sqlite/native-addon.ts";
import { openDatabase, type OpenedDatabase, type Recovery } from "./sqlite/open-database.ts";
import { Outbox } from "./outbox/outbox.ts";
import type { EventCaps } from "./outbox/event-ring.ts";
import { Failures, Holds, KilledContainers, Removals } from "./pod-records.ts";
import { Responses } from "./outbox/responses.ts";
import { Runs } from "./runs.ts";
import { Rollouts } from "./document/rollouts.ts";
import { SecretBox } from "./seal-secrets.ts";
import { loadSecretKey } from "./secret-key.ts";
import type { PlainFiles } from "../lib/files/plain-files.ts";
import { HandsRecord } from "./start-guard/hands-record.ts";
import { SettingsFile, settingsPath } from "./settings-file.ts";
import { TrustFile } from "./trust-file.ts";

export interface StoreOptions {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly random: Random;
  /** Path of SQLite's addon; absent = the embedded one, unpacked to stateDir. */
  readonly nativeBinding?: string;
  readonly eventCaps?: EventCaps;
}

export class Store implements Disposable {
  /** `opened`: an existing database, in which an empty table means that there was nothing. */
  readonly origin: OpenedDatabase["origin"];
  /** Whether every pod that has a directory in stateDir began under this database: none was there when it was made. */
  readonly knowsAllPods: boolean;
  /** Set when a damaged database was replaced; the caller logs it as an error. */
  readonly recovered: Recovery | undefined;
  readonly database: Database;
  readonly meta: Meta;
  readonly clockMark: ClockMark;
  readonly archives: ArchiveRecords;
  readonly incarnation: Incarnation;
  /** Seals every stored Secret. */
  readonly secrets: SecretBox;
  readonly documents: Documents;
  readonly lastGood: LastGoodManifests;
  readonly removals: Removals;
  readonly failures: Failures;
  readonly killed: KilledContainers;
  readonly evictions: Evictions;
  readonly rollouts: Rollouts;
  readonly images: BroughtImages;
  readonly holds: Holds;
  /** What has run of Jobs and CronJobs. */
  readonly runs: Runs;
  readonly trust: TrustFile;
  /** Which settings of documents are in force. */
  readonly settings: SettingsFile;
  /** What is in hand, and the deaths of earlier processes. */
  readonly hands: HandsRecord;
  readonly outbox: Outbox;
  readonly commands: Commands;
  readonly responses: Responses;

  /** Throws AgentError `SqliteAddonUnusable`, `DatabaseUnavailable` or `DatabaseFull`. The caller holds stateDir's lock. */
  static open(options: StoreOptions): Store {
    const { stateDir, files } = options;
    files.makeDirectory(stateDir, 0o700);
    const binding = options.nativeBinding ?? unpackAddon(stateDir, files);
    const path = join(stateDir, "agent.db");
    const opened = openDatabase(path, binding);
    try {
      return new Store(opened, options);
    } catch (error) {
      opened.database[Symbol.dispose]();
      if (!opened.database.isSuspect) throw error;
    }
    // Damage that the check missed: the second try sets the file aside and starts with an empty database.
    return new Store(openDatabase(path, binding), options);
  }

  private constructor(opened: OpenedDatabase, options: StoreOptions) {
    const { database } = opened;
    this.origin = opened.origin;
    this.recovered = opened.recovered;
    this.database = database;
    this.meta = new Meta(database);
    this.knowsAllPods = knowsAllPods(opened, this.meta, options);
    this.archives = new ArchiveRecords(this.meta);
    this.clockMark = new ClockMark(database, this.meta);
    this.incarnation = new Incarnation(this.meta, options.random);
    this.secrets = new SecretBox(loadSecretKey(options), options.random);
    const directory = join(options.stateDir, "desired");
    const { meta, secrets } = this;
    this.documents = new Documents({ database, meta, secrets, files: options.files, directory });
    this.lastGood = new LastGoodManifests(database, secrets);
    this.removals = new Removals(database);
    this.failures = new Failures(database);
    this.killed = new KilledContainers(database);
    this.images = new BroughtImages(database);
    this.evictions = new Evictions(database);
    this.rollouts = new Rollouts({
      database,
      secrets,
      files: options.files,
      path: join(directory, "rollouts"),
      isNew: opened.origin !== "opened",
    });
    this.holds = new Holds(database);
    this.runs = new Runs(database);
    this.commands = new Commands(database);
    this.responses = new Responses(database);
    const path = join(options.stateDir, "trust.json");
    const holdsSigned = this.documents.holdsSigned();
    this.trust = new TrustFile({ meta, files: options.files, path, holdsSigned });
    this.settings = new SettingsFile(options.files, settingsPath(options.stateDir));
    const inHand = join(options.stateDir, "in-hand");
    this.hands = new HandsRecord({ ...options, meta, path: inHand });
    const caps = options.eventCaps;
    this.outbox = new Outbox(caps === undefined ? { database, meta } : { database, meta, caps });
  }

  [Symbol.dispose](): void {
    this.database[Symbol.dispose]();
  }
}

const ALL_PODS = "pods.all";

/** Unknown counts as no, so a crash before it is written only keeps more. */
function knowsAllPods(
  { origin }: Pick<OpenedDatabase, "origin">,
  meta: Meta,
  { stateDir, files }: Pick<StoreOptions, "stateDir" | "files">,
): boolean {
  const directory = podsDirectory(stateDir);
  const hasPods = files.info(directory) !== undefined && files.list(directory).length > 0;
  if (origin === "created" && !hasPods) meta.set(ALL_PODS, "yes");
  return meta.get(ALL_PODS) !== undefined;
}
