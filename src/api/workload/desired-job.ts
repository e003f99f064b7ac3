// What a source asks for beside pods: Jobs, and the schedules by which CronJobs start them.

import type { SourceName } from "../pod/labels.ts";
import type { Pod } from "../v1/pod.ts";
import type { CronSpec, JobSpec } from "./job.ts";

interface Declared {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly source: SourceName;
  readonly sourceRef: string;
  /** Of a document whose signature was verified; absent = no. */
  readonly signed?: boolean;
}

export interface DesiredJob extends Declared {
  readonly kind: "Job";
  readonly spec: JobSpec;
  /** Of its spec as written: another spec is another Job. */
  readonly uid: string;
  /** One of its pods, for those who judge pods; it does not run. */
  readonly sample: Pod;
}

export interface DesiredCronJob extends Declared {
  readonly kind: "CronJob";
  readonly cron: CronSpec;
  readonly spec: JobSpec;
  readonly sample: Pod;
}

export type DesiredRun = DesiredJob | DesiredCronJob;

/** `Job default/backup`: unique among those of one source. */
export function runKey({
  kind,
  namespace,
  name,
}: Pick<DesiredRun, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
