// Decides which topics a broker refuses: some clouds answer a forbidden topic by closing the connection.

import { earliest, type Monotonic } from "../../lib/clock.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";

interface Suspect {
  /** Consecutive disconnects at which it was unanswered. */
  readonly strikes: number;
  /** Not used until then. */
  readonly setAsideUntil?: Monotonic;
}

/** By topic; absent = not suspected. */
export type Suspects = ReadonlyMap<string, Suspect>;

/** A topic that is set aside is tried again after this many ms. */
export const RETRY_MS = 3_600_000;
const STRIKES = 3;
/** Why a topic is set aside after so many strikes. */
export const UNANSWERED = "was in flight at three disconnects in a row";

/** The suspects after the broker closed the connection with `unanswered` topics in flight. */
export function afterDisconnect(
  suspects: Suspects,
  unanswered: readonly string[],
  now: Monotonic,
): Suspects {
  const next = new Map([...suspects].filter(([, suspect]) => isSetAside(suspect, now)));
  for (const topic of unanswered) {
    const strikes = (suspects.get(topic)?.strikes ?? 0) + 1;
    // At a retry after the hour, one strike is enough.
    if (strikes < STRIKES) next.set(topic, { strikes });
    else next.set(topic, { strikes: STRIKES - 1, setAsideUntil: now + RETRY_MS });
  }
  return next;
}

/** The suspects after the broker refused `topic` with a reason code. */
export function afterRefusal(suspects: Suspects, topic: string, now: Monotonic): Suspects {
  return new Map([...suspects, [topic, { strikes: 0, setAsideUntil: now + RETRY_MS }]]);
}

/** The suspects after the broker accepted `topic`. */
export function afterSuccess(suspects: Suspects, topic: string): Suspects {
  if (!suspects.has(topic)) return suspects;
  return new Map([...suspects].filter(([other]) => other !== topic));
}

/** The topics that must not be used now. */
export function topicsSetAside(suspects: Suspects, now: Monotonic): readonly string[] {
  return [...suspects].flatMap(([topic, suspect]) => (isSetAside(suspect, now) ? [topic] : []));
}

function isSetAside({ setAsideUntil = 0 }: Suspect, now: Monotonic): boolean {
  return setAsideUntil > now;
}

/** Whether a suspected topic may be used: then one topic at a time, so that the cause becomes known. */
export function anyOnProbation(suspects: Suspects, now: Monotonic): boolean {
  return [...suspects.values()].some((one) => one.strikes > 0 && !isSetAside(one, now));
}

/** When the next topic that is set aside may be tried again. */
export function nextRetry(suspects: Suspects, now: Monotonic): Monotonic | undefined {
  const waiting = [...suspects.values()].flatMap(({ setAsideUntil }) => setAsideUntil ?? []);
  return earliest(waiting.filter((until) => until > now));
}

const NAMED = 5;

/** The condition of topics that the broker does not serve; none without topics. `topics` = topic and the reason. */
export function topicsCondition(
  type: string,
  reason: string,
  topics: ReadonlyMap<string, string>,
): readonly NodeCondition[] {
  if (topics.size === 0) return [];
  const named = [...topics].slice(0, NAMED).map(([topic, why]) => `${topic} ${why}`);
  const more = topics.size > NAMED ? `; and ${topics.size - NAMED} more` : "";
  return [{ type, status: "True", reason, message: named.join("; ") + more }];
}
