// How the author of a pod wants its updates carried out: annotations that outweigh the policy of its document.

import type { UpdatePolicy } from "./update-policy.ts";
import { annotationOf, UPDATE_LOCK } from "./pod-annotations.ts";
import type { Findings } from "../decode/field-errors.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import type { Pod } from "../v1/pod.ts";
import { withoutUndefined } from "../../lib/json.ts";

type Annotations = Readonly<Record<string, string>>;

type PodPolicy = Pick<
  UpdatePolicy,
  "minReadySeconds" | "progressDeadlineSeconds" | "onFailure" | "strategy"
>;

/** The document's policy, as far as the pod's annotations do not replace it. Invalid annotations of an accepted pod are ignored. */
export function policyOf<P extends PodPolicy>(pod: Pod, policy: P): P {
  const own = withoutUndefined({
    minReadySeconds: annotationOf(pod, "agent/min-ready-seconds"),
    progressDeadlineSeconds: annotationOf(pod, "agent/progress-deadline-seconds"),
    onFailure: annotationOf(pod, "agent/on-failure"),
    strategy: annotationOf(pod, "agent/update-strategy"),
  });
  return { ...policy, ...own };
}

/** Whether the pod itself asks to leave its predecessor running. */
export function holdsUpgrade(pod: Pod): boolean {
  return annotationOf(pod, "agent/hold-upgrade") === "true";
}

/** The volume in which containers of the pod lock updates out; undefined = they cannot. */
export function lockVolumeOf(pod: Pod): string | undefined {
  const name = annotationOf(pod, UPDATE_LOCK);
  return name === "" ? undefined : name;
}

/** The volume of `agent/update-lock` has to be one that a restart of the node empties. */
export function judgeUpdateLock(
  { volumes }: PodSpec,
  annotations: Annotations,
  findings: Findings,
): void {
  const name = annotations[UPDATE_LOCK] ?? "";
  const volume = volumes.find((one) => one.name === name);
  const isFit = volume !== undefined && "emptyDir" in volume && volume.emptyDir.medium === "Memory";
  if (name === "" || isFit) return;
  const message = "must name a volume of the pod that is an emptyDir with medium: Memory";
  findings.invalid(["metadata", "annotations", UPDATE_LOCK], name, message);
}
