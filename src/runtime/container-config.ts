// A container as CRI's ContainerConfig. kubelet: generateContainerConfig

import type { DesiredPod } from "../api/desired-pod.ts";
import { ANNOTATION, LABEL } from "../api/labels.ts";
import { containerLogPath } from "../api/log-paths.ts";
import type { Container, EnvVar, VolumeMount } from "../api/pod.ts";
import { qosClass } from "../api/qos.ts";
import type { ContainerConfigInit } from "../cri/cri-client.ts";
import { AgentError } from "../lib/errors.ts";
import { expand } from "./expansion.ts";
import { linuxResources } from "./linux-resources.ts";
import { identityLabels, namespaceOptions } from "./sandbox-config.ts";
import { stopAnnotations } from "./stop-annotations.ts";
import { criSignal } from "./stop-signal.ts";
import { absolutePath } from "./termination-message.ts";

export interface ContainerConfigFacts {
  readonly attempt: number;
  /** What the runtime calls the pulled image. */
  readonly imageRef: string;
  /** Volume name → path on the host. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly instance: string;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
  /** The file on the host that takes the termination message; absent = none is taken. */
  readonly terminationLog?: string;
  /** From `supportsStopSignal`; absent = no. */
  readonly stopSignals?: boolean;
}

// Kubernetes' defaults (procMount: Default). containerd masks nothing at all unless it is told to.
const MASKED_PATHS: readonly string[] = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];
const READONLY_PATHS: readonly string[] = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
];

/**
 * Throws AgentError: `CreateContainerConfigError` when a volume it mounts was not set up, `UnsupportedByRuntime` when it
 * wants to be stopped by a signal and the runtime would not hear of it.
 */
export function containerConfig(
  desired: DesiredPod,
  container: Container,
  facts: ContainerConfigFacts,
): ContainerConfigInit {
  const { pod } = desired;
  const environment = environmentOf(container.env);
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const { cgroupVersion, memoryBytes } = facts;
  return {
    metadata: { name: container.name, attempt: facts.attempt },
    image: { image: facts.imageRef, userSpecifiedImage: container.image },
    command: container.command.map((word) => expand(word, values)),
    args: container.args.map((word) => expand(word, values)),
    workingDir: container.workingDir ?? "",
    envs: environment.map(({ name, value }) => ({ key: name, value: bytes(value) })),
    mounts: [
      ...container.volumeMounts.map((mount) => mountOf(mount, facts.volumes)),
      ...terminationMount(container, facts.terminationLog),
    ],
    logPath: containerLogPath(container.name, facts.attempt),
    labels: { ...identityLabels(pod, facts.instance), [LABEL.containerName]: container.name },
    annotations: annotationsOf(desired, container, facts.attempt),
    ...stopSignalOf(container, facts.stopSignals === true),
    linux: {
      resources: linuxResources(container, {
        qos: qosClass(pod.spec),
        cgroupVersion,
        memoryBytes,
      }),
      securityContext: {
        namespaceOptions: namespaceOptions(pod.spec),
        maskedPaths: [...MASKED_PATHS],
        readonlyPaths: [...READONLY_PATHS],
      },
    },
  };
}

function annotationsOf(
  { pod, containerHashes }: DesiredPod,
  container: Container,
  attempt: number,
): Record<string, string> {
  const { name, terminationMessagePath, terminationMessagePolicy } = container;
  const hash = containerHashes[name];
  return {
    ...(hash === undefined ? {} : { [ANNOTATION.containerHash]: hash }),
    [ANNOTATION.restartCount]: String(attempt),
    [ANNOTATION.gracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
    [ANNOTATION.terminationMessagePath]: terminationMessagePath,
    [ANNOTATION.terminationMessagePolicy]: terminationMessagePolicy,
    ...stopAnnotations(pod.spec, container),
  };
}

function stopSignalOf(
  { name, lifecycle: { stopSignal } }: Container,
  isSupported: boolean,
): Pick<ContainerConfigInit, "stopSignal"> {
  if (stopSignal === undefined) return {};
  if (!isSupported) {
    const message = `container "${name}" asks for stopSignal ${stopSignal}, which this container runtime would ignore; remove it and set STOPSIGNAL in the image`;
    throw new AgentError({ reason: "UnsupportedByRuntime", message });
  }
  const signal = criSignal(stopSignal);
  if (signal === undefined) {
    const message = `container "${name}" asks for stopSignal ${stopSignal}, which is no signal`;
    throw new AgentError({ reason: "CreateContainerConfigError", message });
  }
  return { stopSignal: signal };
}

// A value may speak of the variables that stand before it.
function environmentOf(env: readonly EnvVar[]): readonly EnvVar[] {
  const values = new Map<string, string>();
  return env.map(({ name, value }) => {
    const expanded = expand(value, values);
    values.set(name, expanded);
    return { name, value: expanded };
  });
}

interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
}

function mountOf(mount: VolumeMount, volumes: ReadonlyMap<string, string>): Mount {
  const { name, mountPath, readOnly } = mount;
  const hostPath = volumes.get(name);
  if (hostPath === undefined) {
    const message = `volume "${name}" for ${mountPath} is not set up`;
    throw new AgentError({ reason: "CreateContainerConfigError", message });
  }
  return { containerPath: absolutePath(mountPath), hostPath, readonly: readOnly };
}

/** Last, so that no volume covers it. */
function terminationMount(
  { terminationMessagePath: path }: Container,
  hostPath: string | undefined,
): readonly Mount[] {
  if (path === "" || hostPath === undefined) return [];
  return [{ containerPath: absolutePath(path), hostPath, readonly: false }];
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
