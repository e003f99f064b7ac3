// Whether this node can run one pod: classes, node affinity, AppArmor, sysctls, resources. kubelet: canAdmitPod

import { formatPath } from "../../api/decode/field-path.ts";
import type { Amounts } from "../../api/resource/pod-requests-limits.ts";
import { placedContainers, type Pod } from "../../api/v1/pod.ts";
import { priorityOfClass, type PriorityClasses } from "../../api/resource/priority.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { SecurityProfile } from "../../api/v1/security-context.ts";
import {
  isAllowedSysctl,
  isSafeSysctl,
  normalSysctl,
  sysctlNamespace,
} from "../../api/validation/sysctls.ts";
import { pressureError, type NodePressure } from "./pressure.ts";
import { affinityError, type LabelledNode } from "./node-affinity.ts";
import type { FieldError } from "../../lib/result.ts";
import type { Room } from "./room.ts";

/** What admission depends on. kubelet: NodeInfo */
export interface NodeInfo extends LabelledNode {
  /** Capacity less what is reserved; the node has nothing of a resource that is absent. */
  readonly allocatable: Amounts;
  /** Whether the kernel enforces AppArmor profiles. */
  readonly hasAppArmor: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly maxPods: number;
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly priorityClasses: PriorityClasses;
  /** What the node is short of; absent = nothing. */
  readonly pressure?: NodePressure;
}

const OS_LABEL = "kubernetes.io/os";
/** Resources that admission counts; devices are checked when a container starts. */
const COUNTED = /^(?:cpu|memory|ephemeral-storage|hugepages-.+)$/;

/** The first reason for a refusal, permanent ones first; undefined = admitted. */
export function admit(pod: Pod, node: NodeInfo, taken: Room): FieldError | undefined {
  return (
    systemError(pod) ??
    classError(pod, node) ??
    affinityError(pod, node) ??
    appArmorError(pod, node) ??
    sysctlError(pod, node) ??
    pressureError(pod, node.pressure) ??
    roomError(pod, node, taken)
  );
}

export function isCounted(resource: string): boolean {
  return COUNTED.test(resource);
}

/** Of the label alone; the field `spec.os` is checked when the pod is read. kubelet: rejectPodAdmissionBasedOnOSSelector */
function systemError({ metadata }: Pod): FieldError | undefined {
  const system = metadata.labels?.[OS_LABEL];
  if (system === undefined || system === "linux") return undefined;
  return {
    code: "PodOSSelectorNodeLabelDoesNotMatch",
    path: formatPath(["metadata", "labels", OS_LABEL]),
    message: `this node is "linux", and the pod is labelled "${system}"; remove the label`,
  };
}

function classError(
  { spec }: Pod,
  { priorityClasses, runtimeClasses }: NodeInfo,
): FieldError | undefined {
  const { priorityClassName, priority, runtimeClassName } = spec;
  if (runtimeClassName !== undefined && !Object.hasOwn(runtimeClasses, runtimeClassName))
    return {
      code: "RuntimeClassNotFound",
      path: "spec.runtimeClassName",
      message: `RuntimeClass "${runtimeClassName}" not found; add it with its handler to runtimeClasses in the agent's configuration`,
    };
  if (priorityClassName === undefined) return undefined;
  const value = priorityOfClass(priorityClassName, priorityClasses);
  if (value === undefined)
    return {
      code: "PriorityClassNotFound",
      path: "spec.priorityClassName",
      message: `no PriorityClass with name ${priorityClassName} was found; add it with its value to priorityClasses in the agent's configuration`,
    };
  if (priority === undefined || priority === value) return undefined;
  return {
    code: "Forbidden",
    path: "spec.priority",
    message: `the integer value of priority (${priority}) must not be provided in pod spec; the PriorityClass ${priorityClassName} has ${value}`,
  };
}

function appArmorError(pod: Pod, { hasAppArmor }: NodeInfo): FieldError | undefined {
  if (hasAppArmor) return undefined;
  const path = appArmorPath(pod);
  if (path === undefined) return undefined;
  return {
    code: "AppArmor",
    path,
    message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
  };
}

/** The first field with a profile that only a kernel with AppArmor can enforce. */
function appArmorPath({ spec }: Pod): string | undefined {
  if (isDemanded(spec.securityContext.appArmorProfile))
    return "spec.securityContext.appArmorProfile";
  const demanding = placedContainers(spec).find(({ container }) =>
    isDemanded(container.securityContext.appArmorProfile),
  );
  return demanding && formatPath([...demanding.path, "securityContext", "appArmorProfile"]);
}

function isDemanded(profile: SecurityProfile | undefined): boolean {
  return profile !== undefined && profile.type !== "Unconfined";
}

function sysctlError({ spec }: Pod, { allowedUnsafeSysctls }: NodeInfo): FieldError | undefined {
  for (const [index, { name }] of spec.securityContext.sysctls.entries()) {
    const why = forbiddenSysctl(name, spec, allowedUnsafeSysctls);
    if (why === undefined) continue;
    const path = formatPath(["spec", "securityContext", "sysctls", index, "name"]);
    return { code: "SysctlForbidden", path, message: `forbidden sysctl: ${why}` };
  }
  return undefined;
}

function forbiddenSysctl(
  name: string,
  { hostNetwork, hostIPC }: Pod["spec"],
  allowed: readonly string[],
): string | undefined {
  const normal = normalSysctl(name);
  const namespace = sysctlNamespace(normal);
  const isAllowed = isSafeSysctl(name) || isAllowedSysctl(name, allowed);
  // A sysctl that is not namespaced would change the node, whatever a list allows.
  if (!isAllowed || namespace === undefined)
    return `"${normal}" not allowlisted${namespace === undefined ? "" : " (allowedUnsafeSysctls of the configuration)"}`;
  const isShared = namespace === "net" ? hostNetwork : hostIPC;
  return isShared ? `"${normal}" not allowed with host ${namespace} enabled` : undefined;
}

function roomError(pod: Pod, node: NodeInfo, taken: Room): FieldError | undefined {
  for (const [resource, requested] of taken.requestsOf(pod)) {
    if (requested === 0n || !COUNTED.test(resource)) continue;
    const used = taken.usedBeside(pod, resource);
    const capacity = node.allocatable.get(resource) ?? 0n;
    if (requested + used <= capacity) continue;
    return {
      code: `OutOf${resource}`,
      path: requestPath(pod, resource),
      message: `Node didn't have enough resource: ${resource}, requested: ${inUnits(resource, requested)}, used: ${inUnits(resource, used)}, capacity: ${inUnits(resource, capacity)}`,
    };
  }
  return undefined;
}

/** Kubernetes reports CPU in thousandths, other resources in whole units. */
function inUnits(resource: string, milli: bigint): string {
  return String(resource === "cpu" ? milli : wholeUnits(milli));
}

/** The first field that requests the resource. */
function requestPath({ spec }: Pod, resource: string): string {
  const inList = ["resources", "requests", resource] as const;
  if (spec.resources.requests[resource] !== undefined) return formatPath(["spec", ...inList]);
  const asking = placedContainers(spec).find(
    ({ container }) => container.resources.requests[resource] !== undefined,
  );
  if (asking === undefined) return formatPath(["spec", "overhead", resource]);
  return formatPath([...asking.path, ...inList]);
}
