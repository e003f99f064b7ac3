// The node's devices of one container, in CRI's form. Devices are looked at only when a container is created: one that
// goes later stops nothing. kubelet: makeDevices, CDI devices of device plugins

import { devicesOf } from "../../api/resource/devices.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { ContainerConfigInit } from "../../cri/cri-client.ts";
import { unsupported, type RuntimeFeatures } from "./features.ts";
import type { Container } from "../../api/v1/container.ts";
import { configError } from "../../lib/errors.ts";

export interface DeviceFacts {
  readonly features: RuntimeFeatures;
  /** True for a device, or a directory that may contain devices. */
  readonly isDevice: (path: string) => boolean;
}

/** Runtimes without CRI's `cdiDevices` read any annotation with the prefix `cdi.k8s.io/`; its value names the devices. */
const CDI_ANNOTATION = "cdi.k8s.io/agent";

/**
 * Throws AgentError: `CreateContainerConfigError` for a device that does not exist (the start is retried, so the container
 * starts once the device is plugged in); `UnsupportedByRuntime` for a CDI name that the runtime would ignore.
 */
export function containerDevices(
  pod: Pod,
  container: Container,
  { features, isDevice }: DeviceFacts,
): Pick<ContainerConfigInit, "devices" | "cdiDevices"> {
  const { devices, cdiNames } = devicesOf(pod, container);
  const [name] = cdiNames;
  if (name !== undefined && !features.cdi)
    throw unsupported(
      `container "${container.name}" asks for the CDI device ${name}, which this container runtime would ignore; use containerd 2.0 or newer, or 1.7 with enable_cdi = true`,
    );
  const missing = devices.find(({ hostPath }) => !isDevice(hostPath));
  if (missing !== undefined) {
    const message = `container "${container.name}" needs the device ${missing.hostPath}, which is not there; it starts when the device is plugged in`;
    throw configError(message);
  }
  return { devices: [...devices], cdiDevices: cdiNames.map((cdi) => ({ name: cdi })) };
}

/** The CDI names as an annotation, for runtimes older than CRI's `cdiDevices`. */
export function cdiAnnotations(pod: Pod, container: Container): Record<string, string> {
  const { cdiNames } = devicesOf(pod, container);
  return cdiNames.length === 0 ? {} : { [CDI_ANNOTATION]: cdiNames.join(",") };
}
