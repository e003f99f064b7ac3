// Performs: who keeps a pod from being updated: an operator, its own annotation, or a lock of the application that
// runs.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podName } from "../api/v1/pod.ts";
import { holdsUpgrade } from "../api/pod/update-annotations.ts";
import { rfc3339, type Clock } from "../lib/clock.ts";
import type { PodProgress } from "./trial-facts.ts";
import type { Holds } from "../store/holds.ts";
import type { UpdateLocks } from "./update-locks.ts";

export interface UpdateHoldsOptions {
  readonly clock: Clock;
  readonly rows: Holds;
  readonly locks: Pick<UpdateLocks, "of">;
  /** What runs under a `namespace/name` at this moment. */
  readonly running: (name: string) => DesiredPod | undefined;
}

export type Hold = Pick<PodProgress, "hold" | "holdReviewAt">;

const NODE = "";
const LOOK_AGAIN_MS = 5_000;
const MINUTE_MS = 60_000;
/** What is told of an age changes seldom: every change is a message. */
const STEPS = [1, 2, 5, 10, 20, 30];

export class UpdateHolds {
  readonly #options: UpdateHoldsOptions;

  constructor(options: UpdateHoldsOptions) {
    this.#options = options;
  }

  /** Of the pod as its document wants it. */
  of(desired: DesiredPod, maxLockSeconds: number): Hold {
    const { clock, rows, running } = this.#options;
    const name = podName(desired.pod);
    const ordered = this.#ordered(name);
    if (ordered !== undefined) return { hold: ordered };
    if (holdsUpgrade(desired.pod) && !rows.isReleased(name, desired.uid))
      return { hold: "held by its annotation agent/hold-upgrade; agent release ends it" };
    const runs = running(name);
    const hold = runs === undefined ? undefined : this.#locked(runs, maxLockSeconds);
    return hold === undefined ? {} : { hold, holdReviewAt: clock.monotonic() + LOOK_AGAIN_MS };
  }

  /** Of a pod that runs and that its document no longer names; undefined = nobody. */
  ofRunning(running: DesiredPod, maxLockSeconds: number): string | undefined {
    return this.#ordered(podName(running.pod)) ?? this.#locked(running, maxLockSeconds);
  }

  /** Whether somebody has ordered it. */
  isOrdered(name: string): boolean {
    return this.#options.rows.since(name) !== undefined;
  }

  /** `name` undefined = the whole node. Throws what the checkpoint throws. */
  hold(name: string | undefined): void {
    this.#options.rows.hold(name ?? NODE, this.#options.clock.now());
  }

  /** `wanted`: as the document has it. Throws what the checkpoint throws. */
  release(name: string | undefined, wanted: DesiredPod | undefined): void {
    const { rows, clock } = this.#options;
    if (name !== undefined && wanted !== undefined && holdsUpgrade(wanted.pod))
      rows.overrule(name, wanted.uid, clock.now());
    else rows.release(name ?? NODE);
  }

  #locked(running: DesiredPod, maxSeconds: number): string | undefined {
    const lock = this.#options.locks.of(running, maxSeconds);
    if (lock === undefined) return undefined;
    return `locked by container ${lock.container} for ${ageOf(lock.ageMs)}`;
  }

  #ordered(name: string): string | undefined {
    const { rows } = this.#options;
    const own = rows.since(name);
    if (own !== undefined) return `held since ${rfc3339(own)}; agent release ends it`;
    const all = rows.since(NODE);
    if (all === undefined) return undefined;
    return `all updates of this node are held since ${rfc3339(all)}; agent release --all ends it`;
  }
}

function ageOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  if (minutes < 1) return "less than a minute";
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h`;
  return `${STEPS.findLast((step) => step <= minutes) ?? 1} min`;
}
