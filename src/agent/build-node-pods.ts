// Performs: builds what runs the pods of this node from the node's facts: its runtime, images, volumes and objects.

import type { AgentConfig } from "../config/config.ts";
import { NO_OBJECTS, type LocalObjects } from "../api/v1/object/local-object.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { imageEnsurer } from "../image/ensure-image.ts";
import type { ImageLedger } from "../image/image-ledger.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import { podObjects } from "../podworkers/config-changes.ts";
import { MissingDevices } from "../podworkers/missing-devices.ts";
import { activePods, type Pods } from "../podworkers/pods.ts";
import { requireConfig } from "../podworkers/required-config.ts";
import type { Rollouts } from "../rollout/rollouts.ts";
import { podConfigs, type NodePodConfigs } from "../runtime/pod-configs.ts";
import { nodeAllocatable, runtimeHelper } from "../runtime/runtime-helper.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import type { WrittenPods } from "../source/written-pods.ts";
import { hostPathError, isOfDocument } from "../source/policy/host-path-reach.ts";
import { Volumes } from "../volume/mount-volumes.ts";
import { downwardFiles } from "../volume/projection.ts";
import { buildPods, type PodRunner, type PodsOptions } from "./build-pods.ts";

interface NodePodsOptions extends Pick<
  PodsOptions,
  "addresses" | "lifecycle" | "record" | "onPodChanged" | "onPodGone" | "onStatusChanged" | "signal"
> {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly pods: Pods;
  readonly written: WrittenPods;
  readonly desired: DesiredPods;
  readonly images: ImageLedger;
  readonly rollouts: Pick<Rollouts, "imageOf" | "isHeld">;
  readonly runtime: RuntimeWatch;
}

export function buildNodePods(options: NodePodsOptions): PodRunner {
  const { edges, config, nodeName, pods, desired, rollouts, runtime, signal } = options;
  const { cache, workers } = pods;
  const objects = (pod: Pod): LocalObjects => objectsOf(pod, options);
  const allocatable = nodeAllocatable(edges, config);
  const judge = hostPathError(edges.files, config);
  const volumes = new Volumes({
    ...edges,
    ...config,
    memoryBytes: allocatable.memoryBytes,
    objects,
    renderDownward: downwardFiles(nodeName, allocatable),
    hostPathError: (pod) => (isOfDocument(knownAs(pod, options)) ? judge : undefined),
  });
  const devices = new MissingDevices({ ...edges, desired, workers });
  signal.addEventListener("abort", () => devices[Symbol.dispose](), { once: true });
  const configs = podConfigs({
    ...options,
    devices,
    observed: () => cache.all().values(),
    activePods: () => activePods(pods),
  });
  return buildPods({
    ...options,
    configs: checkingPaths(configs, volumes),
    ensureImage: imageEnsurer({
      ...options,
      objects,
      pinned: (uid, container) => rollouts.imageOf(uid, container),
      ledger: options.images,
    }),
    helper: runtimeHelper({ ...options, allocatable, volumes }),
    objects: podObjects({ edges, desired, written: options.written, volumes }),
    volumes,
    network: runtime,
    isHeld: (pod) => rollouts.isHeld(pod),
    requireConfig: (wanted) => {
      const facts = { objects: desired.objectsFor(wanted), allocatable, nodeName, volumes };
      requireConfig(wanted.pod, facts);
    },
  });
}

/** A volume's path is checked again right before a container mounts it. */
function checkingPaths(configs: NodePodConfigs, volumes: Volumes): NodePodConfigs {
  return {
    ...configs,
    container: (wanted, container, found) => {
      volumes.checkPaths(wanted.pod, found.volumes);
      return configs.container(wanted, container, found);
    },
  };
}

type Known = Pick<NodePodsOptions, "desired" | "pods">;

/** What the pod may use; of a pod that no source asks for any more, nothing. */
function objectsOf(pod: Pod, known: Known): LocalObjects {
  const [reader] = knownAs(pod, known);
  return reader === undefined ? NO_OBJECTS : known.desired.objectsFor(reader);
}

/** What is desired first, then what runs. */
function knownAs({ metadata: { uid } }: Pod, { desired, pods }: Known): readonly DesiredPod[] {
  const all = [...desired.state.pods, ...pods.workers.desiredPods()];
  return all.filter((one) => one.uid === uid);
}
