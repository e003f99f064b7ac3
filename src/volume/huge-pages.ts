// Which page size an emptyDir of huge pages gets. kubelet: getPageSizeMountOption

import { allContainers, type Pod } from "../api/v1/pod.ts";
import { parseQuantity, wholeUnits } from "../api/resource/quantity.ts";
import type { EmptyDirMedium } from "../api/v1/volumes.ts";

const RESOURCE = "hugepages-";

/** Bytes of a page, or a sentence why there are none. */
export function hugePageBytes(medium: EmptyDirMedium, pod: Pod): number | string {
  const requested = requestedSizes(pod);
  const none = `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`;
  if (medium !== "HugePages") {
    const size = bytesOf(medium.slice("HugePages-".length));
    return size !== undefined && requested.has(size) ? size : none;
  }
  const [first, second] = requested;
  if (second !== undefined)
    return `medium: ${medium} can't be used if container requests multiple huge page sizes`;
  return first ?? none;
}

function requestedSizes(pod: Pod): ReadonlySet<number> {
  const lists = [pod.spec.resources, ...allContainers(pod.spec).map(({ resources }) => resources)];
  const names = lists.flatMap(({ requests }) => Object.keys(requests));
  const sizes = names
    .filter((name) => name.startsWith(RESOURCE))
    .map((name) => bytesOf(name.slice(RESOURCE.length)));
  return new Set(sizes.filter((size) => size !== undefined));
}

function bytesOf(quantity: string): number | undefined {
  const milli = parseQuantity(quantity);
  return milli === undefined || milli <= 0n ? undefined : Number(wholeUnits(milli));
}
