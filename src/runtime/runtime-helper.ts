// Performs: provides the node's facts to starting containers: objects, addresses, volumes. kubelet: RuntimeHelper

import type { AgentConfig } from "../config/config.ts";
import type { NodeAllocatable } from "../api/pod/downward.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { allocatableOf } from "./cgroup/node-allocatable.ts";
import type { RuntimeFeatures } from "./cri-config/features.ts";
import type { SubPath } from "../api/v1/volume-mounts.ts";
import type { Container } from "../api/v1/container.ts";

export interface RuntimeHelperOptions {
  readonly edges: Pick<Edges, "files" | "store">;
  readonly config: Pick<AgentConfig, "clusterDomain">;
  readonly nodeName: string;
  readonly allocatable: NodeAllocatable;
  readonly addresses: { hostIPs(): readonly string[] };
  readonly desired: { objectsFor(pod: DesiredPod): LocalObjects };
  readonly runtime: { readonly features: RuntimeFeatures };
  readonly volumes: {
    refresh(pod: Pod, starting: Container): { readonly problems: readonly string[] };
    prepareSubPath(pod: Pod, part: SubPath, signal: AbortSignal): string | Promise<string>;
  };
}

const ETC_HOSTS = "/etc/hosts";
const ETC_HOSTS_BYTES = 1024 * 1024;

export type RuntimeHelper = ReturnType<typeof runtimeHelper>;

export function runtimeHelper(options: RuntimeHelperOptions) {
  const { edges, config, nodeName, allocatable, addresses, desired, runtime, volumes } = options;
  const { files, store } = edges;
  return {
    nodeName,
    /** "" = none. */
    clusterDomain: config.clusterDomain,
    /** The limits of a container without its own. */
    allocatable,
    /** The primary address first; also the addresses of a pod with hostNetwork. */
    hostIPs: () => addresses.hostIPs(),
    /** Text of the node's own /etc/hosts; "" = none. */
    nodeHosts: () =>
      files.target(ETC_HOSTS) === undefined
        ? ""
        : new TextDecoder().decode(files.readFollowing(ETC_HOSTS, ETC_HOSTS_BYTES)),
    /** The current ConfigMaps and Secrets that this pod may read. */
    objects: (pod: DesiredPod) => desired.objectsFor(pod),
    /** `v1:<key>:<hmac>` of what a container reads. */
    configDigest: (text: string) => store.secrets.configDigest(text),
    /** Whether the runtime can mount images as volumes. */
    mountsImages: () => runtime.features.imageVolumes,
    /** Brings volumes whose changes `starting` would not see (subPath) up to date; returns the problems as sentences. */
    refreshVolumes: (pod: Pod, starting: Container) => volumes.refresh(pod, starting).problems,
    /**
     * The host path to mount for a part of a volume, protected against symbolic links out of it; a promise where its
     * file system may hang. Throws AgentError.
     */
    prepareSubPath: (pod: Pod, part: SubPath, signal: AbortSignal) =>
      volumes.prepareSubPath(pod, part, signal),
  };
}

/** What a container without limits of its own may use. */
export function nodeAllocatable(
  edges: Pick<Edges, "machine">,
  config: AgentConfig,
): NodeAllocatable {
  const allocatable = allocatableOf(edges, config);
  const milli = (resource: string): number => Number(allocatable.get(resource) ?? 0n);
  const storage = milli("ephemeral-storage");
  return {
    cpuMillis: milli("cpu"),
    memoryBytes: milli("memory") / 1000,
    ...(storage === 0 ? {} : { ephemeralStorageBytes: storage / 1000 }),
  };
}
