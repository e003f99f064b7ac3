// What limits and requests must be to each other, of a container and of a pod as a whole. k8s: validateResourceRequirements

import { isDeviceResource } from "../resource/devices.ts";
import { invalidValue, type Node } from "../decode/field-reader.ts";
import type { ResourceList, ResourceRequirements } from "../v1/pod.ts";
import { exactQuantity } from "../resource/quantity.ts";

export const HUGE_PAGES = "hugepages-";

export function isHugePages(resource: string): boolean {
  return resource.startsWith(HUGE_PAGES);
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
  // Nobody else can use the rest of what is held like this.
  const isExact = isHugePages(resource) || isDeviceResource(resource);
  if (limit === undefined) {
    if (!isExact) return;
    const message = "Required value: Limit must be set for non overcommitable resources";
    at.findings.fail([...at.path, "limits"], "Required", message);
    return;
  }
  const excess = (exactQuantity(request) ?? 0n) - (exactQuantity(limit) ?? 0n);
  if (excess === 0n || (excess < 0n && !isExact)) return;
  const relation = isExact ? "equal to" : "less than or equal to";
  const message = `must be ${relation} ${resource} limit of ${limit}`;
  const path = [...at.path, "requests", resource];
  at.findings.fail(path, "Invalid", invalidValue(request, message));
}

export function judgeHugePages(lists: readonly ResourceList[], at: At): void {
  const names = lists.flatMap((list) => Object.keys(list));
  if (!names.some(isHugePages)) return;
  if (names.includes("cpu") || names.includes("memory")) return;
  at.findings.fail(at.path, "Invalid", "Forbidden: HugePages require cpu or memory");
}
