// What of /proc and /sys a container does not see, or cannot write. kubelet: ConvertToRuntimeMaskedPaths

import type { SecurityContext } from "../../api/v1/security-context.ts";

// The runtime masks nothing at all unless it is told to.
const MASKED: readonly string[] = [
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
const READONLY: readonly string[] = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
];

/** `more`: paths that only some machines have. A privileged container sees everything. */
export function hiddenPaths(
  { privileged, procMount }: SecurityContext,
  more: readonly string[],
): { readonly maskedPaths: string[]; readonly readonlyPaths: string[] } {
  if (privileged === true || procMount === "Unmasked")
    return { maskedPaths: [], readonlyPaths: [] };
  return { maskedPaths: [...MASKED, ...more], readonlyPaths: [...READONLY] };
}
