// Limits and requests of a container and of a pod as a whole, in canonical quantities. k8s: validateResourceRequirements

import { hinted, invalidValue, type Message } from "../decode/field-errors.ts";
import { invalidAt, type Node, type Place } from "../decode/field-reader.ts";
import { refused, NO_SCHEDULER } from "../decode/field-rules.ts";
import { deviceResourceError, isDeviceResource, isPodmanDevice } from "../resource/devices.ts";
import { exactQuantity, milliQuantity } from "../resource/quantity.ts";
import { fieldOf, judged, objectType, unread } from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { quantity } from "../schema/values.ts";
import { qualifiedNameError } from "../validation/validate-names.ts";
import { isJsonObject } from "../../lib/json.ts";
import { didYouMean } from "../../lib/suggest.ts";

const STANDARD: readonly string[] = ["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES = "hugepages-";
/** Billionths. */
const ONE = 1_000_000_000n;

/** Quantities in canonical text ("500m", "64Mi"), by resource. */
export interface ResourceList {
  readonly cpu?: string;
  readonly memory?: string;
  /** `ephemeral-storage`, `hugepages-2Mi`, `podman.io/device=/dev/x`, `vendor.com/class=name`. */
  readonly [resource: string]: string | undefined;
}

export function isHugePages(resource: string): boolean {
  return resource.startsWith(HUGE_PAGES);
}

/** What a pod can ask for as a whole. k8s: IsSupportedPodLevelResource */
export function isPodLevelResource(resource: string): boolean {
  return resource === "cpu" || resource === "memory" || isHugePages(resource);
}

/** Why a resource may not be requested. */
type ResourceRefusal = { readonly code: string; readonly message: Message };

interface AmountsOptions {
  /** Undefined = the resource may be requested. */
  readonly refusal: (resource: string) => ResourceRefusal | undefined;
  /** The same as a pattern, as far as it goes. */
  readonly names: string;
}

function amountsType({ refusal, names }: AmountsOptions): Type<ResourceList> {
  return {
    name: "map[string]Quantity",
    read(at) {
      if (!isJsonObject(at.value)) return invalidAt(at, "must be an object");
      const amounts: Record<string, string> = {};
      for (const [resource, value] of Object.entries(at.value)) {
        const place = { ...at, path: [...at.path, resource], value };
        const amount = readAmount(place);
        const refused = refusal(resource);
        // None of what this node does not have is no problem.
        const isNone = amount === "0" && refused?.code === "Unsupported";
        if (refused !== undefined && !isNone)
          at.findings.fail(place.path, refused.code, refused.message);
        if (refused !== undefined || amount === undefined) continue;
        judgeAmount(resource, amount, place);
        amounts[resource] = amount;
      }
      return amounts;
    },
    write: (amounts) => amounts,
    schema: () => ({
      type: ["object", "null"],
      propertyNames: { pattern: names },
      additionalProperties: quantity.schema(),
    }),
  };
}

/** k8s: SetDefaults_ResourceList */
function readAmount(place: Place): string | undefined {
  const amount = (place.value ?? null) === null ? undefined : quantity.read(place);
  return amount === undefined ? undefined : milliQuantity(amount);
}

/** k8s: validateContainerResourceName */
function containerResource(resource: string): ResourceRefusal | undefined {
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
function podResource(resource: string): ResourceRefusal | undefined {
  if (isPodLevelResource(resource)) return undefined;
  const message = `Unsupported value: ${JSON.stringify(resource)}: supported values: "cpu", "hugepages-", "memory"`;
  return { code: "Invalid", message };
}

function invalidName(resource: string, error: string | undefined): ResourceRefusal | undefined {
  return error === undefined
    ? undefined
    : { code: "Invalid", message: invalidValue(resource, error) };
}

function judgeAmount(resource: string, amount: string, place: Place): void {
  const exact = exactQuantity(amount) ?? 0n;
  const isCounted = isDeviceResource(resource) && !isPodmanDevice(resource);
  if (isCounted && exact !== 0n && exact !== ONE) invalidAt(place, "must be 1");
  if (isHugePages(resource) && !isMultiple(exact, resource))
    invalidAt(place, `${amount} is not positive integer multiple of ${resource}`);
  const isOfBytes = resource === "memory" || resource === "ephemeral-storage";
  if (!isOfBytes || exact % ONE === 0n) return;
  // Mostly a typing error for M or Mi.
  const written = String(place.value).trim();
  const hint = written.endsWith("m") ? `; ${written.slice(0, -1)}Mi may be meant` : "";
  const message = `fractional byte value ${JSON.stringify(amount)} is rounded up to whole bytes${hint}`;
  place.findings.warn(place.path, "Ignored", message);
}

/** k8s: IsHugePageResourceValueDivisible */
function isMultiple(amount: bigint, resource: string): boolean {
  const page = exactQuantity(resource.slice(HUGE_PAGES.length)) ?? 0n;
  return page > 0n && page % ONE === 0n && amount % page === 0n;
}

const CONTAINER_AMOUNTS = amountsType({
  refusal: containerResource,
  names: `^(${STANDARD.join("|")})$|^${HUGE_PAGES}|[/=]`,
});
const POD_AMOUNTS = amountsType({
  refusal: podResource,
  names: `^(cpu|memory)$|^${HUGE_PAGES}`,
});

function requirements(amounts: Type<ResourceList>, resources: string) {
  return {
    limits: fieldOf(amounts)({ about: `Upper limits by resource: ${resources}.`, default: {} }),
    requests: fieldOf(amounts)({
      about: "Reserved amounts by resource, at most the limit. Default: the limit.",
      default: {},
    }),
    claims: unread(
      "[]ResourceClaim",
      "Devices that a cluster's driver allocates.",
      refused(NO_SCHEDULER, []),
    ),
  };
}

export interface ResourceRequirements {
  readonly limits: ResourceList;
  readonly requests: ResourceList;
}

/** The place of `resources`. */
type At = Pick<Node, "findings" | "path">;

export function judgeRequirements({ limits, requests }: ResourceRequirements, at: At): void {
  for (const [resource, request = "0"] of Object.entries(requests))
    judgeRequest({ resource, request, limit: limits[resource] }, at);
  judgeHugePages([limits, requests], at);
}

interface Request {
  readonly resource: string;
  readonly request: string;
  readonly limit: string | undefined;
}

function judgeRequest({ resource, request, limit }: Request, at: At): void {
  if (isPodmanDevice(resource)) return;
  // What is left of it cannot be used by others.
  const isExact = isHugePages(resource) || isDeviceResource(resource);
  if (limit === undefined) {
    if (!isExact) return;
    const message = "Limit must be set for non overcommitable resources";
    at.findings.required([...at.path, "limits"], message);
    return;
  }
  const excess = (exactQuantity(request) ?? 0n) - (exactQuantity(limit) ?? 0n);
  if (excess === 0n || (excess < 0n && !isExact)) return;
  const relation = isExact ? "equal to" : "less than or equal to";
  const message = `must be ${relation} ${resource} limit of ${limit}`;
  at.findings.invalid([...at.path, "requests", resource], request, message);
}

function judgeHugePages(lists: readonly ResourceList[], at: At): void {
  const names = lists.flatMap((list) => Object.keys(list));
  if (!names.some(isHugePages)) return;
  if (names.includes("cpu") || names.includes("memory")) return;
  at.findings.forbidden(at.path, "HugePages require cpu or memory");
}

/** Of a container. Requests are as written: the defaults of the whole spec fill them from the limits. */
export const CONTAINER_RESOURCES: Type<ResourceRequirements> = objectType(
  "ResourceRequirements",
  requirements(CONTAINER_AMOUNTS, "cpu, memory, ephemeral-storage, hugepages-SIZE, and devices"),
  { check: judgeRequirements },
);

/** Of the pod as a whole; requests against limits are judged with the whole spec, after defaults. k8s: validatePodResourceRequirements */
export const POD_RESOURCES: Type<ResourceRequirements> = objectType(
  "ResourceRequirements",
  requirements(POD_AMOUNTS, "cpu, memory and hugepages-SIZE"),
);

/** k8s: validateOverhead */
export const OVERHEAD: Type<ResourceList> = judged(CONTAINER_AMOUNTS, (overhead, at) =>
  judgeHugePages([overhead], at),
);

export const NO_RESOURCES: ResourceRequirements = { limits: {}, requests: {} };
