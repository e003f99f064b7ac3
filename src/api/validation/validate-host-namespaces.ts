// What a pod may not have together because of what it shares with the node. k8s: validateHostUsers, ValidateHostSysctl

import type { Findings } from "../decode/field-errors.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { normalSysctl, sysctlNamespace } from "./sysctls.ts";

export function validateHostNamespaces(spec: PodSpec, findings: Findings): void {
  if (!spec.hostUsers)
    for (const key of ["hostNetwork", "hostPID", "hostIPC"] as const)
      if (spec[key]) findings.forbidden(["spec", key], "when `pod.Spec.HostUsers` is false");
  if (spec.shareProcessNamespace && spec.hostPID) {
    const message = "ShareProcessNamespace and HostPID cannot both be enabled";
    findings.invalid(["spec", "shareProcessNamespace"], true, message);
  }
  validateSysctls(spec, findings);
  validateProcMounts(spec, findings);
}

/** In a namespace of the node's it would change the node. */
function validateSysctls(spec: PodSpec, findings: Findings): void {
  for (const [index, { name }] of spec.securityContext.sysctls.entries()) {
    const path = ["spec", "securityContext", "sysctls", index, "name"];
    const namespace = sysctlNamespace(normalSysctl(name));
    if (namespace === "net" && spec.hostNetwork)
      findings.invalid(path, name, "may not be specified when 'hostNetwork' is true");
    if (namespace === "ipc" && spec.hostIPC)
      findings.invalid(path, name, "may not be specified when 'hostIPC' is true");
  }
}

function validateProcMounts(spec: PodSpec, findings: Findings): void {
  if (!spec.hostUsers) return;
  for (const list of ["initContainers", "containers"] as const)
    for (const [index, { securityContext }] of spec[list].entries()) {
      if (securityContext.procMount !== "Unmasked") continue;
      const path = ["spec", list, index, "securityContext", "procMount"];
      findings.invalid(path, "Unmasked", "`hostUsers` must be false to use `Unmasked`");
    }
}
