// The stored state of Jobs and CronJobs, as JSON: what has run. Unknown fields, of a newer agent, are passed over.

import { boolean, fieldOf, list, objectType, oneOf, type Decoded } from "../schema/codec.ts";
import { realNumber } from "../schema/values.ts";
import { storedInteger, storedText } from "../schema/stored-fields.ts";
import { readStored } from "../schema/read-value.ts";
import { parseJson } from "../../lib/json.ts";
import { JOB_SPEC } from "./job.ts";

const optional = (about: string) => fieldOf<number>(realNumber)({ about, keep: true });

const JOB_POD = objectType("JobPod", {
  suffix: storedText("In its name: `NAME-3`, or of an index `NAME-3-1`."),
  index: optional("Completion index."),
  ended: oneOf(["Succeeded", "Failed"], { about: "How it has ended." }),
});

const JOB_END = objectType("JobEnd", {
  type: oneOf(["Complete", "Failed"], { about: "How the Job has ended.", default: "Failed" }),
  reason: storedText("Kubernetes' word."),
  message: storedText("In words."),
});

const JOB_STATE = objectType("JobState", {
  next: storedInteger("Next number of a pod."),
  succeeded: storedInteger("Pods that have succeeded."),
  failed: storedInteger("Failures that count."),
  streak: storedInteger("Failures since the last success."),
  done: storedText("Indexes that have succeeded."),
  pods: list(JOB_POD, { about: "Pods that have not ended, and some that have." }),
  end: fieldOf(JOB_END)({ about: "Absent = it has not ended." }),
  expired: boolean({ about: "Its pods are gone." }),
  bootId: storedText("The boot in which the times count."),
  since: optional("Its start, or its end."),
  retryAt: optional("No pod starts before."),
});
export type JobState = Decoded<typeof JOB_STATE>;
export type JobPod = JobState["pods"][number];
export type JobEnd = NonNullable<JobState["end"]>;

const STORED_JOB = objectType("StoredJob", {
  uid: storedText("The Job: another spec is another one."),
  state: fieldOf(JOB_STATE)({ about: "What has run.", required: true }),
});

const CRON_RUN = objectType("CronRun", {
  name: storedText("Of the Job."),
  uid: storedText("Of the Job."),
  spec: fieldOf(JOB_SPEC)({ about: "As it was when the Job began.", required: true }),
  state: fieldOf(JOB_STATE)({ about: "What has run.", required: true }),
});

const STORED_CRON = objectType("StoredCron", {
  since: optional("Wall-clock ms when a trusted clock first saw it."),
  last: optional("Wall-clock ms of the newest minute that was started."),
  runs: list(CRON_RUN, { about: "Its Jobs, oldest first." }),
});

export function readStoredJob(json: string): Decoded<typeof STORED_JOB> | undefined {
  return readStored(STORED_JOB, parseJson(json));
}

export function writeStoredJob(job: Decoded<typeof STORED_JOB>): string {
  return JSON.stringify(STORED_JOB.write(job));
}

export function readStoredCron(json: string): Decoded<typeof STORED_CRON> | undefined {
  return readStored(STORED_CRON, parseJson(json));
}

export function writeStoredCron(cron: Decoded<typeof STORED_CRON>): string {
  return JSON.stringify(STORED_CRON.write(cron));
}
