// What the node should run: the snapshots of all sources, merged by precedence. kubelet: PodConfig

import type { DesiredState, SourceSnapshot } from "../api/pod/desired-pod.ts";
import { reservedError } from "../api/pod/node-config-map.ts";
import { type DesiredObject, objectKey } from "../api/v1/object/local-object.ts";
import { podName } from "../api/v1/pod.ts";
import { firstOfEach } from "../lib/compare.ts";
import { admitPods, type AdmissionOptions } from "./admission/admission.ts";
import { compareSources, type GroupPriorities, shadowedPod, shadowedObject } from "./precedence.ts";
import { rejectionOf } from "./rejections.ts";

export interface MergeOptions extends AdmissionOptions {
  readonly groupPriorities: GroupPriorities;
}

/** At most one snapshot of each source may be given. Within a source, the given order decides. */
export function mergeSnapshots(
  snapshots: readonly SourceSnapshot[],
  options: MergeOptions,
): DesiredState {
  const ordered = snapshots.toSorted((a, b) =>
    compareSources(a.source, b.source, options.groupPriorities),
  );
  // A refused pod keeps its name: no pod of a lower source takes its place.
  const pods = firstOfEach(
    ordered.flatMap((snapshot) => snapshot.pods),
    ({ pod }) => podName(pod),
  );
  const { refusals, held } = admitPods(pods.firsts, options);
  // What only lingers and has made room is no mistake of anybody.
  const mistaken = [...refusals].filter(([{ lingers }]) => lingers !== true);
  const merged = mergeObjects(ordered.flatMap((snapshot) => snapshot.objects));
  const services = ordered.flatMap((snapshot) => snapshot.services ?? []);
  const ready = ordered.filter((snapshot) => snapshot.ready).map((snapshot) => snapshot.source);
  return {
    pods: pods.firsts.filter((pod) => !refusals.has(pod)),
    objects: merged.objects,
    ...(services.length === 0 ? {} : { services }),
    held: new Set([...held, ...ordered.flatMap((snapshot) => snapshot.held ?? [])]),
    ready: new Set(ready),
    rejected: [
      ...ordered.flatMap((snapshot) => snapshot.rejected),
      ...pods.repeats.map(({ item, first }) => shadowedPod(item, first)),
      ...mistaken.map(([, why]) => why),
      ...merged.rejected,
    ],
    notAdmitted: mistaken.map(([desired, why]) => ({ desired, why })),
  };
}

/** ConfigMaps, Secrets and claims, in order of precedence: the first of a name wins. */
function mergeObjects(
  inOrder: readonly DesiredObject[],
): Pick<DesiredState, "objects" | "rejected"> {
  const allowed = inOrder.filter(({ object }) => reservedError(object) === undefined);
  const { firsts, repeats } = firstOfEach(allowed, ({ object }) => objectKey(object));
  const reserved = inOrder.flatMap((desired) => {
    const error = reservedError(desired.object);
    return error === undefined ? [] : [rejectionOf(desired, desired.object, error)];
  });
  return {
    objects: firsts,
    rejected: [...reserved, ...repeats.map(({ item, first }) => shadowedObject(item, first))],
  };
}
