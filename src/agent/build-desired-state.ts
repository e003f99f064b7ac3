// Performs: wires what the sources ask for to what the node knows: their merge, and how updates of documents stand.

import type { AgentConfig } from "../config/config.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import type { SourceName } from "../api/pod/desired-pod.ts";
import { NO_FLEET_FACTS, type FleetFacts } from "../protocol/groups.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { MqttSource } from "../source/document/mqtt-source.ts";
import type { UpstreamFacts } from "../rollout/trial-facts.ts";
import { DesiredPods } from "../source/desired-pods.ts";
import type { Edges } from "../edges.ts";
import { ImageLedger } from "../image/image-ledger.ts";
import { admissionTo, nodeIdentity } from "../node/node-facts.ts";
import { readersOf } from "../source/object-changes.ts";
import { Prefetch } from "../image/prefetch.ts";
import { Rollouts } from "../rollout/rollouts.ts";
import { HoldRequests, UpdateHolds } from "../rollout/update-holds.ts";
import { UpdateLocks } from "../rollout/update-locks.ts";
import type { FetchImages } from "../podworkers/pod-replacement.ts";
import { admissionRank, type Pods } from "../podworkers/pods.ts";

export interface DesiredSideOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly documents: () => Pick<MqttSource, "fleet"> | undefined;
  readonly record: RecordEvent;
  /** A text of a pod's own as it may leave the node. */
  readonly redact: (text: string) => string;
  readonly pods: Pods;
  readonly fetchImages: FetchImages;
  readonly upstream: () => UpstreamFacts | undefined;
  /** What this pod finds has changed. */
  readonly onPodChanged: (uid: PodUID) => void;
  /** Updates are to be looked at again. */
  readonly onReview: () => void;
  /** They were looked at: how they stand may be news. */
  readonly onReviewed: () => void;
}

export interface DesiredSide {
  readonly desired: DesiredPods;
  readonly rollouts: Rollouts;
  readonly images: ImageLedger;
  readonly door: HoldRequests;
  /** What the node is to the fleet by now. */
  readonly fleet: () => FleetFacts;
  /** Whether this generation of a source was judged and has failed. */
  readonly hasFailed: (source: SourceName, generation: number) => boolean;
  /** Every local source has said something, be it that it knows nothing: before that, precedence is a guess. */
  readonly haveAllSpoken: () => boolean;
}

const OFFLINE: UpstreamFacts = { isConnected: false, reachedAt: undefined };

export function buildDesiredSide(options: DesiredSideOptions): DesiredSide {
  const { edges, config, nodeName, record, redact, pods, upstream } = options;
  const { onPodChanged, onReview } = options;
  const images = new ImageLedger(() => edges.clock.monotonic());
  const fleet = (): FleetFacts => options.documents()?.fleet() ?? NO_FLEET_FACTS;
  const node = { edges, config, nodeName, fleet };
  const haveAllSpoken = (): boolean =>
    (config.mqtt === undefined || desired.hasHeard("mqtt:node")) && desired.hasHeard("file");
  const holds = buildHolds(options);
  const prefetch = new Prefetch({
    ...edges,
    fetchImages: options.fetchImages,
    onFetched: onReview,
  });
  const rollouts: Rollouts = new Rollouts({
    edges,
    nodeName,
    record,
    redact,
    pods,
    images,
    view: {
      objectsFor: (pod) => desired.written.objectsFor(pod),
      late: (pod) => desired.written.late(pod),
      isShadowed: (pod) => desired.written.isShadowed(pod),
    },
    upstream: () => upstream() ?? OFFLINE,
    holds,
    prefetch,
    onDue: onReview,
  });
  const desired: DesiredPods = new DesiredPods({
    maxPods: config.maxPods,
    admissionRank: (pod) => admissionRank(pods, pod),
    occupants: () => pods.workers.all().map((entry) => entry.desired),
    admission: admissionTo(node, (uid) => pods.statuses.isOver(uid)),
    node: () => nodeIdentity(node),
    groupPriorities: () => new Map(fleet().groups.map((one) => [one.name, one.priority])),
    onObjectsChanged: (changed) => {
      const all = pods.workers.all().map((entry) => entry.desired);
      for (const uid of readersOf(all, changed)) onPodChanged(uid);
    },
    rollouts: {
      hear: (snapshot) => rollouts.setSnapshot(snapshot),
      review: () => {
        const repinned = rollouts.review();
        options.onReviewed();
        return repinned;
      },
      effective: (snapshot) => rollouts.effective(snapshot),
      objectsOf: (pod) => rollouts.objectsOf(pod),
      mayReview: haveAllSpoken,
      onRepinned: (uids) => {
        for (const uid of uids) onPodChanged(uid);
      },
    },
  });
  const door = new HoldRequests({
    holds,
    rollouts,
    wanted: (name) => desired.wanted(name),
    onChange: onReview,
  });
  const hasFailed: DesiredSide["hasFailed"] = (source, generation) =>
    rollouts.hasFailed(source, generation);
  return { desired, rollouts, images, door, fleet, hasFailed, haveAllSpoken };
}

function buildHolds({ edges, config, pods }: DesiredSideOptions): UpdateHolds {
  const { clock, files, store } = edges;
  return new UpdateHolds({
    clock,
    rows: store.holds,
    locks: new UpdateLocks({
      clock,
      files,
      stateDir: config.stateDir,
      observed: (uid) => pods.cache.get(uid),
    }),
    running: (name) =>
      pods.workers.entries().find((entry) => podName(entry.desired.pod) === name)?.desired,
  });
}
