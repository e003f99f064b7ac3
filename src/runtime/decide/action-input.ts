// The inputs of performing an action, and the interfaces to the rooms above that provide them.

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

/** Resolves when the image of a container is on this node. */
export type EnsureImage = (
  pod: Pod,
  container: Container,
  signal: AbortSignal,
) => Promise<LocalImage>;

/** An image on this node and its user; neither uid nor name = root. */
export interface LocalImage {
  /** The runtime's reference. */
  readonly ref: string;
  readonly uid?: number;
  /** "" = none, or `uid` is set. */
  readonly username: string;
}

/** Makes CRI's messages of pods: the pure functions of cri-config/ with the node's facts. */
export interface PodConfigs {
  sandbox(desired: DesiredPod, facts: SandboxAttempt): PodSandboxConfigInit;
  /** The runtime handler that runs the pod; "" = the default. Throws AgentError. */
  runtimeHandler(desired: DesiredPod): string;
  container(desired: DesiredPod, container: Container, facts: ContainerFacts): ContainerConfigInit;
  /** Called before the sandbox is created: sets the limits of the pod as a whole. Throws AgentError. */
  prepareCgroup(desired: DesiredPod): void;
  /** Called after the sandbox, before any container: the same where only the runtime can create cgroups. Throws AgentError. */
  settleCgroup(desired: DesiredPod): void;
  /** Directory of one container's logs. */
  containerLogDirectory(desired: DesiredPod, container: string): string;
  /** Host path of one instance's termination message. */
  terminationLog(desired: DesiredPod, container: string, attempt: number): string;
  /** Host path of the file that is /etc/hosts in every container of the pod. */
  etcHosts(desired: DesiredPod): string;
}

/** The node's facts for a container's environment and files, read at each start. kubelet: RuntimeHelper */
export interface RuntimeHelper {
  readonly nodeName: string;
  /** "" = none. */
  readonly clusterDomain: string;
  /** The limits of a container without its own. */
  readonly allocatable: NodeAllocatable;
  /** The primary address first; also the addresses of a pod with hostNetwork. */
  hostIPs(): readonly string[];
  /** Text of the node's own /etc/hosts; "" = none. */
  nodeHosts(): string;
  /** The current ConfigMaps and Secrets that this pod may read. */
  objects(desired: DesiredPod): LocalObjects;
  /** `v1:<key>:<hmac>` of what a container reads. */
  configDigest(text: string): string;
  /** Whether the runtime can mount images as volumes. */
  mountsImages(): boolean;
  /** Brings volumes whose changes `starting` would not see (subPath) up to date; returns the problems as sentences. */
  refreshVolumes(pod: Pod, starting: Container): readonly string[];
  /** The host path to mount for a part of a volume, protected against symbolic links out of it. Throws AgentError. */
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

export interface SandboxAttempt {
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
  /** Volume name → the runtime's reference of the image in it. */
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** Index in volumeMounts → path on the host, for mounts of a part of their volume. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** Host path of the file mounted as /etc/hosts; absent = the runtime's own. */
  readonly etcHosts?: string;
  /** Digest of what it reads of ConfigMaps and Secrets only at its start; absent = nothing. */
  readonly configDigest?: string;
}

export interface SandboxRef {
  readonly id: string;
  readonly attempt: number;
  readonly activeSince: number;
  /** The pod's addresses, none with hostNetwork; requested from the runtime once if this process has just created it. */
  readonly ips: () => Promise<readonly string[]>;
  /** Set if this process created the sandbox. */
  readonly config?: PodSandboxConfigInit;
}

/** A container ready to be created. */
export interface ContainerDraft {
  readonly container: Container;
  readonly attempt: number;
  readonly config: ContainerConfigInit;
  /** To be recorded when the draft is used. */
  readonly events: readonly EventContent[];
  /** The hosts file does not contain the pod's address yet. */
  readonly needsAddress: boolean;
}

/** Container name → its image, when it is on this node. */
export type ImageRefs = ReadonlyMap<string, Promise<LocalImage>>;

/** The images of a container, all on this node. */
export interface ContainerImages {
  readonly image: LocalImage;
  /** Volume name → the runtime's reference of the image in it. */
  readonly imageVolumes: ReadonlyMap<string, string>;
}

/** A start that began before the sandbox existed. */
export interface EarlyStart {
  readonly images: Promise<ContainerImages>;
  /** undefined = it could not be drafted yet. */
  readonly draft: ContainerDraft | undefined;
}

/** Container name → the part of its start that is done; undefined = nothing. */
export type EarlyStarts = ReadonlyMap<string, Promise<EarlyStart | undefined>>;

export interface ActionInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly sandbox: SandboxRef | undefined;
  readonly activeSince: number;
  readonly volumes: ReadonlyMap<string, string>;
  /** By container, if fetching has begun already. */
  readonly images: ImageRefs;
  /** By container, if its start began before the sandbox existed. */
  readonly early?: EarlyStarts;
  /** Lowest attempts that no unanswered call can have taken; raised when a name is found reserved. */
  readonly reserved: ReservedAttempts;
  /** Cancels waiting, pulling and hooks; never a call that changes something. */
  readonly signal: AbortSignal;
  /** A grace period of so many seconds, which a request to remove the pod may shorten. */
  readonly grace: (seconds: number) => GracePeriod;
  /** A postStart hook begins, which may take long. */
  readonly onHook: () => void;
  readonly onHookFailed: (containerId: string) => void;
}

export interface ReservedAttempts {
  sandbox: number;
  readonly containers: Map<string, number>;
}
