// When work may begin in whose hand the process has died before: after two deaths everything else goes first, MQTT is
// asked, and such work is tried one by one.

import type { Monotonic } from "../../lib/clock.ts";
import type { Hand } from "./hand.ts";

/** So many deaths in one hand, and the next start lets it wait. One may be a power failure. */
export const SUSPECT_DEATHS = 2;
/** Without an answer of MQTT it waits this long after the start of the process. */
export const MQTT_FIRST_MS = 60_000;
/** After the subscriptions were answered: time for a retained document to arrive over a slow link. */
export const AFTER_SUBSCRIBED_MS = 15_000;
/** After a document was judged: time for its pods to be applied, and for documents of groups. */
export const AFTER_JUDGED_MS = 2_000;
/**
 * Work that is tried has this long before the next is tried as well; of several suspects the next death then blames one
 * only, and the others get done.
 */
export const TURN_MS = 60_000;

const AGAIN_MS = 300_000;
const AGAIN_MAX_MS = 3_600_000;

export function isSuspect(deaths: number): boolean {
  return deaths >= SUSPECT_DEATHS;
}

/** How long the process runs without the work that has ended it: from the third death on 5 min, doubled up to 1 h. */
function pauseAfter(deaths: number): number {
  if (deaths <= SUSPECT_DEATHS) return 0;
  return Math.min(AGAIN_MS * 2 ** (deaths - SUSPECT_DEATHS - 1), AGAIN_MAX_MS);
}

export interface GuardTimes {
  /** Of the process. */
  readonly startedAt: Monotonic;
  /** When MQTT counts as asked, if that is known. */
  readonly askedAt: Monotonic | undefined;
}

/** The earliest moment at which a hand with so many deaths is tried again. */
export function notBefore(deaths: number, { startedAt, askedAt }: GuardTimes): Monotonic {
  const asked = Math.min(askedAt ?? Number.POSITIVE_INFINITY, startedAt + MQTT_FIRST_MS);
  return Math.max(asked, startedAt + pauseAfter(deaths));
}

interface Suspect {
  readonly deaths: number;
}

/** Of those that wait, who is tried next: the one with the fewest deaths, then the one that has waited longest. */
export function nextToTry<T extends Suspect>(
  waiting: readonly T[],
  now: Monotonic,
  times: GuardTimes,
): T | undefined {
  const due = waiting.filter(({ deaths }) => notBefore(deaths, times) <= now);
  const least = Math.min(...due.map(({ deaths }) => deaths));
  return due.find(({ deaths }) => deaths === least);
}

/** When the next of those that wait becomes due; undefined = none waits. */
export function nextDueAt(waiting: readonly Suspect[], times: GuardTimes): Monotonic | undefined {
  if (waiting.length === 0) return undefined;
  return Math.min(...waiting.map(({ deaths }) => notBefore(deaths, times)));
}

const WORK: Readonly<Record<Hand["kind"], (name: string) => string>> = {
  Document: (name) => `judged or adopted this document of ${name}`,
  File: (name) => `read ${name}`,
  Pod: (name) => `worked on pod ${name}`,
  Removal: (name) => `removed what pod ${name} has left on the node`,
};

const REMEDY: Readonly<Record<Hand["kind"], string>> = {
  Document: "publish a newer document",
  File: "replace the file or remove it",
  Pod: "change or remove the pod",
  Removal: "remove the pod's directory below stateDir by hand",
};

/** What happened, when it is tried again, what to do. The same text as long as it waits. */
export function waitMessage({ kind, name }: Hand, deaths: number): string {
  const pause = pauseAfter(deaths);
  const when =
    pause === 0
      ? `once the broker was asked for a newer document, at most ${MQTT_FIRST_MS / 1000} s after the start`
      : `${pause / 60_000} min after the start`;
  return `the agent ended ${deaths} times while it ${WORK[kind](name)}; it goes on without and tries again ${when}; if that keeps happening, ${REMEDY[kind]}`;
}
