// Performs: removes a pod: stop, remove from the runtime, clean up, delete its rows. Each step may be the last before a
// power failure, and is harmless to repeat. kubelet: syncTerminatingPod, syncTerminatedPod

import type { Edges } from "../edges.ts";
import type { DesiredPod, Removal } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { allContainers, type PodUID } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { GracePeriod } from "../runtime/grace-period.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import { removePod, type PodKiller } from "../runtime/kill-pod.ts";
import type { Store } from "../store/store.ts";
import type { Volumes } from "../volume/volume-manager.ts";
import { nameOf } from "./plan-workers.ts";
import type { PodCleanup } from "./pod-cleanup.ts";
import type { StatusPublisher } from "./publish-status.ts";
import { removalHand } from "../store/start-guard/hand.ts";
import type { WorkGuard } from "../store/start-guard/start-guard.ts";

export interface PodTerminatorOptions extends Pick<Edges, "clock" | "log" | "cri"> {
  readonly killer: PodKiller;
  readonly lifecycle: Pick<PodLifecycle, "look">;
  readonly volumes: Pick<Volumes, "emptyLargeVolumes">;
  readonly cleanup: Pick<PodCleanup, "cleanUp">;
  readonly store: Pick<Store, "failures" | "killed" | "removals">;
  readonly publisher: Pick<StatusPublisher, "publishTerminating">;
  readonly guard: WorkGuard;
}

export interface Ending {
  readonly removal: Removal;
  /** Called at the end: a pod that is replaced may be deleted while it stops. */
  readonly why: () => Removal["why"];
  readonly desired: DesiredPod | undefined;
  /** May become shorter while the pod stops. */
  readonly grace: GracePeriod;
}

/** A sandbox that cannot be stopped although nothing runs in it holds up its successor no longer than this. */
const STUCK_NETWORK_MS = 60_000;

export class PodTerminator {
  readonly #options: PodTerminatorOptions;
  /** When a pod with nothing running first failed to stop. */
  readonly #stuckSince = new Map<PodUID, Monotonic>();

  constructor(options: PodTerminatorOptions) {
    this.#options = options;
  }

  /** Resolves when nothing is left; `gone` is called as soon as a successor may start. Rejects = not yet, call again. */
  async terminate(ending: Ending, gone: () => void): Promise<void> {
    const { cri, lifecycle, log, publisher, store } = this.#options;
    const { removal, desired } = ending;
    const pod = nameOf(removal);
    const observed = await lifecycle.look(removal.uid);
    if (desired !== undefined) publisher.publishTerminating(desired);
    if (observed !== undefined) {
      log.info("StopPod", { pod, uid: removal.uid, why: removal.why });
      await this.#stop(observed, ending, gone);
      gone();
      await removePod(cri, observed);
      // A call whose answer was lost may have created something meanwhile: finished only when the runtime has nothing.
      if ((await lifecycle.look(removal.uid)) !== undefined)
        throw new Error("the runtime still shows something of the pod");
    }
    this.#stuckSince.delete(removal.uid);
    await this.#cleanUp(ending, gone);
    store.failures.forget(removal.uid);
    store.killed.forget(removal.uid);
    // The removal's row is deleted last: from then on the UID may start again.
    store.removals.settle(removal.uid);
    gone();
    log.info("PodRemoved", { pod, uid: removal.uid, why: removal.why });
  }

  /** A clean-up that has ended the agent twice waits (start-guard); a successor of another UID does not. */
  async #cleanUp({ removal, why }: Ending, gone: () => void): Promise<void> {
    const { clock, volumes, cleanup, guard } = this.#options;
    const hand = removalHand(removal);
    if (guard.waits(hand) !== undefined) {
      gone();
      await guard.free(hand);
    }
    using held = guard.hold(hand);
    // In steps, between which other pods are synced.
    for (const _ of volumes.emptyLargeVolumes(removal.uid)) await clock.sleep(0);
    cleanup.cleanUp({ ...removal, why: why() });
    held.settle();
  }

  async #stop(observed: ObservedPod, { desired, grace }: Ending, gone: () => void): Promise<void> {
    const { killer, clock, log, lifecycle } = this.#options;
    try {
      await killer.stopPod(observed, { pod: desired?.pod, grace });
    } catch (error) {
      const after = await lifecycle.look(observed.uid);
      if (after?.containers.some(({ state }) => state === "Running") === true) throw error;
      const now = clock.monotonic();
      const since = this.#stuckSince.get(observed.uid) ?? now;
      this.#stuckSince.set(observed.uid, since);
      if (now - since >= STUCK_NETWORK_MS && !holdsHostPorts(desired)) {
        log.warn("sandbox cannot be stopped; nothing runs in it, the next pod may start", {
          pod: nameOf(observed),
        });
        gone();
      }
      throw error;
    }
  }
}

/** Unknown = yes: its port mappings may still be in the kernel. */
function holdsHostPorts(desired: DesiredPod | undefined): boolean {
  return (
    desired === undefined ||
    allContainers(desired.pod.spec).some(({ ports }) =>
      ports.some(({ hostPort }) => hostPort !== undefined),
    )
  );
}
