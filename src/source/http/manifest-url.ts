// What an HTTP server's manifests are after each answer: the entries in effect, the problems, and when to ask again.

import type { Rejection, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import { firstOfEach } from "../../lib/compare.ts";
import type { FieldError } from "../../lib/result.ts";
import { entryKey, type ManifestFile } from "../file/manifest-entry.ts";
import { outcomeOf, type FileOutcome, type Outcomes } from "../file/manifest-last-good.ts";
import { rejectionsOf } from "../file/manifest-snapshot.ts";

export interface UrlState {
  /** The URL without what may be secret; the path of its entries. */
  readonly ref: string;
  /** The last complete answer; undefined = none since the start. */
  readonly file: ManifestFile | undefined;
  readonly outcome: FileOutcome;
  /** Consecutive requests without a usable answer. */
  readonly failures: number;
  /** Why the last request failed; undefined = it did not. */
  readonly failure: string | undefined;
  /** Whether the source has synced (own-source-first); once true it stays true. */
  readonly ready: boolean;
}

/** Single failures are everyday life on a bad network; they are in the log only. */
const REPORTED_FAILURES = 3;
const MAX_BACKOFF_MS = 300_000;

const NOTHING: FileOutcome = { entries: [], lost: [], refused: [] };

/** From the checkpoint, also of another URL: its entries stay until the present one has answered. */
export function restored(ref: string, stored: Outcomes, hasSynced: boolean): UrlState {
  const all = [...stored.values()];
  const entries = firstOfEach(
    all.flatMap((outcome) => outcome.entries),
    entryKey,
  ).firsts;
  const lost = all.flatMap((outcome) => outcome.lost);
  const outcome = { entries, lost, refused: [] };
  const ready = hasSynced && lost.length === 0;
  return { ref, file: undefined, outcome, failures: 0, failure: undefined, ready };
}

/** No URL is wanted any more: its pods go. */
export function cleared(state: UrlState): UrlState {
  return { ...state, file: undefined, outcome: NOTHING, ready: true };
}

/** After a complete answer, valid or not; the same object if nothing changed. */
export function afterAnswer(state: UrlState, file: ManifestFile): UrlState {
  const { reading } = file;
  const before = state.file?.reading;
  const isSame =
    reading.type === "Decoded" && before?.type === "Decoded" && before.digest === reading.digest;
  if (isSame) return afterNotModified(state);
  const outcome = outcomeOf(file, state.outcome);
  const isValid = reading.type === "Decoded" && reading.manifest.errors.length === 0;
  const ready = state.ready || isValid;
  return { ...state, file, outcome, ready, failures: 0, failure: undefined };
}

export function afterNotModified(state: UrlState): UrlState {
  if (state.failure === undefined && state.failures === 0) return state;
  return { ...state, failures: 0, failure: undefined };
}

export function afterFailure(state: UrlState, message: string): UrlState {
  return { ...state, failures: state.failures + 1, failure: message };
}

/** Whether a snapshot shows anything else. */
export function isSameView(a: UrlState, b: UrlState): boolean {
  return (
    a.file === b.file &&
    a.outcome === b.outcome &&
    a.ready === b.ready &&
    shownFailure(a) === shownFailure(b)
  );
}

/** Before jitter, ms. The first retry is never later than the next request would be. */
export function nextRequestMs(
  { failures }: Pick<UrlState, "failures">,
  frequencyMs: number,
  retryAfterMs = 0,
): number {
  if (failures === 0) return frequencyMs;
  const backoff = Math.min(frequencyMs * 2 ** Math.min(failures - 1, 20), MAX_BACKOFF_MS);
  return Math.max(backoff, frequencyMs, retryAfterMs);
}

/** `warnings`: of the configuration. */
export function snapshotOfUrl(state: UrlState, warnings: readonly FieldError[]): SourceSnapshot {
  const { ref, file, outcome, ready } = state;
  const failure = shownFailure(state);
  const whole = (why: FieldError): Rejection => ({ source: "http", ref, ...why });
  const lost = outcome.lost.map(({ kind, namespace, name, why }) => {
    const message = `the last good copy of ${kind} ${namespace}/${name} cannot be read: ${why}; it counts again after the next answer`;
    return { ...whole({ path: "", code: "LastGoodLost", message }), kind, namespace, name };
  });
  const { entries } = outcome;
  const services = entries.flatMap((one) => (one.type === "Service" ? [one.desired] : []));
  return {
    source: "http",
    ready,
    pods: entries.flatMap((entry) => (entry.type === "Pod" ? [entry.desired] : [])),
    objects: entries.flatMap((entry) => (entry.type === "Object" ? [entry.desired] : [])),
    runs: entries.flatMap((entry) => (entry.type === "Run" ? [entry.desired] : [])),
    ...(services.length === 0 ? {} : { services }),
    rejected: [
      ...warnings.map(whole),
      ...(failure === undefined ? [] : [whole({ path: "", code: "URLFailed", message: failure })]),
      ...lost,
      ...(file === undefined ? [] : rejectionsOf(file)),
      ...outcome.refused,
    ],
  };
}

function shownFailure({ failure, failures, ready }: UrlState): string | undefined {
  return failures >= REPORTED_FAILURES || !ready ? failure : undefined;
}

/** Scheme, host and path: a query may hold a password. */
export function urlRef(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** What the operator should know although it works. */
export function urlWarnings(url: string): readonly FieldError[] {
  const { protocol, hostname } = new URL(url);
  const isLocal = /^(?:localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || isLocal) return [];
  const message =
    "staticPodURL is not encrypted: who is on the way to the server can run pods with all rights on this node; use https";
  return [{ path: "", code: "InsecureURL", message }];
}

/** Whether a row of the checkpoint is of a URL; all others are of files. */
export function isUrlPath(path: string): boolean {
  return /^https?:\/\//.test(path);
}
