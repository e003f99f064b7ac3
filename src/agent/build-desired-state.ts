// Performs: builds what this node shall run, in the order of dependence: what the sources write, how updates of it are
// judged, and the merge of both.

import type { Edges } from "../edges.ts";
import { ImageLedger } from "../image/pull-results.ts";
import { ImagesHere } from "../image/images-here.ts";
import { Prefetch } from "../image/prefetch.ts";
import { nodeIdentity, nodeInfo, type NodeFactsOptions } from "../node/node-facts.ts";
import type { ShutdownState } from "../node/shutdown/shutdown-state.ts";
import { admissionRanks, takesNoRoom, type Pods } from "../podworkers/pods.ts";
import { Rollouts, type RolloutsOptions } from "../rollout/rollouts.ts";
import { HoldRequests, UpdateHolds } from "../rollout/update-holds.ts";
import { DesiredPods } from "../source/desired-pods.ts";
import { Requests } from "../source/admission/room.ts";
import { readersOf } from "../source/object-readers.ts";
import { outcomeOf } from "../source/workload/pod-outcome.ts";
import { RunController } from "../source/workload/run-controller.ts";
import { SourceSnapshots } from "../source/source-snapshots.ts";
import type { UpstreamPort } from "../upstream/upstream.ts";
import type { NodePressure } from "./build-eviction.ts";
import { hasManifestUrl } from "./build-manifest-url.ts";
import type { SyncLoop } from "./sync-loop.ts";

interface DesiredStateOptions
  extends Required<NodeFactsOptions>, Pick<RolloutsOptions, "record" | "redact"> {
  readonly edges: Edges;
  readonly pods: Pods;
  readonly upstream: UpstreamPort;
  readonly loop: Pick<SyncLoop, "podChanged" | "review" | "roomChanged">;
  readonly pressure: Pick<NodePressure, "current" | "evicted">;
  readonly shutdown: ShutdownState;
}

export interface NodeDesiredState {
  readonly written: SourceSnapshots;
  readonly desired: DesiredPods;
  readonly rollouts: Rollouts;
  readonly runs: RunController;
  readonly holds: HoldRequests;
  readonly images: ImageLedger;
  readonly prefetch: Prefetch;
  readonly imagesHere: ImagesHere;
}

export function buildDesiredState(options: DesiredStateOptions): NodeDesiredState {
  const { edges, config, pods, upstream, loop, fleet } = options;
  const written = new SourceSnapshots({
    sources: [
      ...(config.mqtt === undefined ? [] : (["mqtt:node"] as const)),
      ...(hasManifestUrl(options) ? (["http"] as const) : []),
      "file",
    ],
    node: () => nodeIdentity(options),
  });
  const images = new ImageLedger(() => edges.clock.monotonic(), upstream.changed);
  const imagesHere = new ImagesHere({ ...edges, onChange: loop.review });
  const holds = new UpdateHolds({
    ...edges,
    ...config,
    rows: edges.store.holds,
    pods,
    areImagesHere: (wanted) => imagesHere.areHere(wanted),
  });
  const prefetch = new Prefetch({ ...edges, onFetched: loop.review });
  const rollouts = new Rollouts({
    ...options,
    images,
    written,
    upstream: upstream.facts,
    holds,
    prefetch,
    refusalOf: (uid) => desired.state.notAdmitted.find((one) => one.desired.uid === uid)?.why,
    onDue: loop.review,
  });
  const requests = new Requests();
  const runs = new RunController({
    edges,
    record: options.record,
    outcomeOf: (uid) => outcomeOf(pods.statuses.status(uid)),
    isThere: (uid) => pods.cache.get(uid) !== undefined || pods.statuses.isOver(uid),
    onDue: loop.roomChanged,
  });
  const desired = new DesiredPods({
    written,
    mergeOptions: () => ({
      node: { ...nodeInfo(options), pressure: options.pressure.current.get() },
      evicted: (uid) => options.pressure.evicted.message(uid),
      shutdown: options.shutdown,
      admissionRank: admissionRanks(pods, edges.store.removals.all()),
      occupants: pods.workers.desiredPods(),
      requests,
      isOver: (uid) => takesNoRoom(pods, uid),
      groupPriorities: new Map(fleet().groups.map((one) => [one.name, one.priority])),
    }),
    rollouts,
    expand: (snapshot) => runs.expand(snapshot),
    onObjectsChanged: (changed) => {
      for (const uid of readersOf(pods.workers.desiredPods(), changed)) loop.podChanged(uid);
    },
    onPodChanged: loop.podChanged,
    onReviewed: upstream.changed,
  });
  const holdRequests = new HoldRequests({ holds, rollouts, written, onChange: loop.review });
  return { written, desired, rollouts, runs, holds: holdRequests, images, prefetch, imagesHere };
}
