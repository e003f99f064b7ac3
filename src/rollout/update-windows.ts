// Performs: keeps updates of pods inside their maintenance windows: asks the clock, and remembers what a window has let begin.
//
// The windows of a pod are those of its annotation, else of its document, else of the node. What has been replaced is
// judged to its end at any time, and going back is never delayed: half an update is worse than either end.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { ownWindows } from "../api/pod/update-annotations.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { podName } from "../api/v1/pod.ts";
import {
  changesAt,
  judgeWindows,
  whyClosed,
  type WindowVerdict,
} from "../api/window/judge-windows.ts";
import type { MaintenanceWindow, UpdateStep } from "../api/window/maintenance-window.ts";
import type { Instant } from "../api/workload/wall-time.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { TrustedTime } from "../api/window/trusted-time.ts";
import type { PodProgress } from "./trial-facts.ts";

/** The wall clock may jump meanwhile. */
const LOOK_AGAIN_MS = 60_000;
const SOONEST_MS = 1_000;

export interface UpdateWindowsOptions {
  readonly clock: Clock;
  /** Of the node. */
  readonly maintenanceWindows: readonly MaintenanceWindow[];
  readonly clockSynchronised: () => boolean;
  readonly clockFloor: ConstructorParameters<typeof TrustedTime>[0]["clockFloor"];
  /** Whether all images of the pod are on this node. */
  readonly areImagesHere: (desired: DesiredPod) => boolean;
}

export type WindowPolicy = Pick<UpdatePolicy, "maintenanceWindows" | "urgent">;

type Hold = Pick<PodProgress, "hold" | "holdReviewAt">;

/** When the windows have last let each step of an update go on. */
interface Allowed {
  /** `updateKey`. */
  readonly update: string;
  readonly at: Partial<Record<UpdateStep, Instant>>;
}

export class UpdateWindows {
  readonly #options: UpdateWindowsOptions;
  readonly #time: TrustedTime;
  /** By `namespace/name`. */
  readonly #allowed = new Map<string, Allowed>();

  constructor(options: UpdateWindowsOptions) {
    this.#options = options;
    this.#time = new TrustedTime(options);
  }

  /** For an update of the pod that has not begun to replace it. */
  of(desired: DesiredPod, policy: WindowPolicy): Hold {
    const windows = this.#windowsOf(desired, policy);
    if (windows.length === 0) return {};
    const update = this.#judge(windows, "update", desired);
    const download = this.#judge(windows, "download", desired);
    const holdReviewAt = this.#reviewAt([update, download]);
    const why = whyClosed(update, "update") ?? this.#whyNotHere(download, desired);
    if (why === undefined) return { holdReviewAt };
    return { hold: `${why}; agent release does not wait`, holdReviewAt };
  }

  /** Why a running pod that its document no longer names may not be stopped now; undefined = it may. */
  ofRunning(running: DesiredPod, policy: WindowPolicy): string | undefined {
    const windows = this.#windowsOf(running, policy);
    if (windows.length === 0) return undefined;
    const moment = { now: this.#time.now() };
    return whyClosed(judgeWindows(windows, "update", moment), "update");
  }

  /** Whether images of an update that waits may be fetched now. */
  mayDownload(desired: DesiredPod, policy: WindowPolicy): boolean {
    const windows = this.#windowsOf(desired, policy);
    if (windows.length === 0) return true;
    return whyClosed(this.#judge(windows, "download", desired), "download") === undefined;
  }

  #whyNotHere(download: WindowVerdict, desired: DesiredPod): string | undefined {
    const why = whyClosed(download, "download");
    // Images that are here need no window.
    return why === undefined || this.#options.areImagesHere(desired) ? undefined : why;
  }

  #windowsOf({ pod }: DesiredPod, policy: WindowPolicy): readonly MaintenanceWindow[] {
    if (policy.urgent) return [];
    return ownWindows(pod) ?? policy.maintenanceWindows ?? this.#options.maintenanceWindows;
  }

  #judge(
    windows: readonly MaintenanceWindow[],
    step: UpdateStep,
    desired: DesiredPod,
  ): WindowVerdict {
    const name = podName(desired.pod);
    const update = updateKey(desired);
    const now = this.#time.now();
    const known = this.#allowed.get(name);
    const before = known?.update === update ? known.at : {};
    const verdict = judgeWindows(windows, step, { now, allowedAt: before[step] });
    if (verdict.type === "Open" && now !== undefined)
      this.#allowed.set(name, { update, at: { ...before, [step]: now } });
    return verdict;
  }

  #reviewAt(verdicts: readonly WindowVerdict[]): Monotonic {
    const now = this.#time.now();
    const monotonic = this.#options.clock.monotonic();
    const waits = verdicts
      .map(changesAt)
      .flatMap((at) => (at === undefined || now === undefined ? [] : [at - now]));
    return monotonic + Math.max(SOONEST_MS, Math.min(LOOK_AGAIN_MS, ...waits));
  }
}

/** Names one update of a pod: the same spec in another generation may read something else. */
export function updateKey({ uid, sourceRef }: DesiredPod): string {
  return `${uid}@${sourceRef}`;
}
