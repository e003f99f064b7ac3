// The pods of a Job: its template with a name, the labels by which Kubernetes finds them, and the index of an Indexed Job.

import type { PodUID } from "../v1/pod.ts";
import { podUID } from "../pod/pod-identity.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { podOf, type Owner } from "./template-pod.ts";

const INDEX = "batch.kubernetes.io/job-completion-index";

export interface JobPodPlan {
  /** Of the Job: `backup`, or of a CronJob's `backup-29384756`. */
  readonly job: string;
  readonly jobUID: string;
  /** `3`, or `3-1`. */
  readonly suffix: string;
  readonly index?: number | undefined;
}

/** `owner`: what its author has written, a Job or a CronJob. */
export function jobPod(template: JsonObject, owner: Owner, plan: JobPodPlan): JsonObject {
  const { job, jobUID, suffix, index } = plan;
  const own = {
    "batch.kubernetes.io/job-name": job,
    "batch.kubernetes.io/controller-uid": jobUID,
    "job-name": job,
  };
  const name = `${job}-${suffix}`;
  if (index === undefined) return podOf(template, owner, { name, labels: own });
  const indexed = { [INDEX]: String(index) };
  return podOf(template, owner, {
    name,
    labels: { ...own, ...indexed },
    annotations: indexed,
    spec: (spec) => ({
      hostname: `${job}-${index}`,
      ...spec,
      ...withIndex(spec, "initContainers"),
      ...withIndex(spec, "containers"),
    }),
  });
}

const VARIABLE = {
  name: "JOB_COMPLETION_INDEX",
  valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${INDEX}']` } },
};

/** What is no list of containers is reported when the pod is read. */
function withIndex(spec: JsonObject, list: string): JsonObject {
  const written = spec[list];
  if (!Array.isArray(written)) return {};
  const containers = (written as readonly unknown[]).map((container) => {
    if (!isJsonObject(container)) return container;
    const { env } = container;
    if (!Array.isArray(env ?? [])) return container;
    return { ...container, env: [...((env ?? []) as readonly unknown[]), VARIABLE] };
  });
  return { [list]: containers };
}

interface RunIdentity {
  readonly namespace: string;
  readonly name: string;
  /** As written. */
  readonly spec: JsonObject;
}

/** Fields that Kubernetes lets change while a Job runs. */
const CHANGEABLE: ReadonlySet<string> = new Set([
  "activeDeadlineSeconds",
  "backoffLimit",
  "parallelism",
  "suspend",
  "ttlSecondsAfterFinished",
]);

/** Of a Job: the same object, written again, is the same Job; another spec is another one. */
export function jobUIDOf({ namespace, name, spec }: RunIdentity, sha256: Sha256): string {
  const lasting = Object.entries(spec).filter(([key]) => !CHANGEABLE.has(key));
  return podUID({ namespace, name, spec: Object.fromEntries(lasting), devices: "Job" }, sha256);
}

/** A pod of another Job is another pod, also if all that it runs is the same. */
export function jobPodUID(pod: RunIdentity, jobUID: string, sha256: Sha256): PodUID {
  return podUID({ ...pod, devices: `Job ${jobUID}` }, sha256);
}
