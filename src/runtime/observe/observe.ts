// Converts CRI's messages to plain data, for sandboxes and containers of this agent only.

import type {
  ObservedContainer,
  ObservedContainerState,
  ObservedSandbox,
} from "../../api/pod/observed-pod.ts";
import {
  ANNOTATION,
  identityOf,
  isSourceName,
  LABEL,
  type RuntimeIdentity,
} from "../../api/pod/labels.ts";
import type { SourceName } from "../../api/pod/desired-pod.ts";
import type { LinuxContainerUser } from "../../api/v1/pod-status.ts";
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
  type Container,
  type ContainerStatus,
  type PodSandbox,
  type PodSandboxStatus,
} from "../../cri/gen/runtime/v1/api_pb.ts";
import { stopFactsOf } from "../cri-config/stop-annotations.ts";
import { joinedMessage } from "./termination-message.ts";
import { parseIdRange } from "../cri-config/namespaces.ts";
import { withoutUndefined } from "../../lib/json.ts";

/** A sandbox from a list, which has no addresses. */
export interface ListedSandbox extends Omit<ObservedSandbox, "ips" | "hostNetwork"> {
  readonly identity: RuntimeIdentity;
  readonly source: SourceName | undefined;
}

/** A container from a list, which has no times and exit codes. */
export interface ListedContainer extends Pick<
  ObservedContainer,
  "id" | "name" | "attempt" | "sandboxId" | "state"
> {
  readonly identity: RuntimeIdentity;
}

export function listedSandbox(sandbox: PodSandbox, instance: string): ListedSandbox | undefined {
  const identity = identityOf(sandbox.labels, instance);
  if (identity === undefined) return undefined;
  const source = sandbox.annotations[ANNOTATION.source];
  return {
    id: sandbox.id,
    attempt: sandbox.metadata?.attempt ?? 0,
    state: sandbox.state === PodSandboxState.SANDBOX_READY ? "Ready" : "NotReady",
    createdAt: milliseconds(sandbox.createdAt),
    identity,
    source: isSourceName(source) ? source : undefined,
    ...lifeOf(sandbox.annotations),
  };
}

export function listedContainer(
  container: Container,
  instance: string,
): ListedContainer | undefined {
  const identity = identityOf(container.labels, instance);
  if (identity === undefined) return undefined;
  return {
    id: container.id,
    name: container.labels[LABEL.containerName] ?? container.metadata?.name ?? "",
    attempt: container.metadata?.attempt ?? 0,
    sandboxId: container.podSandboxId,
    state: stateOf(container.state),
    identity,
  };
}

/** `status` undefined = not requested: a sandbox that is down has no addresses. */
export function observedSandbox(
  { identity: _identity, source: _source, ...listed }: ListedSandbox,
  status: PodSandboxStatus | undefined,
): ObservedSandbox {
  const mode = status?.linux?.namespaces?.options?.network;
  const hostNetwork = mode === NamespaceMode.NODE;
  return { ...listed, ips: sandboxAddresses(status), hostNetwork };
}

/** The primary address first. */
export function sandboxAddresses(status: PodSandboxStatus | undefined): readonly string[] {
  const network = status?.network;
  const ips = [network?.ip ?? "", ...(network?.additionalIps ?? []).map((more) => more.ip)];
  return ips.filter((ip) => ip !== "");
}

/** `terminationMessage` of a container that has exited; "" = none. */
export function observedContainer(
  { identity: _identity, ...listed }: ListedContainer,
  status: ContainerStatus,
  terminationMessage = "",
): ObservedContainer {
  const configDigest = status.annotations[ANNOTATION.configDigest];
  const grace = Number.parseInt(status.annotations[ANNOTATION.gracePeriod] ?? "", 10);
  const gracePeriodSeconds = Number.isSafeInteger(grace) && grace >= 0 ? grace : undefined;
  const together = Number.parseInt(status.annotations[ANNOTATION.podRestarts] ?? "", 10);
  const podRestarts = Number.isSafeInteger(together) && together > 0 ? together : undefined;
  return {
    ...listed,
    state: stateOf(status.state),
    hash: status.annotations[ANNOTATION.containerHash] ?? "",
    image: firstText(status.image?.userSpecifiedImage, status.image?.image),
    imageID: firstText(status.imageId, status.imageRef),
    createdAt: milliseconds(status.createdAt),
    startedAt: milliseconds(status.startedAt),
    finishedAt: milliseconds(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: joinedMessage(status.message, terminationMessage),
    ...stopFactsOf(status.annotations),
    ...withoutUndefined({
      configDigest,
      gracePeriodSeconds,
      podRestarts,
      user: userOf(status),
      recursiveReadOnly: recursiveMounts(status),
    }),
  };
}

function userOf({ user }: ContainerStatus): LinuxContainerUser | undefined {
  if (user?.linux === undefined) return undefined;
  const { uid, gid, supplementalGroups: groups } = user.linux;
  const supplementalGroups = groups.length === 0 ? undefined : groups.map(Number);
  return { uid: Number(uid), gid: Number(gid), ...withoutUndefined({ supplementalGroups }) };
}

function recursiveMounts({ mounts }: ContainerStatus): readonly string[] | undefined {
  const paths = mounts.filter((one) => one.recursiveReadOnly).map((one) => one.containerPath);
  return paths.length === 0 ? undefined : paths;
}

const STATES: Readonly<Record<ContainerState, ObservedContainerState>> = {
  [ContainerState.CONTAINER_CREATED]: "Created",
  [ContainerState.CONTAINER_RUNNING]: "Running",
  [ContainerState.CONTAINER_EXITED]: "Exited",
  [ContainerState.CONTAINER_UNKNOWN]: "Unknown",
};

/** A newer runtime may have other states. */
function stateOf(state: ContainerState): ObservedContainerState {
  return STATES[state] ?? "Unknown";
}

const RFC_3339 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** Unreadable annotations count as absent. */
function lifeOf(
  annotations: Readonly<Record<string, string>>,
): Pick<ListedSandbox, "bootId" | "activeSince" | "startTime" | "userNamespace"> {
  const bootId = annotations[ANNOTATION.bootId] ?? "";
  const since = annotations[ANNOTATION.activeSince] ?? "";
  const startTime = annotations[ANNOTATION.startTime] ?? "";
  const isTime = /^[0-9]{1,15}(?:\.[0-9]{1,20})?$/.test(since);
  return withoutUndefined({
    bootId: bootId === "" ? undefined : bootId,
    activeSince: isTime ? Number(since) : undefined,
    startTime: RFC_3339.test(startTime) ? startTime : undefined,
    userNamespace: parseIdRange(annotations[ANNOTATION.userNamespace]),
  });
}

/** The first text that is not empty: older runtimes leave newer fields empty. */
function firstText(...texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== "") ?? "";
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
