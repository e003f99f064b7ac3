// What the runtime reports of one pod UID, as plain data; written by runtime/observe, read by decisions. "Newest" is the
// highest attempt, never a creation time: the wall clock may be wrong.

import type { SourceName } from "./desired-pod.ts";
import type { PodUID } from "../v1/pod.ts";
import type { LinuxContainerUser } from "../v1/pod-status.ts";
import type { ContainerPort } from "../v1/container-ports.ts";
import { type LifecycleHandler } from "../v1/lifecycle.ts";

type SandboxState = "Ready" | "NotReady";
export type ObservedContainerState = "Created" | "Running" | "Exited" | "Unknown";

export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly state: SandboxState;
  /** Wall ms; for showing only, never for ordering. */
  readonly createdAt: number;
  /** Empty with hostNetwork or before the network is up. */
  readonly ips: readonly string[];
  readonly hostNetwork: boolean;
  /** The boot in which it was made; absent = not written on it. */
  readonly bootId?: string;
  /** ms since that boot when the pod began (activeDeadlineSeconds counts from there). */
  readonly activeSince?: number;
  /** RFC 3339, for showing only: when this node took up the pod, by the clock of that moment. */
  readonly startTime?: string;
  /** The node's ids that its own users are; absent = they are the node's. */
  readonly userNamespace?: IdRange;
}

/** User and group ids from `hostId` on. */
export interface IdRange {
  readonly hostId: number;
  readonly length: number;
}

/** How a container stops when its spec is forgotten. */
export type ContainerRole =
  | { readonly type: "App" }
  | { readonly type: "Init" }
  /** 1 starts first and stops last. */
  | { readonly type: "Sidecar"; readonly position: number };

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  /** Restart count of this instance (label/annotation restartCount, metadata.attempt). */
  readonly attempt: number;
  readonly sandboxId: string;
  readonly state: ObservedContainerState;
  /** `v1:…` annotation; "" if the container carries none. */
  readonly hash: string;
  /** Of the ConfigMaps and Secrets that it read when it was made; absent = none is written on it. */
  readonly configDigest?: string;
  readonly image: string;
  readonly imageID: string;
  /** Wall ms; 0 = not known. For showing only. */
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** The runtime's word: "Completed", "Error", "OOMKilled", "StartError", "Unknown", … */
  readonly reason: string;
  readonly message: string;
  /** Its end is known from an event, the runtime's own record of it (reason, OOM) has yet to follow. */
  readonly presumed?: true;
  /** Absent = the runtime does not report it. */
  readonly user?: LinuxContainerUser;
  /** Paths at which mounts below are read-only too; absent = none. */
  readonly recursiveReadOnly?: readonly string[];
  /** From its labels; absent = an app container. */
  readonly role?: ContainerRole;
  readonly preStop?: LifecycleHandler;
  readonly ports?: readonly ContainerPort[];
  /** How often all containers of its pod had been restarted together when it was made; absent = never. */
  readonly podRestarts?: number;
  /** Grace seconds written on it when it was created; absent = unknown. */
  readonly gracePeriodSeconds?: number;
}

/** Everything of ours in the runtime that carries one pod UID. */
export interface ObservedPod {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  /** From the sandbox's annotation; undefined when it is unreadable. */
  readonly source: SourceName | undefined;
  /** Highest attempt first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** By name, then highest attempt first. */
  readonly containers: readonly ObservedContainer[];
  /** Relist counter at which this was read: comparable and monotone, unlike a clock (given-clock). */
  readonly observedAt: number;
}

export interface KilledInstance {
  readonly id: string;
  /** It is replaced under every restart policy: it was not what the pod asks for. */
  readonly always: boolean;
}

/** By container name. */
export type KilledInstances = ReadonlyMap<string, KilledInstance>;

/** The newest instance of a container; containers are ordered by name, then highest attempt first. */
export function newestContainer(
  observed: ObservedPod | undefined,
  name: string,
): ObservedContainer | undefined {
  return observed?.containers.find((container) => container.name === name);
}

/** The newest instance that was ever started: one that was only made may still be taken away again. */
export function newestStarted(
  observed: ObservedPod | undefined,
  name: string,
): ObservedContainer | undefined {
  return observed?.containers.find((one) => one.name === name && one.state !== "Created");
}

/** How often all containers of the pod were restarted together (RestartAllContainers): the newest restart that has begun. */
export function podRestarts(observed: ObservedPod | undefined): number {
  const started = observed?.containers.filter(({ state }) => state !== "Created") ?? [];
  return started.reduce((most, one) => Math.max(most, one.podRestarts ?? 0), 0);
}

/** Not from before the newest restart of all containers: what happened before counts as little as in an earlier sandbox. */
export function isOfThisRun(
  observed: ObservedPod | undefined,
  container: ObservedContainer,
): boolean {
  return (container.podRestarts ?? 0) >= podRestarts(observed);
}

/** The newest in which a container has ever run. */
export function lastUsedSandbox(observed: ObservedPod | undefined): ObservedSandbox | undefined {
  const ran = observed?.containers.filter(({ state }) => state !== "Created") ?? [];
  const used = new Set(ran.map(({ sandboxId }) => sandboxId));
  return observed?.sandboxes.find(({ id }) => used.has(id));
}

/**
 * The one whose address and conditions are the pod's: the newest. One that came up late and empty, from a call whose answer was
 * lost, does not count beside one in use.
 */
export function currentSandbox(observed: ObservedPod | undefined): ObservedSandbox | undefined {
  const used = lastUsedSandbox(observed);
  return used?.state === "Ready" ? used : observed?.sandboxes[0];
}
