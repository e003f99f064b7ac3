// Performs: what the sync loop does with the rooms.

import type { SourceName } from "../api/pod/labels.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { EventRecorder } from "../node/event-recorder.ts";
import type { NotAdmitted } from "../node/not-admitted.ts";
import { documentHand, type Hand } from "../store/start-guard/hand.ts";
import type { Held, StartGuard } from "../store/start-guard/start-guard.ts";
import type { Store } from "../store/store.ts";
import type { UpstreamPort } from "../upstream/upstream.ts";
import type { NodeDesiredState } from "./build-desired-state.ts";
import type { PodRunner } from "./build-pods.ts";
import type { SyncHandler } from "./sync-loop.ts";

interface SyncedRooms {
  readonly state: NodeDesiredState;
  readonly runner: PodRunner;
  readonly events: EventRecorder;
  readonly notAdmitted: NotAdmitted;
  readonly upstream: UpstreamPort;
  readonly guard: StartGuard;
}

export function syncHandler(rooms: SyncedRooms): SyncHandler {
  const { state, runner, events, notAdmitted, upstream, guard } = rooms;
  const { written, desired } = state;
  const { workers } = runner;
  /** Of documents that were not applied yet, by source. */
  const adopted = new Map<SourceName, Hand>();
  return {
    onSnapshot: (snapshot) => {
      const { source, document } = snapshot;
      adopted.delete(source);
      const { digest } = document ?? {};
      if (digest !== undefined) adopted.set(source, documentHand(source, digest));
      using _ = holdAll(guard, adopted);
      desired.setSnapshot(snapshot);
      upstream.changed();
    },
    mayApply: () => written.sourcesReady(),
    apply: (isMerged) => {
      using held = holdAll(guard, adopted);
      const hasStepped = state.runs.reconcile(written.snapshots());
      const merged = isMerged && !hasStepped ? desired.state : desired.merge();
      events.rejected(merged.rejected);
      notAdmitted.set(merged.notAdmitted);
      workers.apply(merged);
      runner.hosts.changed();
      held.settle();
      adopted.clear();
      upstream.changed();
    },
    notify: (uid: PodUID) => workers.notify(uid),
    review: () => desired.review(),
  };
}

/** undefined = it is not known: the database was lost, so that each source has to send a document. */
export function documentsHad({
  knowsAllPods,
  documents,
}: Store): readonly SourceName[] | undefined {
  return knowsAllPods ? documents.synced() : undefined;
}

function holdAll(guard: StartGuard, hands: ReadonlyMap<SourceName, Hand>): Held {
  const held = [...hands.values()].map((hand) => guard.hold(hand));
  return {
    settle: () => held.forEach((one) => one.settle()),
    [Symbol.dispose]: () => held.forEach((one) => one[Symbol.dispose]()),
  };
}
