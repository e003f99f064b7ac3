// Job and CronJob: pods that run to an end. k8s: ValidateJobSpec, ValidateCronJobSpec

import { invalid, type Node } from "../decode/field-reader.ts";
import { harmless, ignored } from "../decode/field-rules.ts";
import {
  boolean,
  fieldOf,
  integer,
  objectType,
  oneOf,
  string,
  unread,
  unreadFields,
  type Decoded,
  type ObjectOf,
} from "../schema/codec.ts";
import type { Field } from "../schema/type.ts";
import { objectHead } from "../v1/metadata.ts";
import { memberOf } from "../../lib/json.ts";
import { parseSchedule } from "./cron-schedule.ts";
import { podTemplate } from "./pod-template.ts";
import { POD_FAILURE_POLICY } from "./pod-failure-policy.ts";
import { isTimeZone } from "./wall-time.ts";

/** Completions with an index of their own: which of them are done is kept. */
const MAX_INDEXES = 10_000;
/** Pods of one Job at a time: more `parallelism` than this is this. */
export const MAX_PARALLEL = 50;
/** Ended Jobs of one CronJob, of each kind: larger limits are this one. All are stored with their templates. */
export const MAX_HISTORY = 20;
const MAX_COUNT = 2_147_483_647;

const INTEGER = fieldOf<number>({
  name: "integer",
  read: (at) => {
    if (typeof at.value === "number" && Number.isSafeInteger(at.value)) return at.value;
    at.findings.invalid(at.path, at.value, "must be an integer");
    return undefined;
  },
  write: (value) => value,
  schema: () => ({ type: ["integer", "null"] }),
});

function countError(value: number): string | undefined {
  if (value < 0) return "must be greater than or equal to 0";
  return value > MAX_COUNT ? `must be at most ${MAX_COUNT}` : undefined;
}

/** A number from 0 on; undefined = not written. */
function optionalCount(about: string): Field<number | undefined> {
  return INTEGER({ about, keep: true, check: countError, schema: { minimum: 0 } });
}

function count(about: string, byDefault: number): Field<number> {
  return integer({
    about,
    default: byDefault,
    keep: true,
    check: countError,
    schema: { minimum: 0 },
  });
}

const PER_INDEX = ignored("failures are counted for the whole Job, not for each index");

const JOB_FIELDS = {
  template: podTemplate,
  completions: optionalCount("Pods that have to succeed. Default: 1, or one of `parallelism`."),
  parallelism: optionalCount("Pods that run at once. Default: 1."),
  backoffLimit: count("Failures after which the Job has failed.", 6),
  activeDeadlineSeconds: optionalCount(
    "Seconds after which the Job has failed, counted from its start, or from the last boot.",
  ),
  ttlSecondsAfterFinished: optionalCount(
    "Seconds after its end when its pods go; the Job does not run again.",
  ),
  suspend: boolean({ about: "true: its pods stop, and none starts.", default: false }),
  completionMode: oneOf(["NonIndexed", "Indexed"], {
    about: "Indexed: each pod has an index, JOB_COMPLETION_INDEX, that has to succeed once.",
    default: "NonIndexed",
  }),
  podFailurePolicy: fieldOf(POD_FAILURE_POLICY)({
    about: "What the end of a failed pod means; needs restartPolicy Never.",
  }),
  backoffLimitPerIndex: unread("integer", "Failures of one index.", PER_INDEX),
  maxFailedIndexes: unread("integer", "Failed indexes.", PER_INDEX),
  successPolicy: unread(
    "SuccessPolicy",
    "Which indexes are enough.",
    ignored("every index has to succeed"),
  ),
  ...unreadFields(harmless, {
    selector: ["LabelSelector", "Set by an API server."],
    manualSelector: ["boolean", "Whether the selector is written by hand."],
    podReplacementPolicy: ["string", "A failed pod is replaced when it has ended."],
    managedBy: ["string", "The controller of the Job in a cluster. Here it is this node."],
  }),
};

export const JOB_SPEC = objectType("JobSpec", JOB_FIELDS, { check: checkJob });
export type JobSpec = Decoded<typeof JOB_SPEC>;

function checkJob(spec: ObjectOf<typeof JOB_FIELDS>, node: Node): void {
  const { template, completions = 1, parallelism = 1, podFailurePolicy } = spec;
  if (parallelism > MAX_PARALLEL) {
    const message = `at most ${MAX_PARALLEL} pods of a Job run at once on this node`;
    node.findings.warn([...node.path, "parallelism"], "Ignored", message);
  }
  if (spec.completionMode === "Indexed") {
    if (spec.completions === undefined)
      node.findings.required([...node.path, "completions"], "when completion mode is Indexed");
    if (completions > MAX_INDEXES)
      invalid(
        node,
        "completions",
        `must be at most ${MAX_INDEXES} when completion mode is Indexed`,
      );
  }
  if (template === undefined) return;
  const policy = memberOf(template["spec"], "restartPolicy");
  const path = [...node.path, "template", "spec", "restartPolicy"];
  if (policy === undefined || policy === null || policy === "" || policy === "Always")
    node.findings.required(path, 'valid values: "OnFailure", "Never"');
  else if (podFailurePolicy !== undefined && policy !== "Never")
    node.findings.invalid(
      path,
      policy,
      'only "Never" is supported when podFailurePolicy is specified',
    );
}

export const JOB = objectType("Job", {
  ...objectHead("Job", "batch/v1"),
  spec: fieldOf(JOB_SPEC)({
    about: "The pods, and how many of them have to succeed. A changed spec is a new Job.",
    required: true,
  }),
  status: unread("JobStatus", "Last known state in an API server; never read.", harmless),
});

const JOB_TEMPLATE = objectType("JobTemplateSpec", {
  metadata: unread("ObjectMeta", "Labels and annotations of the Jobs; not kept.", harmless),
  spec: fieldOf(JOB_SPEC)({ about: "The Jobs, as in the spec of a Job.", required: true }),
});

const CRON_FIELDS = {
  schedule: string({
    about: 'Five fields, such as "30 3 * * 1-5", a macro such as @hourly, or "@every 90m".',
    required: true,
    check: (text) => {
      const schedule = parseSchedule(text);
      return typeof schedule === "string" ? schedule : undefined;
    },
  }),
  timeZone: string({
    about: "IANA time zone of the schedule, such as Europe/Berlin. Default: Etc/UTC.",
    check: (zone) => (isTimeZone(zone) ? undefined : "unknown time zone"),
  }),
  startingDeadlineSeconds: optionalCount(
    "Seconds after its minute during which a missed Job still starts. Default: no limit.",
  ),
  concurrencyPolicy: oneOf(["Allow", "Forbid", "Replace"], {
    about: "What happens if the last Job still runs. Forbid: the new one waits for its end.",
    default: "Allow",
  }),
  suspend: boolean({ about: "true: no Job starts.", default: false }),
  jobTemplate: fieldOf(JOB_TEMPLATE)({ about: "The Jobs that are started.", required: true }),
  successfulJobsHistoryLimit: count("Succeeded Jobs whose pods are kept.", 3),
  failedJobsHistoryLimit: count("Failed Jobs whose pods are kept.", 1),
};

function checkHistory(spec: ObjectOf<typeof CRON_FIELDS>, { findings, path }: Node): void {
  for (const limit of ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] as const) {
    const message = `at most ${MAX_HISTORY} ended Jobs are kept on this node`;
    if (spec[limit] > MAX_HISTORY) findings.warn([...path, limit], "Ignored", message);
  }
}

export const CRON_JOB = objectType("CronJob", {
  ...objectHead("CronJob", "batch/v1"),
  spec: fieldOf(objectType("CronJobSpec", CRON_FIELDS, { check: checkHistory }))({
    about: "When Jobs start, and which.",
    required: true,
  }),
  status: unread("CronJobStatus", "Last known state in an API server; never read.", harmless),
});
export type CronSpec = Omit<ObjectOf<typeof CRON_FIELDS>, "jobTemplate">;
