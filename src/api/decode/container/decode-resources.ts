// limits and requests as written → canonical quantities by resource, requests within limits. k8s: validateResourceRequirements

import { deviceResourceError, isDeviceResource } from "../../resource/devices.ts";
import { checkFields, invalid, invalidValue, objectField, type Node } from "../field-reader.ts";
import { isPodLevelResource } from "../../validation/pod-level-resources.ts";
import type { ResourceList, ResourceRequirements } from "../../v1/pod.ts";
import {
  canonicalQuantity,
  exactQuantity,
  milliQuantity,
  quantityError,
} from "../../resource/quantity.ts";
import {
  HUGE_PAGES,
  isHugePages,
  judgeHugePages,
  judgeRequirements,
} from "../../validation/resource-rules.ts";
import { RESOURCES } from "../../schema/container.ts";
import { hinted, type Message } from "../field-errors.ts";
import { didYouMean } from "../../../lib/suggest.ts";
import { qualifiedNameError } from "../../validation/validate-names.ts";

const STANDARD: readonly string[] = ["cpu", "memory", "ephemeral-storage"];
/** Billionths. */
const ONE = 1_000_000_000n;

/** Requests are as written here; `defaults` fills them from the limits. */
export function decodeResources(node: Node | undefined): ResourceRequirements {
  const resources = decodeRequirements(node, containerResource);
  if (node !== undefined) judgeRequirements(resources, node);
  return resources;
}

/** Of the pod as a whole; requests against limits are judged with the whole spec, after defaults. k8s: validatePodResourceRequirements */
export function decodePodResources(node: Node | undefined): ResourceRequirements {
  return decodeRequirements(node, podResource);
}

/** A pod's overhead. k8s: validateOverhead */
export function decodeOverhead(node: Node | undefined): ResourceList {
  const overhead = decodeAmounts(node, containerResource);
  if (node !== undefined) judgeHugePages([overhead], node);
  return overhead;
}

/** A quantity that is text or a number, in canonical text. */
export function quantityField(node: Node, key: string): string | undefined {
  const value = node.value[key];
  if (value === undefined || value === null) return undefined;
  const text = typeof value === "number" || typeof value === "string" ? String(value).trim() : "";
  const canonical = canonicalQuantity(text);
  if (canonical?.startsWith("-") === false) return canonical;
  const isQuantity = canonical !== undefined;
  const error = isQuantity ? "must be greater than or equal to 0" : quantityError(text);
  if (error !== undefined) invalid(node, key, error);
  return undefined;
}

/** Disk that is limited, where nothing evicts a pod for taking more. */
export function warnUnenforced(node: Node, key: string, instead = ""): void {
  const message = `how much disk is used is not enforced: there is no eviction on this node yet${instead}`;
  node.findings.warn([...node.path, key], "Ignored", message);
}

type Refusal = { readonly code: string; readonly message: Message };

/** Undefined = it may be asked for. */
type JudgeName = (resource: string) => Refusal | undefined;

function decodeRequirements(node: Node | undefined, judgeName: JudgeName): ResourceRequirements {
  if (node === undefined) return { limits: {}, requests: {} };
  checkFields(node, RESOURCES);
  const written = objectField(node, "limits");
  const limits = decodeAmounts(written, judgeName);
  const requests = decodeAmounts(objectField(node, "requests"), judgeName);
  if (written !== undefined && limits["ephemeral-storage"] !== undefined)
    warnUnenforced(written, "ephemeral-storage");
  return { limits, requests };
}

function decodeAmounts(node: Node | undefined, judgeName: JudgeName): ResourceList {
  if (node === undefined) return {};
  const amounts: Record<string, string> = {};
  for (const key of Object.keys(node.value)) {
    const written = quantityField(node, key);
    // k8s: SetDefaults_ResourceList
    const amount = written === undefined ? undefined : milliQuantity(written);
    const refusal = judgeName(key);
    // Nothing of what this node does not have is no problem.
    const isNone = amount === "0" && refusal?.code === "Unsupported";
    if (refusal !== undefined && !isNone)
      node.findings.fail([...node.path, key], refusal.code, refusal.message);
    if (refusal !== undefined || amount === undefined) continue;
    judgeAmount(node, key, amount);
    amounts[key] = amount;
  }
  return amounts;
}

/** k8s: validateContainerResourceName */
function containerResource(resource: string): Refusal | undefined {
  if (STANDARD.includes(resource) || isHugePages(resource)) return undefined;
  if (isDeviceResource(resource)) return invalidName(resource, deviceResourceError(resource));
  const nameError = qualifiedNameError(resource);
  if (nameError !== undefined) return invalidName(resource, nameError);
  if (!resource.includes("/")) return { code: "Invalid", message: notStandard(resource) };
  const message =
    "there are no device plugins on this node; ask for the device with the annotation agent/devices, podman.io/device=/dev/x or a CDI name such as vendor.com/class=name";
  return { code: "Unsupported", message };
}

function notStandard(resource: string): Message {
  const message = invalidValue(resource, "must be a standard resource for containers");
  return hinted(message, () => didYouMean(resource, STANDARD));
}

/** k8s: validatePodResourceName */
function podResource(resource: string): Refusal | undefined {
  if (isPodLevelResource(resource)) return undefined;
  const message = `Unsupported value: ${JSON.stringify(resource)}: supported values: "cpu", "hugepages-", "memory"`;
  return { code: "Invalid", message };
}

function invalidName(resource: string, error: string | undefined): Refusal | undefined {
  return error === undefined
    ? undefined
    : { code: "Invalid", message: invalidValue(resource, error) };
}

function judgeAmount(node: Node, resource: string, amount: string): void {
  const exact = exactQuantity(amount) ?? 0n;
  if (isDeviceResource(resource) && exact !== 0n && exact !== ONE)
    invalid(node, resource, "must be 1");
  if (isHugePages(resource) && !isMultiple(exact, resource))
    invalid(node, resource, `${amount} is not positive integer multiple of ${resource}`);
  const isOfBytes = resource === "memory" || resource === "ephemeral-storage";
  if (!isOfBytes || exact % ONE === 0n) return;
  // Nearly always a slip of the pen for M or Mi.
  const slip = String(node.value[resource]).trim();
  const hint = slip.endsWith("m") ? `; ${slip.slice(0, -1)}Mi may be meant` : "";
  const message = `fractional byte value ${JSON.stringify(amount)} is rounded up to whole bytes${hint}`;
  node.findings.warn([...node.path, resource], "Ignored", message);
}

/** k8s: IsHugePageResourceValueDivisible */
function isMultiple(amount: bigint, resource: string): boolean {
  const page = exactQuantity(resource.slice(HUGE_PAGES.length)) ?? 0n;
  return page > 0n && page % ONE === 0n && amount % page === 0n;
}
