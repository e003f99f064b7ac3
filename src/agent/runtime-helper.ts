// Performs: fills the node's facts into what a starting container finds, and into what a running one follows.

import type { NodeAllocatable } from "../api/pod/downward.ts";
import type { PodObjects } from "../podworkers/config-changes.ts";
import type { ContainerWorld } from "../runtime/decide/action-input.ts";
import { configDigests } from "../runtime/decide/config-digests.ts";
import type { DesiredPods } from "./desired-pods.ts";
import type { Edges } from "../edges.ts";
import { nodeFacts, type NodeFactsOptions } from "../node/node-facts.ts";

export interface ContainerWorldOptions
  extends
    NodeFactsOptions,
    Pick<
      ContainerWorld,
      "allocatable" | "hostIPs" | "mountsImages" | "prepareSubPath" | "refreshVolumes"
    > {
  readonly edges: Edges;
  readonly desired: DesiredPods;
}

const ETC_HOSTS = "/etc/hosts";
const ETC_HOSTS_BYTES = 1024 * 1024;

export function containerWorld(options: ContainerWorldOptions): ContainerWorld {
  const { edges, config, nodeName, desired, allocatable } = options;
  const { hostIPs, mountsImages, prepareSubPath, refreshVolumes } = options;
  const { files, store } = edges;
  return {
    nodeName,
    clusterDomain: config.clusterDomain,
    allocatable,
    hostIPs,
    nodeHosts: () =>
      files.target(ETC_HOSTS) === undefined
        ? ""
        : new TextDecoder().decode(files.readFollowing(ETC_HOSTS, ETC_HOSTS_BYTES)),
    objects: (pod) => desired.objectsFor(pod),
    configDigest: (text) => store.secrets.configDigest(text),
    mountsImages,
    refreshVolumes,
    prepareSubPath,
  };
}

export interface PodObjectsOptions extends Pick<PodObjects, "refreshVolumes"> {
  readonly edges: Pick<Edges, "store">;
  readonly desired: DesiredPods;
}

export function podObjects({ edges, desired, refreshVolumes }: PodObjectsOptions): PodObjects {
  const { secrets } = edges.store;
  return {
    version: () => desired.objectVersion,
    refreshVolumes,
    digests: (wanted) =>
      configDigests(wanted.pod, {
        objects: desired.objectsFor(wanted),
        isSettled: desired.isSettledFor(wanted.source),
        digest: (text) => secrets.configDigest(text),
      }),
  };
}

/** What a container without a limit of its own may take. */
export function nodeAllocatable(options: NodeFactsOptions): NodeAllocatable {
  const { allocatable } = nodeFacts(options);
  const milli = (resource: string): number => Number(allocatable.get(resource) ?? 0n);
  const storage = milli("ephemeral-storage");
  return {
    cpuMillis: milli("cpu"),
    memoryBytes: milli("memory") / 1000,
    ...(storage === 0 ? {} : { ephemeralStorageBytes: storage / 1000 }),
  };
}
