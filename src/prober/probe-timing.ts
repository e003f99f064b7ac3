// When a probe asks: first, next, and when an edge that never answers is given up. All times are Monotonic.

import type { Probe } from "../api/v1/probe.ts";
import type { ProbeKind } from "../api/v1/probe-verdicts.ts";
import type { Monotonic } from "../lib/clock.ts";

/** Beyond its own time-out an edge gets this long to come back. */
const GIVE_UP_MS = 30_000;
/**
 * What a first look at a pod finds running in this time after the agent's start, ran before; and no first question
 * is put off by more than this.
 */
const SETTLING_MS = 10_000;

export interface FirstAsk {
  readonly at: Monotonic;
  /** Failures before this time do not count. */
  readonly failuresFrom: Monotonic;
}

export interface Sighting {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  /** When this process first saw the instance running. */
  readonly seen: Monotonic;
  /** It ran already when the agent started. */
  readonly ranBefore: boolean;
  /** Uniform in [0, 1). */
  readonly dice: number;
}

/**
 * A new instance is asked exactly after its initial delay. One that ran before the agent started spreads its first
 * question over a period, or ten seconds of it, so that a restart of the agent is no burst. How long such a one has been running, only the
 * wall clock could say, and that lies; a liveness probe too early may kill a container that still starts, so liveness
 * waits the whole delay again. Readiness can kill nothing and asks at once; so does startup, whose success
 * the other two wait for, but its failures count only after the delay.
 */
export function firstAsk({ kind, probe, seen, ranBefore, dice }: Sighting): FirstAsk {
  const delayed = seen + probe.initialDelaySeconds * 1000;
  if (!ranBefore) return { at: delayed, failuresFrom: delayed };
  const jitter = Math.floor(dice * Math.min(periodMs(probe), SETTLING_MS));
  switch (kind) {
    case "liveness":
      return { at: delayed + jitter, failuresFrom: delayed };
    case "readiness":
      return { at: seen + jitter, failuresFrom: seen };
    case "startup":
      return { at: seen + jitter, failuresFrom: delayed };
  }
}

/** `sinceStart`: ms since the process began. */
export function mayHaveRunBefore(sinceStart: number): boolean {
  return sinceStart < SETTLING_MS;
}

/**
 * A fixed rate without overlap: who took longer than a period asks again at once, and then falls back into step.
 * `due`: when the question that is answered now should have been asked.
 */
export function nextAsk(
  probe: Probe,
  due: Monotonic,
  now: Monotonic,
): { readonly at: Monotonic; readonly due: Monotonic } {
  const period = periodMs(probe);
  const next = due + period;
  if (next > now) return { at: next, due: next };
  return { at: now, due: due + Math.floor((now - due) / period) * period };
}

export function giveUpAt(probe: Probe, now: Monotonic): Monotonic {
  return now + probe.timeoutSeconds * 1000 + GIVE_UP_MS;
}

function periodMs({ periodSeconds }: Probe): number {
  return Math.max(1, periodSeconds) * 1000;
}
