// What a pod needs beside its containers: other pods, images, volumes with the objects behind them.

import { dependenciesOf } from "../../api/pod/pod-annotations.ts";
import { KINDS, projectionsOf } from "../../api/pod/object-references.ts";
import { isConditionTrue } from "../../api/pod/pod-summary.ts";
import type { LocalObjectKind } from "../../api/v1/object/local-object.ts";
import { allStatuses } from "../../api/v1/pod-status.ts";
import { allContainers, podName } from "../../api/v1/pod.ts";
import type { Volume } from "../../api/v1/volumes.ts";
import { isMet } from "../../podworkers/dependencies.ts";
import { nameOf } from "../../podworkers/plan-workers.ts";
import type { EventEntry } from "../events-list.ts";
import type { ObjectEntry } from "../object-list.ts";
import type { PodEntry } from "../pod-list.ts";
import { categoryOf } from "./causes.ts";

/** A pod that another one waits for. */
export interface AwaitedPod {
  /** `namespace/name`. */
  readonly pod: string;
  /** What it has to be. */
  readonly state: string;
  /** What it is: `Ready`, its phase, or `NotFound`. */
  readonly now: string;
  readonly met: boolean;
}

export function awaitedPods({ pod }: PodEntry, pods: readonly PodEntry[]): readonly AwaitedPod[] {
  return dependenciesOf(pod).map((dependency) => {
    const name = nameOf(dependency);
    const status = pods.find((one) => podName(one.pod) === name)?.status;
    const { state } = dependency;
    if (status === undefined) return { pod: name, state, now: "NotFound", met: false };
    const now = isConditionTrue({ status }, "Ready") ? "Ready" : status.phase;
    return { pod: name, state, now, met: isMet(state, status) };
  });
}

export interface ExplainedImage {
  /** As the pod names it. */
  readonly image: string;
  readonly state: "Present" | "Pulling" | "Failed" | "Unknown";
  /** How far the pull is, or its error. */
  readonly message?: string;
}

export function explainImages({ pod, status }: PodEntry): readonly ExplainedImage[] {
  const images = new Map<string, ExplainedImage>();
  const statuses = allStatuses(status);
  for (const { name, image } of allContainers(pod.spec)) {
    const own = statuses.find((one) => one.name === name);
    const { reason = "", message = "" } = own?.state.waiting ?? {};
    const isPresent = own !== undefined && own.imageID !== "";
    const known = images.get(image);
    if (known !== undefined && known.state !== "Unknown") continue;
    images.set(image, { image, ...imageState({ isPresent, reason, message }) });
  }
  return [...images.values()];
}

function imageState(of: {
  readonly isPresent: boolean;
  readonly reason: string;
  readonly message: string;
}): Omit<ExplainedImage, "image"> {
  const { isPresent, reason, message } = of;
  if (message.startsWith("pulling image ")) return { state: "Pulling", message };
  if (categoryOf(reason, message) === "pull") return { state: "Failed", message };
  return { state: isPresent ? "Present" : "Unknown" };
}

export interface ExplainedVolume {
  readonly name: string;
  /** The field of its source: `configMap`, `hostPath`, … */
  readonly kind: string;
  readonly state: "Ready" | "Failed" | "Missing" | "Unknown";
  /** The object behind it that is missing, or the error. */
  readonly message?: string;
}

/** Facts that volumes are explained by. */
interface VolumeFacts {
  readonly objects?: readonly ObjectEntry[];
  readonly events: readonly EventEntry[];
}

export function explainVolumes(
  entry: PodEntry,
  { objects, events }: VolumeFacts,
): readonly ExplainedVolume[] {
  const { spec, metadata } = entry.pod;
  const waiting = allStatuses(entry.status).flatMap(({ state }) => state.waiting ?? []);
  const failed = waiting.find(
    ({ reason, message = "" }) => categoryOf(reason, message) === "volume",
  );
  const message =
    failed?.message ??
    (failed === undefined
      ? undefined
      : events.findLast(
          ({ reason, object }) => reason === "FailedMount" && object.uid === metadata.uid,
        )?.message);
  const areReady = isConditionTrue(entry, "PodReadyToStartContainers");
  return spec.volumes.map((volume) => {
    const { name } = volume;
    const [kind = "emptyDir"] = Object.keys(volume).filter((key) => key !== "name");
    const missing = objects === undefined ? undefined : missingBehind(volume, objects);
    if (missing !== undefined) return { name, kind, state: "Missing", message: missing };
    if (message?.includes(`"${name}"`) === true) return { name, kind, state: "Failed", message };
    return { name, kind, state: areReady ? "Ready" : "Unknown" };
  });
}

/** As a sentence; undefined = nothing is missing. */
function missingBehind(volume: Volume, objects: readonly ObjectEntry[]): string | undefined {
  const wanted: readonly { readonly kind: LocalObjectKind; readonly name: string }[] =
    "persistentVolumeClaim" in volume
      ? [{ kind: "PersistentVolumeClaim", name: volume.persistentVolumeClaim.claimName }]
      : projectionsOf(volume).flatMap(({ type, name, optional }) =>
          optional ? [] : [{ kind: KINDS[type], name }],
        );
  const missing = wanted.find(
    ({ kind, name }) =>
      !objects.some(({ object }) => object.kind === kind && object.metadata.name === name),
  );
  return missing === undefined
    ? undefined
    : `${missing.kind} "${missing.name}" is not on this node`;
}
