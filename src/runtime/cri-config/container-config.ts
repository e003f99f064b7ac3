// A container as CRI's ContainerConfig. kubelet: generateContainerConfig

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { ANNOTATION, identityLabels, LABEL } from "../../api/pod/labels.ts";
import { containerLogPath } from "../../api/pod/log-paths.ts";
import type { ContainerConfigInit } from "../../cri/cri-client.ts";
import { Signal } from "../../cri/gen/runtime/v1/api_pb.ts";
import { cdiAnnotations, containerDevices, type DeviceFacts } from "./container-devices.ts";
import { containerMounts, type MountFacts } from "./container-mounts.ts";
import { valuesOf, type EnvEntry } from "./environment.ts";
import { expandWords } from "./expansion.ts";
import { unsupported } from "./features.ts";
import { linuxResources, type ResourcePolicy } from "../cgroup/container-resources.ts";
import {
  containerSecurityContext,
  type LocalImage,
  type SecurityFacts,
} from "./security-context.ts";
import { stopAnnotations } from "./stop-annotations.ts";
import type { Container } from "../../api/v1/container.ts";
import { configError } from "../../lib/errors.ts";

/** Facts of one container instance, its pod and the node. */
export interface ContainerConfigFacts
  extends SecurityFacts, MountFacts, DeviceFacts, ResourcePolicy {
  readonly attempt: number;
  readonly image: LocalImage;
  readonly env: readonly EnvEntry[];
  /** Digest of what it reads of ConfigMaps and Secrets; absent = it reads nothing. */
  readonly configDigest?: string;
  /** How often all containers of the pod were restarted together; absent = never. */
  readonly podRestarts?: number;
  readonly instance: string;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
}

/**
 * Throws AgentError: `CreateContainerConfigError` when something that the container needs does not exist,
 * `UnsupportedByRuntime` when the runtime would silently ignore a field of the spec.
 */
export function containerConfig(
  desired: DesiredPod,
  container: Container,
  facts: ContainerConfigFacts,
): ContainerConfigInit {
  const { pod } = desired;
  const values = valuesOf(facts.env);
  return {
    metadata: { name: container.name, attempt: facts.attempt },
    image: { image: facts.image.ref, userSpecifiedImage: container.image },
    command: expandWords(container.command, values, "command"),
    args: expandWords(container.args, values, "args"),
    workingDir: container.workingDir ?? "",
    envs: facts.env.map(({ name, value }) => ({ key: name, value: bytes(value) })),
    mounts: containerMounts(pod, container, facts),
    ...containerDevices(pod, container, facts),
    logPath: containerLogPath(container.name, facts.attempt),
    labels: { ...identityLabels(pod, facts.instance), [LABEL.containerName]: container.name },
    annotations: annotationsOf(desired, container, facts),
    ...stopSignalOf(container, facts.features.stopSignal),
    stdin: container.stdin,
    stdinOnce: container.stdinOnce,
    tty: container.tty,
    linux: {
      resources: linuxResources(container, { ...facts, spec: pod.spec }),
      securityContext: containerSecurityContext(pod, container, facts),
    },
  };
}

function annotationsOf(
  { pod, containerHashes }: DesiredPod,
  container: Container,
  {
    attempt,
    configDigest,
    podRestarts = 0,
  }: Pick<ContainerConfigFacts, "attempt" | "configDigest" | "podRestarts">,
): Record<string, string> {
  const { name, terminationMessagePath, terminationMessagePolicy } = container;
  const hash = containerHashes[name];
  return {
    ...(hash === undefined ? {} : { [ANNOTATION.containerHash]: hash }),
    ...(configDigest === undefined ? {} : { [ANNOTATION.configDigest]: configDigest }),
    ...(podRestarts === 0 ? {} : { [ANNOTATION.podRestarts]: String(podRestarts) }),
    [ANNOTATION.restartCount]: String(attempt),
    [ANNOTATION.gracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
    [ANNOTATION.terminationMessagePath]: terminationMessagePath,
    [ANNOTATION.terminationMessagePolicy]: terminationMessagePolicy,
    ...stopAnnotations(pod.spec, container),
    ...cdiAnnotations(pod, container),
  };
}

function bytes(value: EnvEntry["value"]): Uint8Array<ArrayBuffer> {
  return typeof value === "string" ? new TextEncoder().encode(value) : new Uint8Array(value);
}

/** Throws AgentError `UnsupportedByRuntime` if the runtime would ignore the signal. kubelet: KEP-4960 */
function stopSignalOf(
  { name, lifecycle: { stopSignal } }: Container,
  isSupported: boolean,
): Pick<ContainerConfigInit, "stopSignal"> {
  if (stopSignal === undefined) return {};
  const asked = `container "${name}" asks for stopSignal ${stopSignal}, which`;
  if (!isSupported)
    throw unsupported(
      `${asked} this container runtime would ignore; remove it and set STOPSIGNAL in the image`,
    );
  const signal = criSignal(stopSignal);
  if (signal === undefined)
    throw configError(`${asked} is not a signal; use a name such as SIGTERM`);
  return { stopSignal: signal };
}

/** CRI's number of `SIGUSR1`, `SIGRTMIN+3`, …; undefined = no such signal. */
export function criSignal(name: string): Signal | undefined {
  const key = name.replace("+", "PLUS").replace("-", "MINUS");
  return Object.entries(Signal).find(([known]) => known === key && key !== "RUNTIME_DEFAULT")?.[1];
}
