// What performing an action needs beside the action itself, as the rooms above hand it in.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { NodeAllocatable } from "../../api/pod/downward.ts";
import type { LocalObjects } from "../../api/v1/object/local-object.ts";
import type { EventContent } from "../../api/v1/events.ts";
import type { ObservedPod } from "../../api/pod/observed-pod.ts";
import type { Pod, PodUID } from "../../api/v1/pod.ts";
import type { ContainerConfigInit, PodSandboxConfigInit } from "../../cri/cri-client.ts";
import type { EnvEntry } from "../cri-config/environment.ts";
import type { GracePeriod } from "../grace-period.ts";
import type { Container } from "../../api/v1/container.ts";

/** The image of a container, once it is here. */
export type EnsureImage = (
  pod: Pod,
  container: Container,
  signal: AbortSignal,
) => Promise<LocalImage>;

/** An image on this node and the user that it runs as; neither uid nor name = root. */
export interface LocalImage {
  /** What the runtime calls it. */
  readonly ref: string;
  readonly uid?: number;
  /** "" = the image names none, or a number. */
  readonly username: string;
}

/** How a pod becomes CRI's messages; the pure functions of this room with the node's facts filled in. */
export interface PodConfigs {
  sandbox(desired: DesiredPod, facts: SandboxBirth): PodSandboxConfigInit;
  /** Of the runtime's handlers the one that runs the pod; "" = the default one. Throws AgentError. */
  runtimeHandler(desired: DesiredPod): string;
  container(desired: DesiredPod, container: Container, facts: ContainerFacts): ContainerConfigInit;
  /** Before the sandbox is asked for: the pod's limits as a whole. Throws AgentError. */
  prepareCgroup(desired: DesiredPod): void;
  /** When the sandbox is there, before any container: the same where only the runtime can make cgroups. Throws AgentError. */
  settleCgroup(desired: DesiredPod): void;
  /** Directory of one container's logs. */
  containerLogDirectory(desired: DesiredPod, container: string): string;
  /** Where one instance's termination message lies on the host. */
  terminationLog(desired: DesiredPod, container: string, attempt: number): string;
  /** Where the file lies that is /etc/hosts in every container of the pod. */
  etcHosts(desired: DesiredPod): string;
}

/** What of the node a container's environment and files are made of; asked at each start. */
export interface RuntimeHelper {
  readonly nodeName: string;
  /** "" = none. */
  readonly clusterDomain: string;
  /** What a container without limits may take. */
  readonly allocatable: NodeAllocatable;
  /** The main one first; of a pod on the host's network they are the pod's own. */
  hostIPs(): readonly string[];
  /** Text of the node's own /etc/hosts; "" = it has none. */
  nodeHosts(): string;
  /** What this pod may read, as the sources have it by now. */
  objects(desired: DesiredPod): LocalObjects;
  /** `v1:<key>:<hmac>` of what a container reads. */
  configDigest(text: string): string;
  /** Whether the runtime can mount images as volumes. */
  mountsImages(): boolean;
  /** Brings volumes of which `starting` hears no news in line with what they show by now; what could not follow, as sentences. */
  refreshVolumes(pod: Pod, starting: Container): readonly string[];
  /** The host path to mount for a part of a volume, held fast against links out of it. Throws AgentError. */
  prepareSubPath(pod: Pod, part: SubPath): string;
}

/** A part of a volume that a container mounts. */
export interface SubPath {
  readonly uid: PodUID;
  readonly container: string;
  /** In volumeMounts. */
  readonly index: number;
  readonly volumeName: string;
  /** On the host. */
  readonly volumePath: string;
  /** Relative, without "..". */
  readonly subPath: string;
}

export interface SandboxBirth {
  readonly attempt: number;
  /** When the pod began in this boot. */
  readonly activeSince: number;
}

export interface ContainerFacts {
  readonly attempt: number;
  readonly image: LocalImage;
  /** Volume name → path on the host. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly terminationLog: string;
  readonly env: readonly EnvEntry[];
  /** Volume name → what the runtime calls the image in it. */
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** Index in volumeMounts → path on the host, for mounts of a part of their volume. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** The file that becomes /etc/hosts; absent = whatever the runtime puts there. */
  readonly etcHosts?: string;
  /** Of what it reads from ConfigMaps and Secrets and learns no news of; absent = nothing. */
  readonly configDigest?: string;
}

export interface SandboxRef {
  readonly id: string;
  readonly attempt: number;
  readonly activeSince: number;
  /** Of the pod, none on the host's network; asked of the runtime once where this process has just made it. */
  readonly ips: () => Promise<readonly string[]>;
  /** What it was made from, where this process made it. */
  readonly config?: PodSandboxConfigInit;
}

/** Everything that a container is made of, before the runtime is asked for it. */
export interface ContainerDraft {
  readonly container: Container;
  readonly attempt: number;
  readonly config: ContainerConfigInit;
  /** To be said when it is used. */
  readonly said: readonly EventContent[];
  /** The hosts file has yet to get the pod's address. */
  readonly needsAddress: boolean;
}

/** Container name → its image, as soon as it is here. */
export type ImageRefs = ReadonlyMap<string, Promise<LocalImage>>;

/** The images of a container, once they are here. */
export interface ContainerImages {
  readonly image: LocalImage;
  /** Volume name → what the runtime calls the image in it. */
  readonly imageVolumes: ReadonlyMap<string, string>;
}

/** A start that began before there was a sandbox. */
export interface EarlyStart {
  readonly images: Promise<ContainerImages>;
  /** undefined = it cannot be made yet. */
  readonly draft: ContainerDraft | undefined;
}

/** Container name → what of its start is done; undefined = nothing. */
export type EarlyStarts = ReadonlyMap<string, Promise<EarlyStart | undefined>>;

/** What an action needs beside itself. */
export interface ActionInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly sandbox: SandboxRef | undefined;
  readonly activeSince: number;
  readonly volumes: ReadonlyMap<string, string>;
  /** By container, where fetching has begun already. */
  readonly images: ImageRefs;
  /** By container, where that began before there was a sandbox. */
  readonly early?: EarlyStarts;
  /** Lowest attempts that no unanswered call can have taken; raised here when a name turns out reserved. */
  readonly reserved: ReservedAttempts;
  /** Ends waiting, pulling and hooks; never a call that changes something. */
  readonly signal: AbortSignal;
  /** A grace period of so many seconds that an order to end the pod may shorten. */
  readonly grace: (seconds: number) => GracePeriod;
  /** A postStart hook begins: it may take its time. */
  readonly onHook: () => void;
  readonly onHookFailed: (containerId: string) => void;
}

export interface ReservedAttempts {
  sandbox: number;
  readonly containers: Map<string, number>;
}
