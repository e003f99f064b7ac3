// Performs: what keeps a pod from being updated: an operator's hold, its own annotation, a lock of the running application
// (update-lock.ts), or its maintenance windows (update-windows.ts).

import { type DesiredPod, manifestPath } from "../api/pod/desired-pod.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { podName, type NamedPod } from "../api/v1/pod.ts";
import { holdsUpgrade } from "../api/pod/update-annotations.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { WorkerRegistry } from "../podworkers/pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { Holds } from "../store/pod-records.ts";
import type { PodProgress } from "./trial-facts.ts";
import {
  UpdateWindows,
  updateKey,
  type UpdateWindowsOptions,
  type WindowPolicy,
} from "./update-windows.ts";
import { LOOK_AGAIN_MS, type UpdateLocksOptions, UpdateLocks } from "./update-lock.ts";

interface UpdateHoldsOptions extends UpdateLocksOptions, UpdateWindowsOptions {
  readonly rows: Holds;
  readonly pods: UpdateLocksOptions["pods"] & {
    readonly workers: Pick<WorkerRegistry, "shown">;
  };
}

export type HoldPolicy = WindowPolicy & Pick<UpdatePolicy, "maxLockSeconds">;

type Hold = Pick<PodProgress, "hold" | "holdReviewAt">;

const NODE = "";

export class UpdateHolds {
  readonly #options: UpdateHoldsOptions;
  readonly #locks: UpdateLocks;
  readonly #windows: UpdateWindows;
  /** `namespace/name` of pods that a window alone keeps waiting. */
  readonly #awaitWindow = new Set<string>();

  constructor(options: UpdateHoldsOptions) {
    this.#options = options;
    this.#locks = new UpdateLocks(options);
    this.#windows = new UpdateWindows(options);
  }

  /** For an update of the pod, as its document wants it, that has not begun to replace it. */
  ofUpdate(desired: DesiredPod, policy: HoldPolicy): Hold {
    const name = podName(desired.pod);
    this.#awaitWindow.delete(name);
    const held = this.of(desired, policy);
    if (held.hold !== undefined) return held;
    if (this.#options.rows.isReleased(name, updateKey(desired))) return {};
    const waits = this.#windows.of(desired, policy);
    if (waits.hold !== undefined) this.#awaitWindow.add(name);
    return waits;
  }

  /** Whether images of an update that waits may be fetched now. */
  mayDownload(desired: DesiredPod, policy: HoldPolicy): boolean {
    if (this.#options.rows.isReleased(podName(desired.pod), updateKey(desired))) return true;
    return this.#windows.mayDownload(desired, policy);
  }

  /** The same without its windows: a pod that never ran waits for none. */
  of(desired: DesiredPod, { maxLockSeconds }: Pick<HoldPolicy, "maxLockSeconds">): Hold {
    const { clock, rows, pods } = this.#options;
    const name = podName(desired.pod);
    const ordered = this.#ordered(name);
    if (ordered !== undefined) return { hold: ordered };
    if (holdsUpgrade(desired.pod) && !rows.isReleased(name, desired.uid))
      return { hold: "held by its annotation agent/hold-upgrade; agent release ends it" };
    const runs = pods.workers.shown(name);
    const hold = runs === undefined ? undefined : this.#locks.locked(runs, maxLockSeconds);
    return hold === undefined ? {} : { hold, holdReviewAt: clock.monotonic() + LOOK_AGAIN_MS };
  }

  /** For a running pod that its document no longer names; undefined = nothing holds it. */
  ofRunning(running: DesiredPod, policy: HoldPolicy): string | undefined {
    const held =
      this.#ordered(podName(running.pod)) ?? this.#locks.locked(running, policy.maxLockSeconds);
    return held ?? this.#windows.ofRunning(running, policy);
  }

  /** Whether an operator holds it. */
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
    else if (name !== undefined && wanted !== undefined && this.#awaitWindow.has(name))
      rows.overrule(name, updateKey(wanted), clock.now());
    else rows.release(name ?? NODE);
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

/** What an operator asks for. */
export type HoldVerb = "hold" | "release";

export type HoldOutcome =
  | { readonly type: "Done" }
  | { readonly type: "NotFound" }
  /** Edits of a file take effect at once: they are not held. */
  | { readonly type: "OfFile"; readonly file: string };

interface HoldRequestsOptions {
  readonly holds: Pick<UpdateHolds, "hold" | "release" | "isOrdered">;
  readonly rollouts: { release(name: string): void; names(): readonly string[] };
  readonly written: Pick<SourceSnapshots, "wanted">;
  readonly onChange: () => void;
}

/** Holds and releases that operators ask for, by the local API or by a command from the broker. */
export class HoldRequests {
  readonly #options: HoldRequestsOptions;

  constructor(options: HoldRequestsOptions) {
    this.#options = options;
  }

  /** `pod` undefined = the whole node. A release also gives what has failed another chance. Throws what the checkpoint throws. */
  change(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    const { holds, rollouts, written, onChange } = this.#options;
    const name = pod === undefined ? undefined : `${pod.namespace}/${pod.name}`;
    const desired = name === undefined ? undefined : written.wanted(name);
    const isOrdered = name !== undefined && verb === "release" && holds.isOrdered(name);
    if (name !== undefined && desired === undefined && !isOrdered) return { type: "NotFound" };
    if (desired !== undefined && !desired.source.startsWith("mqtt:"))
      return { type: "OfFile", file: manifestPath(desired.sourceRef) };
    if (verb === "hold") holds.hold(name);
    else {
      holds.release(name, desired);
      for (const one of name === undefined ? rollouts.names() : [name]) rollouts.release(one);
    }
    onChange();
    return { type: "Done" };
  }
}

/** The message for the local API and for the command alike. */
export function holdRefusal(
  outcome: Exclude<HoldOutcome, { type: "Done" }>,
  pod: NamedPod | undefined,
): string {
  const { namespace, name } = pod ?? { namespace: "", name: "" };
  if (outcome.type === "NotFound") return `pods "${name}" not found in namespace "${namespace}"`;
  return `pod ${namespace}/${name} is declared by ${outcome.file}: edits of a file are not held, and files never roll back`;
}
