// A container as CRI's ContainerConfig. kubelet: generateContainerConfig

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { ANNOTATION, LABEL } from "../../api/pod/labels.ts";
import { containerLogPath } from "../../api/pod/log-paths.ts";
import type { ContainerConfigInit } from "../../cri/cri-client.ts";
import type { LocalImage } from "../decide/action-input.ts";
import { cdiAnnotations, containerDevices, type DeviceFacts } from "./container-devices.ts";
import { containerMounts, type MountFacts } from "./container-mounts.ts";
import { valuesOf, type EnvEntry } from "./environment.ts";
import { expand } from "./expansion.ts";
import { linuxResources, type ResourcePolicy } from "../cgroup/linux-resources.ts";
import { identityLabels } from "./sandbox-config.ts";
import { containerSecurityContext, type SecurityFacts } from "./security-context.ts";
import { stopAnnotations } from "./stop-annotations.ts";
import { stopSignalOf } from "./stop-signal.ts";
import type { Container } from "../../api/v1/container.ts";

/** Of the container, its pod and the node; the rest is said where it is used. */
export interface ContainerConfigFacts
  extends SecurityFacts, MountFacts, DeviceFacts, ResourcePolicy {
  readonly attempt: number;
  readonly image: LocalImage;
  readonly env: readonly EnvEntry[];
  /** Of what it reads of ConfigMaps and Secrets; absent = nothing. */
  readonly configDigest?: string;
  readonly instance: string;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
}

/**
 * Throws AgentError: `CreateContainerConfigError` when something that it needs is not there, `UnsupportedByRuntime` when the runtime would
 * not do all that is written.
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
    command: container.command.map((word) => expand(word, values)),
    args: container.args.map((word) => expand(word, values)),
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
  { attempt, configDigest }: Pick<ContainerConfigFacts, "attempt" | "configDigest">,
): Record<string, string> {
  const { name, terminationMessagePath, terminationMessagePolicy } = container;
  const hash = containerHashes[name];
  return {
    ...(hash === undefined ? {} : { [ANNOTATION.containerHash]: hash }),
    ...(configDigest === undefined ? {} : { [ANNOTATION.configDigest]: configDigest }),
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
