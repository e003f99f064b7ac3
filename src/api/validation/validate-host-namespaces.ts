// What a pod may not have together because of what it shares with the node. k8s: validateHostUsers, ValidateHostSysctl

import { invalidValue } from "../decode/field-reader.ts";
import type { Findings } from "../decode/field-errors.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { normalSysctl, sysctlNamespace } from "./sysctls.ts";

export function validateHostNamespaces(spec: PodSpec, findings: Findings): void {
  if (!spec.hostUsers)
    for (const key of ["hostNetwork", "hostPID", "hostIPC"] as const)
      if (spec[key])
        findings.fail(["spec", key], "Invalid", "Forbidden: when `pod.Spec.HostUsers` is false");
  if (spec.shareProcessNamespace && spec.hostPID) {
    const message = "ShareProcessNamespace and HostPID cannot both be enabled";
    findings.fail(["spec", "shareProcessNamespace"], "Invalid", invalidValue(true, message));
  }
  validateSysctls(spec, findings);
  validateProcMounts(spec, findings);
}

/** In a namespace of the node's it would change the node. */
function validateSysctls(spec: PodSpec, findings: Findings): void {
  for (const [index, { name }] of spec.securityContext.sysctls.entries()) {
    const path = ["spec", "securityContext", "sysctls", index, "name"];
    const namespace = sysctlNamespace(normalSysctl(name));
    if (namespace === "net" && spec.hostNetwork) {
      const message = "may not be specified when 'hostNetwork' is true";
      findings.fail(path, "Invalid", invalidValue(name, message));
    }
    if (namespace === "ipc" && spec.hostIPC) {
      const message = "may not be specified when 'hostIPC' is true";
      findings.fail(path, "Invalid", invalidValue(name, message));
    }
  }
}

function validateProcMounts(spec: PodSpec, findings: Findings): void {
  if (!spec.hostUsers) return;
  for (const list of ["initContainers", "containers"] as const)
    for (const [index, { securityContext }] of spec[list].entries()) {
      if (securityContext.procMount !== "Unmasked") continue;
      const path = ["spec", list, index, "securityContext", "procMount"];
      const message = "`hostUsers` must be false to use `Unmasked`";
      findings.fail(path, "Invalid", invalidValue("Unmasked", message));
    }
}
