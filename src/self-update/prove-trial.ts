// Performs: a new version on trial proves itself, or ends before the launcher ends it.

import type { Edges } from "../edges.ts";
import type { Trial, Versions } from "../host/versions/versions.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";

/** Longest trial, should the launcher not have said when it ends. */
const LIMIT_MS = 300_000;
const LOOK_MS = 500;

export interface Proofs {
  /** What is here is known and acted on; the network is not needed for it. */
  readonly isReady: () => boolean;
  /** The broker has acknowledged a message of this process. */
  readonly hasBroker: () => boolean;
}

interface TrialOptions {
  readonly edges: Pick<Edges, "clock" | "log">;
  readonly versions: Pick<Versions, "launch" | "confirm">;
  readonly proofs: Proofs;
}

/** `Stopped`: the agent ended before, as by SIGTERM. */
export type TrialEnd = "Confirmed" | "OutOfTime" | "Stopped";

export async function proveTrial(
  trial: Trial,
  { edges, versions, proofs }: TrialOptions,
  signal: AbortSignal,
): Promise<TrialEnd> {
  const { clock, log } = edges;
  const until: Monotonic = versions.launch.until ?? clock.monotonic() + LIMIT_MS;
  while (!signal.aborted) {
    if (isProven(trial, proofs)) {
      try {
        versions.confirm(trial.name);
        return "Confirmed";
      } catch (error) {
        log.error("cannot keep the new version; trying again", { error: messageOf(error) });
      }
    }
    if (clock.monotonic() >= until) return "OutOfTime";
    await clock.sleep(LOOK_MS, signal);
  }
  return "Stopped";
}

function isProven({ hadBroker }: Trial, { isReady, hasBroker }: Proofs): boolean {
  return isReady() && (!hadBroker || hasBroker());
}
