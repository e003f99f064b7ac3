// What happens next with settings of documents, and what each event makes of the stored record. Nothing is in force that
// has not been written before, and what was in force stays written until its successor has proved itself.
//
//   trying ──(CONNACK, SUBACK, PUBACK beside the old connection)──▶ in force, unproven ──(the broker acknowledges)──▶ proven
//      │ refused, or no answer in time                                │ no answer in time, or too many starts
//      ▼                                                              ▼
//   undone: the old one stays                                      undone: the one before is in force again

import type { Failure } from "../../api/pod/rollout.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { DesiredDocument } from "../../protocol/desired-document.ts";
import type { KeptSettings, SettingsRecord, UndoneSettings } from "../../store/settings-file.ts";

/** Remembered as not to be tried again. */
const MAX_UNDONE = 5;
/** A trial, or an unproven connection, during which the agent starts this often may be what ends it. */
export const MAX_STARTS = 3;

/** Settings that a document wants now. */
export interface WantedSettings extends KeptSettings {
  /** What has failed may be tried again by a newer generation. */
  readonly retryFailed: boolean;
}

export type SettingsStep =
  /** `knownBad`: what is wanted and was undone before. */
  | { readonly type: "Rest"; readonly knownBad: UndoneSettings | undefined }
  | { readonly type: "Try"; readonly wanted: WantedSettings }
  /** What is in force has to prove itself. */
  | { readonly type: "Prove" }
  | { readonly type: "Undo"; readonly why: Failure };

/** Of the documents in the order in which they count, the first that is signed and has settings. */
export function wantedOf(
  documents: readonly (DesiredDocument | undefined)[],
  written: (document: DesiredDocument) => Pick<KeptSettings, "settings" | "digest"> | undefined,
): WantedSettings | undefined {
  for (const document of documents) {
    const kept = document?.signed === true ? written(document) : undefined;
    if (document === undefined || kept === undefined) continue;
    const { source, generation, policy } = document;
    return { ...kept, source, generation, retryFailed: policy.retryFailed };
  }
  return undefined;
}

export function nextStep(
  record: SettingsRecord,
  wanted: WantedSettings | undefined,
  nothing: string,
): SettingsStep {
  if (record.unproven === true)
    return record.starts > MAX_STARTS
      ? { type: "Undo", why: tooManyStarts("after the change") }
      : { type: "Prove" };
  // Without settings what is in force stays: a broker that is new may have no document yet.
  const isSame = wanted?.digest === (record.inForce?.digest ?? nothing);
  if (wanted === undefined || isSame) return { type: "Rest", knownBad: undefined };
  const bad = record.undone.findLast(({ digest }) => digest === wanted.digest);
  const mayRetry = wanted.retryFailed && bad !== undefined && isNewer(wanted, bad);
  if (bad !== undefined && !mayRetry) return { type: "Rest", knownBad: bad };
  return { type: "Try", wanted };
}

function isNewer(wanted: WantedSettings, bad: UndoneSettings): boolean {
  return wanted.source !== bad.source || wanted.generation > bad.generation;
}

/** The process has started. */
export function started(record: SettingsRecord): SettingsRecord {
  const isOpen = record.unproven === true || record.trying !== undefined;
  return isOpen ? { ...record, starts: record.starts + 1 } : record;
}

/** A trial begins, or goes on after a restart. */
export function trying(record: SettingsRecord, wanted: WantedSettings): SettingsRecord {
  if (record.trying?.digest === wanted.digest) return record;
  return { ...record, trying: keptOf(wanted), starts: 0 };
}

export function hasTooManyStarts({ trying: tried, starts }: SettingsRecord): boolean {
  return tried !== undefined && starts > MAX_STARTS;
}

export function tooManyStarts(when: string): Failure {
  return {
    reason: "RestartedTooOften",
    message: `the agent was started ${MAX_STARTS} times ${when}`,
  };
}

/** The new connection has answered in full: it is in force from now on, to be proved once more. */
export function committed(
  record: SettingsRecord,
  wanted: WantedSettings,
  now: number,
): SettingsRecord {
  return {
    ...withoutUndefined({ previous: record.inForce }),
    inForce: keptOf(wanted),
    since: now,
    unproven: true,
    starts: 0,
    undone: record.undone.filter(({ digest }) => digest !== wanted.digest),
  };
}

export function proven(record: SettingsRecord): SettingsRecord {
  const { unproven: _, ...rest } = record;
  return { ...rest, starts: 0 };
}

/** A trial beside the old connection has failed: what is in force stays. */
export function trialFailed(
  record: SettingsRecord,
  wanted: WantedSettings,
  { why, now }: { readonly why: Failure; readonly now: number },
): SettingsRecord {
  const { trying: _, ...rest } = record;
  return { ...rest, starts: 0, undone: withUndone(record, { ...keptOf(wanted), ...why, at: now }) };
}

/** A trial ends without a verdict: no document wants it any more. */
export function dropped(record: SettingsRecord): SettingsRecord {
  const { trying: _, ...rest } = record;
  return record.trying === undefined ? record : { ...rest, starts: 0 };
}

/** What was in force before is in force again. */
export function wentBack(
  record: SettingsRecord,
  { why, now }: { readonly why: Failure; readonly now: number },
): SettingsRecord {
  const { inForce, previous } = record;
  const undone =
    inForce === undefined ? record.undone : withUndone(record, { ...inForce, ...why, at: now });
  return { ...withoutUndefined({ inForce: previous }), since: now, starts: 0, undone };
}

function withUndone({ undone }: SettingsRecord, failed: UndoneSettings): readonly UndoneSettings[] {
  return [...undone.filter(({ digest }) => digest !== failed.digest), failed].slice(-MAX_UNDONE);
}

function keptOf({ settings, digest, source, generation }: KeptSettings): KeptSettings {
  return { settings, digest, source, generation };
}
