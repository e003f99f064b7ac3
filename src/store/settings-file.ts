// Performs: stores which settings of a document are in force, and what becomes of those that are tried, in
// `stateDir/settings.json`: the agent reads it before it connects, and `agent config print` without an agent.

import { boolean, fieldOf, listOf, objectType, type Decoded } from "../api/schema/codec.ts";
import { readStored } from "../api/schema/read-value.ts";
import { storedNumber, storedText } from "../api/schema/stored-fields.ts";
import { messageOf } from "../lib/errors.ts";
import { parseJson } from "../lib/json.ts";
import type { PlainFiles } from "../lib/files/plain-files.ts";
import { checkedContent, textOf, withChecksum } from "./checked-file.ts";

/** Settings that some document had. */
const KEPT_SETTINGS = objectType("KeptSettings", {
  // As text: a field of a newer agent must not make the record unreadable for an older one.
  settings: storedText("The settings, JSON."),
  digest: storedText("sha256 of that text."),
  source: storedText("Source of the document."),
  generation: storedNumber("Generation of the document."),
});
export type KeptSettings = Decoded<typeof KEPT_SETTINGS>;

const UNDONE_SETTINGS = objectType("UndoneSettings", {
  ...KEPT_SETTINGS.level,
  reason: storedText("One word: ConnectRefused, SubscribeRefused, Unreachable, …"),
  message: storedText("What happened."),
  at: storedNumber("Wall-clock milliseconds, for display."),
});
export type UndoneSettings = Decoded<typeof UNDONE_SETTINGS>;

const RECORD = objectType("SettingsRecord", {
  inForce: fieldOf(KEPT_SETTINGS)({
    about: "What is over the configuration of the device; absent = nothing.",
  }),
  since: storedNumber("Wall-clock milliseconds since which it is in force, for display."),
  unproven: boolean({
    about: "The broker has not answered yet since they are in force.",
    keep: true,
  }),
  starts: storedNumber("Starts of the agent since then, or since the trial of `trying` began."),
  previous: fieldOf(KEPT_SETTINGS)({
    about: "What was in force before, to go back to; absent = the device's own configuration.",
  }),
  trying: fieldOf(KEPT_SETTINGS)({ about: "What is tried beside it; absent = nothing." }),
  undone: fieldOf(
    listOf(UNDONE_SETTINGS),
    [],
  )({ about: "What is not tried again, the newest last.", required: true, keep: true }),
});
export type SettingsRecord = Decoded<typeof RECORD>;

export const NO_SETTINGS_RECORD: SettingsRecord = { since: 0, starts: 0, undone: [] };

const MAGIC = "agent-settings";
const MODE = 0o600;
/** Larger than any record: some settings with their certificates. */
const MAX_BYTES = 1024 * 1024;

/** `stateDir/settings.json`. */
export function settingsPath(stateDir: string): string {
  return `${stateDir}/settings.json`;
}

export class SettingsFile {
  /** What was damaged at the start, as a sentence; the caller logs it as an error. */
  readonly trouble: string | undefined;
  readonly #files: PlainFiles;
  readonly #path: string;
  #record: SettingsRecord;

  /** An unusable file does not prevent the start: the configuration of the device is in force. */
  constructor(files: PlainFiles, path: string) {
    this.#files = files;
    this.#path = path;
    const read = readSettingsFile(files, path);
    this.#record = read.record;
    this.trouble = read.trouble;
  }

  read(): SettingsRecord {
    return this.#record;
  }

  /** On the disk when it returns, otherwise it throws, and nothing has changed. */
  write(record: SettingsRecord): void {
    const text = JSON.stringify(RECORD.write(record));
    this.#files.writeAtomic(this.#path, withChecksum(MAGIC, `${text}\n`), MODE);
    this.#record = record;
  }
}

/** Never throws. */
export function readSettingsFile(
  files: Pick<PlainFiles, "info" | "read">,
  path: string,
): { readonly record: SettingsRecord; readonly trouble: string | undefined } {
  const damaged = (why: string) => ({
    record: NO_SETTINGS_RECORD,
    trouble: `${path} cannot be used (${why}); the configuration of the device is in force`,
  });
  try {
    if (files.info(path) === undefined) return { record: NO_SETTINGS_RECORD, trouble: undefined };
    const content = checkedContent(MAGIC, files.read(path, MAX_BYTES));
    if (content === undefined) return damaged("its checksum does not match");
    const record = readStored(RECORD, parseJson(textOf(content)));
    return record === undefined ? damaged("it is no such record") : { record, trouble: undefined };
  } catch (error) {
    return damaged(messageOf(error));
  }
}
