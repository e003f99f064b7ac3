// How the author of a pod wants its updates carried out: annotations that outweigh the policy of its document.

import { ON_FAILURE, STRATEGIES, type UpdatePolicy } from "./update-policy.ts";
import type { Findings, AnnotationError } from "../decode/field-errors.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import type { Pod } from "../v1/pod.ts";
import { withoutUndefined } from "../../lib/json.ts";

const PREFIX = "agent/";
const UPDATE_LOCK = "agent/update-lock";
const MAX_SECONDS = 366 * 24 * 3600;

type Annotations = Readonly<Record<string, string>>;

type PodPolicy = Pick<
  UpdatePolicy,
  "minReadySeconds" | "progressDeadlineSeconds" | "onFailure" | "strategy"
>;

/** The document's policy, as far as the pod's annotations do not replace it. Invalid annotations of an accepted pod are ignored. */
export function policyOf<P extends PodPolicy>({ metadata: { annotations } }: Pod, policy: P): P {
  const own = withoutUndefined({
    minReadySeconds: secondsOf(annotations, "min-ready-seconds", 0),
    progressDeadlineSeconds: secondsOf(annotations, "progress-deadline-seconds", 1),
    onFailure: wordOf(annotations, "on-failure", ON_FAILURE),
    strategy: wordOf(annotations, "update-strategy", STRATEGIES),
  });
  return { ...policy, ...own };
}

/** Whether the pod itself asks to leave its predecessor running. */
export function holdsUpgrade({ metadata }: Pod): boolean {
  return metadata.annotations[`${PREFIX}hold-upgrade`] === "true";
}

/** The volume in which containers of the pod lock updates out; undefined = they cannot. */
export function lockVolumeOf({ metadata }: Pod): string | undefined {
  const name = metadata.annotations[UPDATE_LOCK];
  return name === undefined || name === "" ? undefined : name;
}

/** Everything wrong with these annotations as written. */
export function updateAnnotationErrors(annotations: Annotations): readonly AnnotationError[] {
  return [
    ...secondsErrors(annotations, "min-ready-seconds", 0),
    ...secondsErrors(annotations, "progress-deadline-seconds", 1),
    ...wordErrors(annotations, "on-failure", ON_FAILURE),
    ...wordErrors(annotations, "update-strategy", STRATEGIES),
    ...wordErrors(annotations, "hold-upgrade", ["true", "false"]),
  ];
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

function secondsOf(annotations: Annotations, key: string, least: number): number | undefined {
  const text = annotations[`${PREFIX}${key}`];
  if (text === undefined || !/^[0-9]{1,9}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds >= least && seconds <= MAX_SECONDS ? seconds : undefined;
}

function secondsErrors(
  annotations: Annotations,
  key: string,
  least: number,
): readonly AnnotationError[] {
  const value = annotations[`${PREFIX}${key}`];
  if (value === undefined || secondsOf(annotations, key, least) !== undefined) return [];
  const message = `must be a number of seconds between ${least} and ${MAX_SECONDS}, such as "30"`;
  return [{ key: `${PREFIX}${key}`, value, message }];
}

function wordOf<T extends string>(
  annotations: Annotations,
  key: string,
  known: readonly T[],
): T | undefined {
  const text = annotations[`${PREFIX}${key}`];
  return known.find((word) => word === text);
}

function wordErrors(
  annotations: Annotations,
  key: string,
  known: readonly string[],
): readonly AnnotationError[] {
  const value = annotations[`${PREFIX}${key}`];
  if (value === undefined || known.includes(value)) return [];
  const message = `must be one of ${known.map((word) => JSON.stringify(word)).join(", ")}`;
  return [{ key: `${PREFIX}${key}`, value, message }];
}
