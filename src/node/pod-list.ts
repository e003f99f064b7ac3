// The pods of this node as a v1 PodList, as the kubelet's own `/pods` shows them.

import { ANNOTATION } from "../api/pod/labels.ts";
import type { SourceName } from "../api/pod/desired-pod.ts";
import type { PodCondition, PodStatus } from "../api/v1/pod-status.ts";
import type { Pod } from "../api/v1/pod.ts";
import { rfc3339 } from "../lib/clock.ts";
import { POD_SPEC, type PodSpec } from "../api/v1/pod-spec.ts";
import { map, type V1Object, writtenObject } from "./v1-shape.ts";
import { compareText } from "../lib/compare.ts";
import { type PendingUpdate, withUpdateConditions } from "../api/pod/update-condition.ts";

/** One pod with its status and origin. */
export interface PodEntry {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly source: SourceName;
  readonly sourceRef: string;
  readonly specHash: string;
  /** The name of this node. */
  readonly nodeName: string;
  /** A newer spec of this name that pulls or waits while this pod runs. */
  readonly pendingUpdate?: PendingUpdate;
  /** Set if the pod does not, or not certainly, run the spec of its document. */
  readonly updateCondition?: PodCondition;
  /** Wall-clock milliseconds when its removal began. */
  readonly deletedAt?: number;
}

/** Sorted by namespace and name. */
export function podList(
  entries: readonly PodEntry[],
): V1Object & { readonly items: readonly V1Object[] } {
  return {
    kind: "PodList",
    apiVersion: "v1",
    metadata: {},
    items: entries.toSorted((a, b) => order(a.pod, b.pod)).map(v1Pod),
  };
}

function order({ metadata: a }: Pod, { metadata: b }: Pod): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** The pod with its origin in annotations; empty lists and false booleans are omitted, as in Kubernetes. */
export function v1Pod(entry: PodEntry): V1Object {
  const { apiVersion, kind, metadata, spec } = entry.pod;
  const { labels, annotations, ...named } = metadata;
  const { startTime } = entry.status;
  return {
    apiVersion,
    kind,
    metadata: {
      ...named,
      ...(startTime === undefined ? {} : { creationTimestamp: startTime }),
      ...map("labels", labels),
      annotations: { ...annotations, ...originOf(entry) },
      ...(entry.deletedAt === undefined ? {} : { deletionTimestamp: rfc3339(entry.deletedAt) }),
    },
    spec: { ...writtenSpec(spec), nodeName: entry.nodeName },
    status: v1Status(entry),
  };
}

/** Every list shows every pod, and a spec never changes: it is written once. */
const WRITTEN = new WeakMap<PodSpec, V1Object>();

function writtenSpec(spec: PodSpec): V1Object {
  const known = WRITTEN.get(spec);
  if (known !== undefined) return known;
  const written = writtenObject(POD_SPEC.write(withTolerations(spec)));
  WRITTEN.set(spec, written);
  return written;
}

/** A static pod is never evicted for a taint of its node. kubelet: applyDefaults */
const NO_EXECUTE = { key: "", operator: "Exists", value: "", effect: "NoExecute" } as const;

function withTolerations(spec: PodSpec): PodSpec {
  const others = spec.tolerations.filter(
    ({ key, operator, effect }) =>
      key !== NO_EXECUTE.key || operator !== NO_EXECUTE.operator || effect !== NO_EXECUTE.effect,
  );
  return { ...spec, tolerations: [...others, NO_EXECUTE] };
}

function originOf({ source, sourceRef, specHash }: PodEntry): Readonly<Record<string, string>> {
  return {
    [ANNOTATION.configSource]: source,
    [ANNOTATION.configHash]: specHash,
    [ANNOTATION.sourceRef]: sourceRef,
  };
}

function v1Status({ status, pendingUpdate, updateCondition }: PodEntry): V1Object {
  const { initContainerStatuses, conditions, ...rest } = status;
  return {
    ...rest,
    ...(initContainerStatuses.length === 0 ? {} : { initContainerStatuses }),
    conditions: withUpdateConditions(conditions, pendingUpdate, updateCondition),
  };
}
