// Performs: gives this node to the rooms that run pods: its runtime, images, volumes and objects.

import { NO_OBJECTS, type LocalObjects } from "../api/v1/local-object.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { CgroupDriver } from "../runtime/cgroup/cgroup-parent.ts";
import type { RuntimeFeatures } from "../runtime/cri-config/features.ts";
import { nodeAllocatable, runtimeHelper } from "../runtime/runtime-helper.ts";
import { podObjects } from "../podworkers/config-changes.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import { imageEnsurer } from "../image/ensure-image.ts";
import type { ImageLedger } from "../image/image-ledger.ts";
import { hostPathError, isOfDocument } from "../source/policy/host-path-reach.ts";
import { MissingDevices } from "../podworkers/missing-devices.ts";
import { activePods } from "../node/node-facts.ts";
import { podConfigs } from "../runtime/pod-configs.ts";
import { PodVolumes } from "../volume/pod-volumes.ts";
import { requireConfig } from "../podworkers/required-config.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import { buildPods, type PodsOptions } from "./pods.ts";
import type { Pods } from "../podworkers/pods.ts";

export interface NodePodsOptions extends Pick<
  PodsOptions,
  | "edges"
  | "config"
  | "events"
  | "record"
  | "requireNetwork"
  | "hostIPs"
  | "onPodChanged"
  | "onPodGone"
  | "onStatusChanged"
  | "signal"
> {
  readonly nodeName: string;
  readonly desired: DesiredPods;
  readonly images: ImageLedger;
  readonly rollouts: Pick<Rollouts, "imageOf" | "isHeld">;
  /** Known once the runtime has answered, which is before the first pod is made. */
  readonly cgroupDriver: () => CgroupDriver;
  /** Likewise. */
  readonly features: () => RuntimeFeatures;
}

export function buildNodePods(options: NodePodsOptions): Pods {
  const { edges, config, nodeName, desired, record, features, signal } = options;
  const objects = (pod: Pod): LocalObjects => objectsOf(pod, desired, pods);
  const allocatable = nodeAllocatable(edges, config);
  const judge = hostPathError(edges.files, config);
  const volumes = new PodVolumes({
    edges,
    config,
    nodeName,
    allocatable,
    objects,
    hostPathError: (pod) => (isOfDocument(knownAs(pod, desired, pods)) ? judge : undefined),
  });
  const missing = new MissingDevices({
    ...edges,
    pods: () => desired.state.pods,
    onFound: (uid) => pods.workers.notify(uid),
  });
  signal.addEventListener("abort", () => missing[Symbol.dispose](), { once: true });
  const configs = podConfigs({
    ...options,
    isDevice: (path) => missing.has(path),
    observed: () => pods.cache.all().values(),
    activePods: () => activePods(pods),
  });
  const pods: Pods = buildPods({
    ...options,
    configs: {
      ...configs,
      container: (wanted, container, found) => {
        volumes.checkPaths(wanted.pod, found.volumes);
        return configs.container(wanted, container, found);
      },
    },
    ensureImage: imageEnsurer({
      edges,
      record,
      objects,
      pinned: (uid, container) => options.rollouts.imageOf(uid, container),
      ledger: options.images,
    }),
    world: runtimeHelper({
      ...options,
      allocatable,
      addresses: { hostIPs: () => options.hostIPs() },
      runtime: {
        get features() {
          return features();
        },
      },
      volumes,
    }),
    objects: podObjects({ edges, desired, volumes }),
    isHeld: (pod) => options.rollouts.isHeld(pod),
    requireConfig: (wanted) => {
      const checkVolumes = (pod: Pod): void => volumes.check(pod);
      const own = { objects: desired.objectsFor(wanted), allocatable, nodeName, checkVolumes };
      requireConfig(wanted.pod, own);
    },
    shareLargeClaims: (pod) => volumes.shareLargeClaims(pod),
    checkVolumes: (pod) => volumes.check(pod),
    setUpVolumes: (pod) => volumes.setUp(pod),
    emptyLargeVolumes: (uid) => volumes.emptyLargeVolumes(uid),
    tearDownVolumes: (uid) => volumes.tearDown(uid),
    removeCgroup: (uid) => configs.removeCgroup(uid),
    rejected: () => desired.state.rejected,
  });
  return pods;
}

/** What the pod may use; of a pod that nobody asks for any more, nothing. */
function objectsOf(pod: Pod, desired: DesiredPods, pods: Pods): LocalObjects {
  const [reader] = knownAs(pod, desired, pods);
  return reader === undefined ? NO_OBJECTS : desired.objectsFor(reader);
}

/** What is wanted first, then what runs. */
function knownAs(
  { metadata: { uid } }: Pod,
  desired: DesiredPods,
  pods: Pods,
): readonly DesiredPod[] {
  const all = [...desired.state.pods, ...pods.workers.all().map((entry) => entry.desired)];
  return all.filter((one) => one.uid === uid);
}
