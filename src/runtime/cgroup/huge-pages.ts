// Huge pages as the kernel names their sizes. kubelet: GetHugepageLimitsFromResources

import { amountIn } from "../../api/resource/pod-amounts.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { ResourceList } from "../../api/v1/resources.ts";

/** "2Mi" → "2MB". */
export function kernelPageSize(size: string): string {
  return size.replace(/i$/, "B");
}

/** A limit for each size there is: pages that nobody asked for are not for the container. */
export function hugePageLimits(
  limits: ResourceList,
  sizes: readonly string[],
): { readonly pageSize: string; readonly limit: bigint }[] {
  return sizes.map((size) => ({
    pageSize: kernelPageSize(size),
    limit: wholeUnits(amountIn(limits, `hugepages-${size}`)),
  }));
}
