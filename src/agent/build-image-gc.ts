// Performs: builds what collects images, from what this node runs and may have to run.

import type { AgentConfig } from "../config/config.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podName } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import type { ImageArchives } from "../image/archive/image-archives.ts";
import { ImageCollector } from "../image/gc/image-collector.ts";
import type { ImageUser } from "../image/gc/image-holds.ts";
import type { ImageUsage } from "../image/gc/image-usage.ts";
import { podImages } from "../image/gc/pod-images.ts";
import type { ImageOrders } from "../image/gc/image-orders.ts";
import type { Pods } from "../podworkers/pods.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { SyncLoop } from "./sync-loop.ts";

export interface ImageGCOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly usage: ImageUsage;
  readonly pods: Pods;
  readonly written: SourceSnapshots;
  readonly desired: DesiredPods;
  readonly rollouts: Pick<Rollouts, "goodImages">;
  readonly archives: Pick<ImageArchives, "images">;
  readonly loop: Pick<SyncLoop, "hasApplied">;
  readonly record: RecordEvent;
}

export function buildImageGC(options: ImageGCOptions): ImageCollector {
  const { edges, config, loop, written } = options;
  return new ImageCollector({
    ...options,
    ...edges,
    policy: config.imageGC,
    users: () => imageUsers(options),
    // After the loss of the database no image is this agent's, so also those of lost documents are none of its own.
    isSettled: () => loop.hasApplied && written.haveSpoken(edges.store.documents.synced()),
    sweep: (signal) => edges.archives.store.sweep(signal),
  });
}

/** What the local API may do with images. */
export function imageOrders(
  collector: ImageCollector,
  { pull, progress }: Pick<ImageOrders, "pull" | "progress">,
): ImageOrders {
  return {
    images: (signal) => collector.images(signal),
    list: (signal) => collector.list(signal),
    pull,
    progress,
    remove: (reference, options) => collector.remove(reference, options),
    isSettled: () => collector.isSettled,
    unused: (signal) => collector.unused(signal),
    prune: (signal) => collector.collectUnused(signal),
  };
}

/** As written also what waits: accepted updates, held pods, and pods for which the node has no room. */
function imageUsers(options: ImageGCOptions): readonly ImageUser[] {
  const { written, desired, pods, rollouts, archives } = options;
  const wanted = [
    ...written.snapshots().flatMap((snapshot) => snapshot.pods),
    ...desired.state.pods,
    ...pods.workers.desiredPods(),
  ];
  return [
    ...wanted.flatMap(usersOfPod),
    ...archives
      .images()
      .map(({ name, file }): ImageUser => ({ reference: name, why: "Archive", by: file })),
    ...rollouts
      .goodImages()
      .flatMap(({ name, references }) =>
        references.map((reference): ImageUser => ({ reference, why: "GoodRevision", by: name })),
      ),
    ...[...pods.cache.all().values()].flatMap(({ namespace, name, containers }) =>
      containers
        .flatMap(({ image, imageID }) => [image, imageID])
        .filter((reference) => reference !== "")
        .map((reference): ImageUser => ({
          reference,
          why: "Container",
          by: `${namespace}/${name}`,
        })),
    ),
  ];
}

function usersOfPod({ pod }: DesiredPod): readonly ImageUser[] {
  const by = podName(pod);
  return podImages(pod).map((reference) => ({ reference, why: "Pod", by }));
}
