// Which source has precedence (files, URL, the node's document, group documents by priority), and how what it hides is
// reported: Shadowed, DuplicatePod, DuplicateObject.

import { nameOf, rejectionOf, declaredBy } from "./rejections.ts";
import type { SourceName } from "../api/pod/labels.ts";
import { compareText } from "../lib/compare.ts";
import { groupOf } from "../protocol/desired-document.ts";
import type { DesiredPod, Rejection } from "../api/pod/desired-pod.ts";
import { podName } from "../api/v1/pod.ts";
import { type DesiredObject, objectKey } from "../api/v1/object/local-object.ts";

/** By name; the higher wins, unknown groups count as 0. */
export type GroupPriorities = ReadonlyMap<string, number>;

const BEFORE_GROUPS: readonly SourceName[] = ["file", "http", "mqtt:node"];

/** The lower rank has precedence; all groups have the same. */
export function rankOf(source: SourceName): number {
  const rank = BEFORE_GROUPS.indexOf(source);
  return rank < 0 ? BEFORE_GROUPS.length : rank;
}

/** Whether `one` certainly has precedence over `other`; between two groups it depends on their priorities. */
export function outranks(one: SourceName, other: SourceName): boolean {
  return rankOf(one) < rankOf(other);
}

/** For `toSorted`: the source with precedence comes first. */
export function compareSources(a: SourceName, b: SourceName, priorities: GroupPriorities): number {
  const priorityOf = (source: SourceName): number => priorities.get(groupOf({ source }) ?? "") ?? 0;
  return rankOf(a) - rankOf(b) || priorityOf(b) - priorityOf(a) || compareText(a, b);
}

/** Whether a merge has put a pod of another source before this pod. A pod that is only missing from the merge is not
 * shadowed: the merge may be older. */
export function isShadowed(desired: DesiredPod, rejected: readonly Rejection[]): boolean {
  return rejected.some((one) => one.code === "Shadowed" && isAbout(one, desired));
}

/** Whether the rejection is of this pod. */
export function isAbout(rejection: Rejection, { pod, source }: DesiredPod): boolean {
  const { kind, namespace, name } = nameOf(pod);
  return (
    rejection.source === source &&
    rejection.kind === kind &&
    rejection.namespace === namespace &&
    rejection.name === name
  );
}

export function shadowedPod(desired: DesiredPod, winner: DesiredPod): Rejection {
  return rejectionOf(desired, desired.pod, {
    code: desired.source === winner.source ? "DuplicatePod" : "Shadowed",
    path: "metadata.name",
    message: `${podName(desired.pod)} of ${declaredBy(winner)} runs instead: it comes first`,
  });
}

export function shadowedObject(desired: DesiredObject, winner: DesiredObject): Rejection {
  return rejectionOf(desired, desired.object, {
    code: desired.source === winner.source ? "DuplicateObject" : "Shadowed",
    path: "metadata.name",
    message: `${objectKey(desired.object)} of ${declaredBy(winner)} counts instead: it comes first`,
  });
}
