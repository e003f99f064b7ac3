// What must fit together inside one pod: unique names and ports, mounts that have their volume.

import type { Findings } from "../decode/field-errors.ts";
import type { FieldPath } from "../decode/field-path.ts";
import { HostPortClaims } from "./host-ports.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { validatePodResources } from "./pod-level-resources.ts";
import { normalSysctl, sysctlNamespace } from "./sysctls.ts";
import { writtenIndex, type Written } from "../decode/written-index.ts";
import type { Container } from "../v1/container.ts";

/** `spec` after defaults; findings name positions in the written lists. */
export function validateSpec(spec: PodSpec, findings: Findings): void {
  validateContainerNames(spec, findings);
  unique(
    spec.volumes,
    ({ name }) => name,
    (index, name) => findings.duplicate(["spec", "volumes", index, "name"], name),
  );
  const volumes = new Set(spec.volumes.map((volume) => volume.name));
  for (const [index, container] of spec.initContainers.entries()) {
    const at = { findings, path: ["spec", "initContainers", index] };
    validateMounts(container, volumes, at);
    // They run one after the other, so each is judged alone, and Kubernetes lets their host ports differ from
    // containerPort also on the host's network. k8s: checkHostPortConflicts, validateHostNetwork
    validatePorts(container, { claims: new HostPortClaims(), hostNetwork: false, ...at });
    validateSleeps(container, spec.terminationGracePeriodSeconds, at);
  }
  const claims = new HostPortClaims();
  for (const [index, container] of spec.containers.entries()) {
    const at = { findings, path: ["spec", "containers", index] };
    validateMounts(container, volumes, at);
    validatePorts(container, { claims, hostNetwork: spec.hostNetwork, ...at });
    validateSleeps(container, spec.terminationGracePeriodSeconds, at);
  }
  validateHostNamespaces(spec, findings);
  validatePodResources(spec, findings);
}

interface At {
  readonly findings: Findings;
  readonly path: FieldPath;
}

/** Names are unique among all containers; a name shared with an init container is an error of the init container. */
function validateContainerNames({ initContainers, containers }: PodSpec, findings: Findings): void {
  unique(
    [...containers, ...initContainers],
    ({ name }) => name,
    (index, name) => {
      const place =
        index < containers.length
          ? ["containers", index]
          : ["initContainers", index - containers.length];
      findings.duplicate(["spec", ...place, "name"], name);
    },
  );
}

/** k8s: validateSleepAction */
function validateSleeps(container: Container, gracePeriodSeconds: number, at: At): void {
  for (const hook of ["postStart", "preStop"] as const) {
    const handler = container.lifecycle[hook];
    if (handler?.type !== "sleep") continue;
    if (handler.seconds >= 0 && handler.seconds <= gracePeriodSeconds) continue;
    const message = `must be non-negative and not more than terminationGracePeriodSeconds (${gracePeriodSeconds})`;
    const path = [...at.path, "lifecycle", hook, "sleep"];
    at.findings.invalid(path, handler.seconds, message);
  }
}

function validateMounts(container: Container, volumes: ReadonlySet<string>, at: At): void {
  const path = [...at.path, "volumeMounts"];
  unique(
    container.volumeMounts,
    ({ mountPath }) => mountPath,
    (index, mountPath) => at.findings.duplicate([...path, index, "mountPath"], mountPath),
  );
  for (const [position, mount] of container.volumeMounts.entries()) {
    const index = writtenIndex(mount, position);
    if (mount.name === "" || volumes.has(mount.name)) continue;
    const message = `Not found: ${JSON.stringify(mount.name)}: spec.volumes has no volume of this name`;
    at.findings.fail([...path, index, "name"], "Invalid", message);
  }
}

function validatePorts(
  container: Container,
  at: At & { readonly claims: HostPortClaims; readonly hostNetwork: boolean },
): void {
  const path = [...at.path, "ports"];
  unique(
    container.ports,
    ({ name = "" }) => name,
    (index, name) => at.findings.duplicate([...path, index, "name"], name),
  );
  for (const [index, port] of container.ports.entries()) {
    const place = [...path, index, "hostPort"];
    if (at.hostNetwork && port.hostPort !== port.containerPort) {
      const message = "must match `containerPort` when `hostNetwork` is true";
      at.findings.invalid(place, port.hostPort, message);
    }
    if (port.hostPort === undefined || port.hostPort === 0) continue;
    if (!at.claims.add(port)) at.findings.duplicate(place, `${port.hostPort}/${port.protocol}`);
  }
}

/** What a pod may not have together because of what it shares with the node. k8s: validateHostUsers, ValidateHostSysctl */
function validateHostNamespaces(spec: PodSpec, findings: Findings): void {
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

/** In a namespace that the pod shares with the node, a sysctl would change the node. */
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

/** Reports each later occurrence where it was written; "" is no name and may repeat. */
function unique<T extends object>(
  entries: readonly (T & Written)[],
  nameOf: (entry: T) => string,
  report: (index: number, name: string) => void,
): void {
  const seen = new Set<string>();
  for (const [position, entry] of entries.entries()) {
    const name = nameOf(entry);
    if (name !== "" && seen.has(name)) report(writtenIndex(entry, position), name);
    seen.add(name);
  }
}
