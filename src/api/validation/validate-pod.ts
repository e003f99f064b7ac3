// What must fit together inside one pod: unique names and ports, mounts that have their volume, host names, DNS.

import type { Findings } from "../decode/field-errors.ts";
import type { Node } from "../decode/field-reader.ts";
import type { FieldPath } from "../decode/field-path.ts";
import type { ContainerPort } from "../v1/container-ports.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { placedContainers, type PlacedContainer } from "../v1/pod.ts";
import { dnsLabelError } from "./validate-names.ts";
import { validatePodResources } from "./pod-level-resources.ts";
import { normalSysctl, sysctlNamespace } from "./sysctls.ts";
import { writtenIndex, type Written } from "../decode/written-index.ts";
import type { Container } from "../v1/container.ts";
import { repeated } from "../../lib/compare.ts";
import { memberOf } from "../../lib/json.ts";

/** `spec` after defaults; findings name positions in the written lists. `written`: its volumes, also those that are refused. */
export function validateSpec(spec: PodSpec, written: unknown, findings: Findings): void {
  const containers = placedContainers(spec);
  // A name shared with an init container is an error of the init container.
  const apps = containers.filter(({ list }) => list === "containers");
  const inits = containers.filter(({ list }) => list === "initContainers");
  reportDuplicates(
    findings,
    [...apps, ...inits].map(({ container, path }) => [container.name, [...path, "name"]]),
  );
  reportDuplicates(findings, placed(spec.volumes, ["spec", "volumes"], "name"));
  const volumes = volumeNames(written, findings);
  for (const { container, path } of containers) {
    const at = { findings, path };
    if (volumes !== undefined) {
      validateMounts(container, volumes, at);
      validateFileKeys(container, { volumes: spec.volumes, names: volumes }, at);
    }
    reportDuplicates(findings, placed(container.ports, [...path, "ports"], "name"));
    validateSleeps(container, spec.terminationGracePeriodSeconds, at);
  }
  // Init containers run one after the other, so each is judged alone, and Kubernetes lets their host ports differ from
  // containerPort also on the host's network. k8s: checkHostPortConflicts, validateHostNetwork
  for (const together of [apps, ...inits.map((one) => [one])]) validatePorts(together, findings);
  if (spec.hostNetwork) validateHostNetwork(apps, findings);
  validateHostNamespaces(spec, findings);
  validatePodResources(spec, findings);
}

interface At {
  readonly findings: Findings;
  readonly path: FieldPath;
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

/** As written; undefined = a name cannot be read, which is an error of its own, and any mount may mean this volume. */
function volumeNames(written: unknown, findings: Findings): ReadonlySet<string> | undefined {
  const path = ["spec", "volumes"];
  if (findings.isMeant(path)) return undefined;
  const volumes: readonly unknown[] = Array.isArray(written) ? written : [];
  const names = volumes.map((volume) => memberOf(volume, "name"));
  const isUnknown = names.some((name) => typeof name !== "string" || name === "");
  return isUnknown ? undefined : new Set(names.filter((name) => typeof name === "string"));
}

function validateMounts(container: Container, volumes: ReadonlySet<string>, at: At): void {
  const path = [...at.path, "volumeMounts"];
  reportDuplicates(at.findings, placed(container.volumeMounts, path, "mountPath"));
  for (const [position, mount] of container.volumeMounts.entries()) {
    const index = writtenIndex(mount, position);
    if (mount.name === "" || volumes.has(mount.name)) continue;
    const message = `Not found: ${JSON.stringify(mount.name)}: spec.volumes has no volume of this name`;
    at.findings.fail([...path, index, "name"], "Invalid", message);
  }
}

interface Volumes {
  readonly volumes: PodSpec["volumes"];
  /** Also of those that are refused. */
  readonly names: ReadonlySet<string>;
}

/** k8s: validateFileKeyRefVolumes */
function validateFileKeys({ env }: Container, { volumes, names }: Volumes, at: At): void {
  for (const [index, variable] of env.entries()) {
    if (!("valueFrom" in variable) || variable.valueFrom.type !== "fileKeyRef") continue;
    const { volumeName } = variable.valueFrom;
    // Its own field has reported it.
    if (dnsLabelError(volumeName) !== undefined) continue;
    const path = [...at.path, "env", index, "valueFrom", "fileKeyRef", "volumeName"];
    const volume = volumes.find(({ name }) => name === volumeName);
    if (volume === undefined) {
      if (names.has(volumeName)) continue;
      const message = `Not found: ${JSON.stringify(volumeName)}: spec.volumes has no volume of this name`;
      at.findings.fail(path, "Invalid", message);
    } else if (!("emptyDir" in volume))
      at.findings.invalid(path, volumeName, "must be the name of an emptyDir volume");
  }
}

/** Kubernetes compares what is written: every address and one of them are two ports. k8s: AccumulateUniqueHostPorts */
function validatePorts(containers: readonly PlacedContainer[], findings: Findings): void {
  const isClear = (path: FieldPath): boolean =>
    !hasErrorBeside(path, ["protocol", "hostIP"], findings);
  const ports = placedPorts(containers).filter(
    ({ port, path }) => (port.hostPort ?? 0) !== 0 && isClear(path),
  );
  const keyOf = ({ protocol, hostIP = "", hostPort }: ContainerPort): string =>
    `${protocol}/${hostIP}/${hostPort}`;
  for (const { port, path } of repeated(ports, (one) => keyOf(one.port)))
    findings.duplicate(path, `${port.hostPort}/${port.protocol}`);
}

function validateHostNetwork(containers: readonly PlacedContainer[], findings: Findings): void {
  const message = "must match `containerPort` when `hostNetwork` is true";
  for (const { port, path } of placedPorts(containers))
    if (
      port.hostPort !== port.containerPort &&
      !hasErrorBeside(path, ["containerPort", "hostPort"], findings)
    )
      findings.invalid(path, port.hostPort, message);
}

/** Whether one of these fields of the same object is wrong, so that what depends on it cannot be judged. */
function hasErrorBeside(path: FieldPath, fields: readonly string[], findings: Findings): boolean {
  const object = path.slice(0, -1);
  return fields.some((field) => findings.hasErrorIn([...object, field]));
}

/** Each port with the place of its hostPort. */
function placedPorts(containers: readonly PlacedContainer[]) {
  return containers.flatMap(({ container, path }) =>
    container.ports.map((port, index) => ({ port, path: [...path, "ports", index, "hostPort"] })),
  );
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
  for (const { container, path } of placedContainers(spec)) {
    if (container.securityContext.procMount !== "Unmasked") continue;
    const place = [...path, "securityContext", "procMount"];
    findings.invalid(place, "Unmasked", "`hostUsers` must be false to use `Unmasked`");
  }
}

type Named = readonly [name: string | undefined, path: FieldPath];

/** The texts of one field of a list, each at its written place. */
function placed<K extends string>(
  list: readonly (Written & { readonly [P in K]?: string })[],
  path: FieldPath,
  key: K,
): readonly Named[] {
  return list.map((entry, index) => [entry[key], [...path, writtenIndex(entry, index), key]]);
}

/** Reports each later occurrence; "" is no name and may repeat. */
function reportDuplicates(findings: Findings, names: readonly Named[]): void {
  const named = names.filter(([name = ""]) => name !== "");
  for (const [name, path] of repeated(named, ([one = ""]) => one)) findings.duplicate(path, name);
}

/** Of the kernel. */
const MAX_HOST_NAME = 64;

/** The kernel bounds a host name that is fully qualified. */
export function judgeNames(spec: PodSpec, podName: string, findings: Findings): void {
  if (!spec.setHostnameAsFQDN || spec.subdomain === undefined) return;
  const full = `${spec.hostname ?? podName}.${spec.subdomain}`;
  if (full.length <= MAX_HOST_NAME) return;
  const message = `the host name ${full} has ${full.length} characters; at most ${MAX_HOST_NAME} are possible`;
  findings.invalid(["spec", "setHostnameAsFQDN"], true, message);
}

/** k8s: validatePodDNSConfig */
export function judgeDns({ dnsPolicy, dnsConfig }: PodSpec, clusterDNS: boolean, root: Node): void {
  const { findings } = root;
  // ClusterFirst is what every dump of an API server has; the other one was written on purpose.
  if (dnsPolicy === "ClusterFirstWithHostNet" && !clusterDNS) {
    const message =
      "there is no cluster DNS on this node; the pod gets the node's resolv.conf (configure clusterDNS, or write Default)";
    findings.warn(["spec", "dnsPolicy"], "Ignored", message);
  }
  if (dnsPolicy !== "None") return;
  const none = "must provide at least one DNS nameserver when `dnsPolicy` is None";
  if (dnsConfig === undefined)
    findings.required(["spec", "dnsConfig"], "must provide `dnsConfig` when `dnsPolicy` is None");
  else if (dnsConfig.nameservers.length === 0)
    findings.required(["spec", "dnsConfig", "nameservers"], none);
}
