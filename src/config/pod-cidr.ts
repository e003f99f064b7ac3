// The address range of pods, which the agent hands on to the container runtime.

import type { Message } from "../api/decode/field-errors.ts";
import { IP_FORM } from "../api/validation/validate-names.ts";

/** One range, or one of IPv4 and one of IPv6: as the kubelet writes them, with a comma. */
export function podCIDRs(podCIDR: string): readonly string[] {
  return podCIDR.split(",");
}

export function podCIDRError(podCIDR: string): Message | undefined {
  const ranges = podCIDRs(podCIDR);
  const wrong = ranges.find((range) => !isCIDR(range));
  if (wrong !== undefined)
    return `must be an address range such as 10.88.0.0/16, or two with a comma between them; "${wrong}" is none`;
  const [first = "", second, third] = ranges;
  if (third !== undefined)
    return "must name at most two address ranges, one of IPv4 and one of IPv6";
  if (second !== undefined && isIPv6(first) === isIPv6(second))
    return "must name one address range of IPv4 and one of IPv6, not two of one family";
  return undefined;
}

function isCIDR(range: string): boolean {
  const [address = "", length = "", ...more] = range.split("/");
  if (more.length > 0 || IP_FORM.check(address) !== undefined) return false;
  return /^\d{1,3}$/.test(length) && Number(length) <= (isIPv6(address) ? 128 : 32);
}

function isIPv6(address: string): boolean {
  return address.includes(":");
}
