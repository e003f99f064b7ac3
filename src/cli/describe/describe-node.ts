// The node as kubectl describes it. kubectl: describeNode

import {
  amountsOf,
  add,
  podLimits,
  podRequests,
  type Amounts,
} from "../../api/resource/pod-requests-limits.ts";
import { quantityText } from "../../api/resource/quantity.ts";
import { readValue } from "../../api/schema/read-value.ts";
import { POD_SPEC } from "../../api/v1/pod-spec.ts";
import type { JsonObject } from "../../lib/json.ts";
import { age } from "../terminal-text.ts";
import {
  annotationLines,
  conditionsOf,
  eventLines,
  labelLines,
  longTime,
  nameLines,
  orNone,
  sortedEntries,
  type Described,
} from "./describe-common.ts";
import { Description } from "./description.ts";
import { isTrueAt, listAt, objectAt, textAt, textsAt } from "./read-json.ts";

const SYSTEM_INFO: Readonly<Record<string, string>> = {
  "Machine ID": "machineID",
  "System UUID": "systemUUID",
  "Boot ID": "bootID",
  "Kernel Version": "kernelVersion",
  "OS Image": "osImage",
  "Operating System": "operatingSystem",
  Architecture: "architecture",
  "Container Runtime Version": "containerRuntimeVersion",
  "Kubelet Version": "kubeletVersion",
  "Kube-Proxy Version": "kubeProxyVersion",
};

/** `pods`: all of the node. */
export function describeNode(
  described: Described & { readonly pods: readonly JsonObject[] },
): string {
  const { object: node, pods, now } = described;
  const out = new Description(described.palette);
  nameLines(out, node);
  out.line(0, "Roles:", orNone(rolesOf(node)));
  labelLines(out, node);
  annotationLines(out, node);
  out.line(0, "CreationTimestamp:", longTime(textAt(node, "metadata", "creationTimestamp")));
  out.line(0, "Taints:", "<none>");
  out.line(0, "Unschedulable:", String(isTrueAt(node, "spec", "unschedulable")));
  conditionLines(out, node);
  out.line(0, "Addresses:");
  for (const one of listAt(node, "status", "addresses"))
    out.line(1, `${textAt(one, "type")}:`, textAt(one, "address"));
  for (const title of ["Capacity", "Allocatable"]) {
    out.line(0, `${title}:`);
    for (const [name, amount] of sortedEntries(objectAt(node, "status", title.toLowerCase())))
      out.line(1, `${name}:`, amount);
  }
  out.line(0, "System Info:");
  for (const [title, field] of Object.entries(SYSTEM_INFO))
    out.line(1, `${title}:`, textAt(node, "status", "nodeInfo", field));
  const range = textAt(node, "spec", "podCIDR");
  if (range !== "") out.line(0, "PodCIDR:", range);
  const ranges = textsAt(node, "spec", "podCIDRs");
  if (ranges.length > 0) out.line(0, "PodCIDRs:", ranges.join(","));
  resourceLines(out, node, pods.filter(isActive), now);
  eventLines(out, described);
  return out.toString();
}

const ROLE = "node-role.kubernetes.io/";

function rolesOf(node: JsonObject): string {
  return Object.keys(objectAt(node, "metadata", "labels"))
    .filter((label) => label.startsWith(ROLE) && label !== ROLE)
    .map((label) => label.slice(ROLE.length))
    .toSorted()
    .join(",");
}

function conditionLines(out: Description, node: JsonObject): void {
  const conditions = conditionsOf(node);
  if (conditions.length === 0) return;
  out.line(0, "Conditions:");
  const titles = ["Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message"];
  out.line(1, ...titles);
  out.line(1, ...titles.map(underline));
  for (const one of conditions) {
    const time = (field: string): string => longTime(textAt(one, field)) || "<unknown>";
    const cells = [
      textAt(one, "type"),
      textAt(one, "status"),
      time("lastHeartbeatTime"),
      time("lastTransitionTime"),
      textAt(one, "reason"),
      textAt(one, "message"),
    ];
    out.line(1, ...cells.map((cell, index) => (index === 4 || index === 5 ? cell : `${cell} `)));
  }
}

function underline(title: string): string {
  return "-".repeat(title.length);
}

function isActive(pod: JsonObject): boolean {
  return !["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
}

const NONE: Amounts = new Map();

interface Used {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function usedBy(pod: JsonObject): Used {
  const read = readValue(POD_SPEC, pod["spec"], { unknownFields: "warn" });
  if (!read.ok) return { requests: NONE, limits: NONE };
  return { requests: podRequests(read.value), limits: podLimits(read.value).amounts };
}

function resourceLines(
  out: Description,
  node: JsonObject,
  pods: readonly JsonObject[],
  now: number,
): void {
  const allocatable = amountsOf(
    Object.fromEntries(sortedEntries(objectAt(node, "status", "allocatable"))),
  );
  const share = (amounts: Amounts, name: string): string =>
    shareText(amounts, name, allocatable.get(name) ?? 0n);
  out.line(0, "Non-terminated Pods:", `(${pods.length} in total)`);
  const titles = ["CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age"];
  out.line(1, "Namespace", "Name", "", ...titles);
  out.line(1, "---------", "----", "", ...titles.map(underline));
  let all: Used = { requests: NONE, limits: NONE };
  for (const pod of pods) {
    const used = usedBy(pod);
    all = { requests: add(all.requests, used.requests), limits: add(all.limits, used.limits) };
    const { requests, limits } = used;
    out.line(
      1,
      textAt(pod, "metadata", "namespace"),
      textAt(pod, "metadata", "name"),
      "",
      share(requests, "cpu"),
      share(limits, "cpu"),
      share(requests, "memory"),
      share(limits, "memory"),
      age(textAt(pod, "metadata", "creationTimestamp"), now),
    );
  }
  out.line(0, "Allocated resources:");
  out.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)");
  out.line(1, "Resource", "Requests", "Limits");
  out.line(1, "--------", "--------", "------");
  for (const name of ["cpu", "memory", "ephemeral-storage"])
    out.line(1, name, share(all.requests, name), share(all.limits, name));
  const others = [...allocatable.keys()].filter((name) => name.startsWith("hugepages-")).toSorted();
  for (const name of others) out.line(1, name, share(all.requests, name), share(all.limits, name));
}

function shareText(amounts: Amounts, name: string, of: bigint): string {
  const amount = amounts.get(name) ?? 0n;
  const percent = of === 0n ? 0n : (amount * 100n) / of;
  return `${quantityText(amount, name === "cpu" ? "Decimal" : "Binary")} (${percent}%)`;
}
