// A Job or a CronJob → what is asked for, with its template judged as a pod is.

import { NOTHING_DECODED, type DecodeContext, type DecodedObject } from "./decode-context.ts";
import { decodedItem, notices, rejected } from "./decoded-item.ts";
import { decodePod } from "./decode-pod.ts";
import { Findings } from "./field-errors.ts";
import { unknownFieldsOf } from "../pod/pod-annotations.ts";
import type { Pod } from "../v1/pod.ts";
import type { DesiredRun } from "../workload/desired-job.ts";
import { CRON_JOB, JOB, type CronSpec, type JobSpec } from "../workload/job.ts";
import { jobPod, jobUIDOf } from "../workload/job-pod.ts";
import { locateIn, placeInTemplate, type Owner } from "../workload/template-pod.ts";
import { versionOf, type RunKind } from "../workload/workload-kinds.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { FieldError } from "../../lib/result.ts";

const TEMPLATES: Readonly<Record<RunKind, readonly string[]>> = {
  Job: ["spec", "template"],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
};
/** As long as the minutes in the names of a CronJob's Jobs. */
const SOME_MINUTES = "00000000";

interface ReadRun {
  readonly metadata: Pick<Owner, "namespace" | "name" | "annotations">;
  readonly spec: JobSpec;
  readonly cron?: CronSpec;
}

export function decodeRun(value: JsonObject, kind: RunKind, context: DecodeContext): DecodedObject {
  const { locate, lenient = false, budget } = context;
  const findings = new Findings({ locate, lenient, budget, unknownFields: unknownFieldsOf(value) });
  const run = readRun(kind, { findings, path: [], value });
  const template = run?.spec.template;
  if (run === undefined || template === undefined || run.metadata.name === "")
    return rejected(value, context, findings.errors);
  const owner: Owner = { apiVersion: versionOf(kind), kind, ...run.metadata };
  const job = kind === "Job" ? owner.name : `${owner.name}-${SOME_MINUTES}`;
  const plan = { job, jobUID: "", suffix: "0" };
  const within = { ...context, locate: locateIn(locate, TEMPLATES[kind]) };
  const pod = decodePod(jobPod(template, owner, plan), within);
  const place = (error: FieldError): FieldError =>
    placeInTemplate(error, TEMPLATES[kind].join("."));
  const errors = [...(lenient ? [] : findings.errors), ...(pod.ok ? [] : pod.errors.map(place))];
  if (errors.length > 0 || !pod.ok) return rejected(value, context, errors);
  const sample = pod.value.pod;
  const desired = desiredRun(value, { run, owner, sample }, context);
  const warnings = [...findings.warnings, ...pod.warnings.map(place)];
  return {
    ...NOTHING_DECODED,
    runs: [decodedItem(desired, value, context)],
    notices: notices(value, context, warnings),
  };
}

function readRun(kind: RunKind, at: Parameters<typeof JOB.read>[0]): ReadRun | undefined {
  if (kind === "Job") {
    const { metadata, spec } = JOB.read(at) ?? {};
    return metadata === undefined || spec === undefined ? undefined : { metadata, spec };
  }
  const { metadata, spec: written } = CRON_JOB.read(at) ?? {};
  const { jobTemplate, ...cron } = written ?? {};
  const spec = jobTemplate?.spec;
  if (metadata === undefined || spec === undefined || !("schedule" in cron)) return undefined;
  return { metadata, spec, cron };
}

interface Judged {
  readonly run: ReadRun;
  readonly owner: Owner;
  readonly sample: Pod;
}

function desiredRun(
  value: JsonObject,
  { run, owner, sample }: Judged,
  { source, sourceRef, sha256 }: DecodeContext,
): DesiredRun {
  const { namespace, name, annotations } = owner;
  const declared = { namespace, name, annotations, source, sourceRef, spec: run.spec, sample };
  if (run.cron !== undefined) return { kind: "CronJob", ...declared, cron: run.cron };
  const spec = isJsonObject(value["spec"]) ? value["spec"] : {};
  return { kind: "Job", ...declared, uid: jobUIDOf({ namespace, name, spec }, sha256) };
}
