// What performing an action needs beside the action itself, as the rooms above hand it in.

import type { DesiredPod } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import type { Container, Pod } from "../api/pod.ts";
import type { ContainerConfigInit, PodSandboxConfigInit } from "../cri/cri-client.ts";
import type { GracePeriod } from "./grace-period.ts";

/** What the runtime calls the image of a container, once it is here. */
export type EnsureImage = (pod: Pod, container: Container, signal: AbortSignal) => Promise<string>;

/** How a pod becomes CRI's messages; the pure functions of this room with the node's facts filled in. */
export interface PodConfigs {
  sandbox(desired: DesiredPod, facts: SandboxBirth): PodSandboxConfigInit;
  container(desired: DesiredPod, container: Container, facts: ContainerFacts): ContainerConfigInit;
  /** Directory of one container's logs. */
  containerLogDirectory(desired: DesiredPod, container: string): string;
  /** Where one instance's termination message lies on the host. */
  terminationLog(desired: DesiredPod, container: string, attempt: number): string;
}

export interface SandboxBirth {
  readonly attempt: number;
  /** When the pod began in this boot. */
  readonly activeSince: number;
}

export interface ContainerFacts {
  readonly attempt: number;
  /** What the runtime calls the pulled image. */
  readonly imageRef: string;
  /** Volume name → path on the host. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly terminationLog: string;
}

export interface SandboxRef {
  readonly id: string;
  readonly attempt: number;
  readonly activeSince: number;
  /** Known unless this process has just made it. */
  readonly ip: string | undefined;
  /** What it was made from, where this process made it. */
  readonly config?: PodSandboxConfigInit;
}

/** Container name → what the runtime calls its image, as soon as it is here. */
export type ImageRefs = ReadonlyMap<string, Promise<string>>;

/** What an action needs beside itself. */
export interface ActionInput {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly sandbox: SandboxRef | undefined;
  readonly activeSince: number;
  readonly volumes: ReadonlyMap<string, string>;
  /** By container, where fetching has begun already. */
  readonly images: ImageRefs;
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
