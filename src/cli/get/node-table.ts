// The node as a row.

import type { NodeView } from "../api-views.ts";
import { age } from "./pod-table.ts";
import type { Row } from "../table.ts";

export function nodeHeader(wide: boolean): Row {
  const columns = ["NAME", "STATUS", "AGE", "VERSION"];
  const details = ["INTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "ARCH", "CONTAINER-RUNTIME"];
  return wide ? [...columns, ...details] : columns;
}

/** `now` is wall-clock ms, for the age only. */
export function nodeRow(node: NodeView, wide: boolean, now: number): Row {
  const info = node.status.nodeInfo ?? {};
  const address = node.status.addresses?.find((entry) => entry.type === "InternalIP");
  const row = [
    node.metadata.name,
    nodeStatus(node),
    age(node.metadata.creationTimestamp, now),
    info["kubeletVersion"] ?? "",
  ];
  if (!wide) return row;
  const details = ["osImage", "kernelVersion", "architecture", "containerRuntimeVersion"];
  return [...row, address?.address ?? "", ...details.map((key) => info[key] ?? "")];
}

/** `Ready` or `NotReady`, then every other condition that is true: on a node each of them is trouble. */
function nodeStatus(node: NodeView): string {
  const conditions = node.status.conditions ?? [];
  const ready = conditions.find((condition) => condition.type === "Ready");
  const troubles = conditions
    .filter((condition) => condition.type !== "Ready" && condition.status === "True")
    .map((condition) => condition.type);
  return [ready?.status === "True" ? "Ready" : "NotReady", ...troubles].join(",");
}
