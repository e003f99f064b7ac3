// The inputs of performing an action, and the interfaces to the rooms above that provide them.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { EventContent } from "../../api/v1/events.ts";
import type { ObservedPod } from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { ContainerConfigInit, PodSandboxConfigInit } from "../../cri/cri-client.ts";
import type { ContainerConfigFacts } from "../cri-config/container-config.ts";
import type { LocalImage } from "../cri-config/security-context.ts";
import type { GracePeriod } from "../grace-period.ts";
import type { Container } from "../../api/v1/container.ts";

/** Resolves when the image of a container is on this node. */
export type EnsureImage = (
  pod: Pod,
  container: Container,
  signal: AbortSignal,
) => Promise<LocalImage>;

export interface SandboxAttempt {
  readonly attempt: number;
  /** When the pod began in this boot. */
  readonly activeSince: number;
  /** The pod's status.startTime. */
  readonly startTime?: string;
}

/** The facts of one container instance that are resolved at its start. */
export type ContainerFacts = Pick<
  ContainerConfigFacts,
  | "attempt"
  | "podRestarts"
  | "image"
  | "volumes"
  | "env"
  | "imageVolumes"
  | "subPaths"
  | "etcHosts"
  | "configDigest"
> &
  Required<Pick<ContainerConfigFacts, "terminationLog">>;

export interface SandboxRef extends SandboxAttempt {
  readonly id: string;
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
export type ContainerImages = Pick<ContainerFacts, "image" | "imageVolumes">;

/** A start that began before the sandbox existed. */
export interface EarlyStart {
  readonly images: Promise<ContainerImages>;
  /** undefined = it could not be drafted yet. */
  readonly draft: ContainerDraft | undefined;
}

/** Container name → the part of its start that is done; undefined = nothing. */
export type EarlyStarts = ReadonlyMap<string, Promise<EarlyStart | undefined>>;

export interface ActionInput extends Pick<SandboxAttempt, "activeSince" | "startTime"> {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly sandbox: SandboxRef | undefined;
  /** Of the run that was decided on; absent = its containers were never restarted together. */
  readonly podRestarts?: number;
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
