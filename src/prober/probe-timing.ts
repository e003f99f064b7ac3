// When a probe runs first and next, and when a run without result is given up. All times are Monotonic.

import type { Probe, ProbeKind } from "../api/v1/probe.ts";
import type { Monotonic } from "../lib/clock.ts";

/** Extra time after the probe's timeout for the edge to settle. */
const GIVE_UP_MS = 30_000;
/**
 * Containers first seen running within this time after the agent's start are assumed to have run before it. Also the
 * longest random delay of a first run.
 */
const SETTLING_MS = 10_000;

export interface FirstProbe {
  readonly at: Monotonic;
  /** Failures before this time do not count. */
  readonly failuresFrom: Monotonic;
}

interface Sighting {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  /** When this process first saw the instance running. */
  readonly seen: Monotonic;
  /** It was running when the agent started. */
  readonly ranBefore: boolean;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/**
 * A new instance is probed exactly after its initial delay. For one that ran before the agent started, the first run is
 * spread over at most a period and ten seconds, so that a restart of the agent causes no burst. Only the unreliable wall
 * clock could show how long it has been running, and an early liveness probe may kill a container that still starts:
 * liveness waits the whole delay again. Readiness kills nothing and runs at once; so does startup, which the other two
 * wait for, but its failures count only after the delay.
 */
export function firstProbe({ kind, probe, seen, ranBefore, random }: Sighting): FirstProbe {
  const delayed = seen + probe.initialDelaySeconds * 1000;
  if (!ranBefore) return { at: delayed, failuresFrom: delayed };
  const jitter = Math.floor(random * Math.min(periodMs(probe), SETTLING_MS));
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
 * A fixed rate without overlap: after a run longer than a period the next one starts at once, later ones return to the
 * schedule. `due`: when the run that ended now was due.
 */
export function nextProbe(
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
