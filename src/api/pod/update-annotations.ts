// The annotations about updates of a pod: its deadlines, failure and strategy, which outweigh the policy of its document,
// its hold and its lock.

import { ON_FAILURE, STRATEGIES, type UpdatePolicy } from "./update-policy.ts";
import {
  annotationReader,
  choice,
  FLAG,
  type Annotated,
  type Annotations,
} from "./annotation-reader.ts";
import type { Findings } from "../decode/field-errors.ts";
import { invalidAt } from "../decode/field-reader.ts";
import { fieldOf } from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { exactText } from "../schema/values.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { WRITTEN_WINDOWS, type MaintenanceWindow } from "../window/maintenance-window.ts";
import { withoutUndefined } from "../../lib/json.ts";

const MAX_SECONDS = 366 * 24 * 3600;
const UPDATE_LOCK = "agent/update-lock";

function seconds(least: number, pattern: string): Type<number> {
  return {
    name: "string",
    read(at) {
      const read = /^[0-9]{1,9}$/.test(String(at.value)) ? Number(at.value) : -1;
      if (read >= least && read <= MAX_SECONDS) return read;
      const message = `must be a number of seconds between ${least} and ${MAX_SECONDS}, such as "30"`;
      return invalidAt(at, message);
    },
    write: String,
    schema: () => ({ type: "string", pattern }),
  };
}

/** By the whole name of the annotation. */
export const UPDATE_FIELDS = {
  "agent/min-ready-seconds": fieldOf(seconds(0, "^[0-9]{1,9}$"))({
    about: "Seconds that the changed pod must stay ready to count as good.",
  }),
  "agent/progress-deadline-seconds": fieldOf(seconds(1, "^[0-9]*[1-9][0-9]*$"))({
    about: "Seconds, at least 1, after which the changed pod that is not good has failed.",
  }),
  "agent/on-failure": fieldOf(choice(ON_FAILURE))({
    about: "What follows a failed update of the pod.",
  }),
  "agent/update-strategy": fieldOf(choice(STRATEGIES))({
    about: "Order of pulling new images and stopping the old pod.",
  }),
  "agent/hold-upgrade": fieldOf(FLAG)({
    about: "true: the pod replaces no other until it is released.",
  }),
  "agent/maintenance-windows": fieldOf(WRITTEN_WINDOWS)({
    about:
      "Windows outside of which updates of the pod wait: a JSON list as in the policy of a document; [] = they wait for none.",
  }),
  [UPDATE_LOCK]: fieldOf(exactText)({
    about: "Volume in which containers lock updates out: emptyDir with medium Memory.",
  }),
};

const annotationOf = annotationReader(UPDATE_FIELDS);

type PodPolicy = Pick<
  UpdatePolicy,
  "minReadySeconds" | "progressDeadlineSeconds" | "onFailure" | "strategy"
>;

/** The document's policy, as far as the pod's annotations do not replace it. Invalid annotations of an accepted pod are ignored. */
export function policyOf<P extends PodPolicy>(pod: Annotated, policy: P): P {
  const own = withoutUndefined({
    minReadySeconds: annotationOf(pod, "agent/min-ready-seconds"),
    progressDeadlineSeconds: annotationOf(pod, "agent/progress-deadline-seconds"),
    onFailure: annotationOf(pod, "agent/on-failure"),
    strategy: annotationOf(pod, "agent/update-strategy"),
  });
  return { ...policy, ...own };
}

/** The windows of the pod itself; undefined = those of its document or node. */
export function ownWindows(pod: Annotated): readonly MaintenanceWindow[] | undefined {
  return annotationOf(pod, "agent/maintenance-windows");
}

/** Whether the pod itself asks to leave its predecessor running. */
export function holdsUpgrade(pod: Annotated): boolean {
  return annotationOf(pod, "agent/hold-upgrade") === "true";
}

/** The volume in which containers of the pod lock updates out; undefined = they cannot. */
export function lockVolumeOf(pod: Annotated): string | undefined {
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
