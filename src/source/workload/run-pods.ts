// Performs: makes the pods of Jobs from their templates, each once.

import { decodeOnePod } from "../../api/decode/decoded-item.ts";
import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import type { DesiredRun } from "../../api/workload/desired-job.ts";
import type { JobSpec } from "../../api/workload/job.ts";
import { jobPod, jobPodUID } from "../../api/workload/job-pod.ts";
import type { JobPod } from "../../api/workload/stored-runs.ts";
import { versionOf } from "../../api/workload/workload-kinds.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

/** One Job, declared or started by a schedule. */
export interface RunningJob {
  readonly name: string;
  readonly uid: string;
  readonly spec: JobSpec;
}

export class RunPods {
  readonly #sha256: Sha256;
  readonly #made = new Map<string, DesiredPod>();
  #used = new Set<string>();

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** undefined = an older agent has stored what cannot be read any more. */
  of(declared: DesiredRun, job: RunningJob, pod: JobPod): DesiredPod | undefined {
    const { source, sourceRef, signed } = declared;
    const key = JSON.stringify([
      source,
      sourceRef,
      signed,
      declared.kind,
      declared.namespace,
      job.uid,
      pod,
    ]);
    this.#used.add(key);
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = this.#make(declared, job, pod);
    if (made !== undefined) this.#made.set(key, made);
    return made;
  }

  /** Forgets the pods that were not asked for since the last call. */
  sweep(): void {
    for (const key of this.#made.keys()) if (!this.#used.has(key)) this.#made.delete(key);
    this.#used = new Set();
  }

  #make(declared: DesiredRun, job: RunningJob, pod: JobPod): DesiredPod | undefined {
    const { kind, source, sourceRef, signed } = declared;
    const { template } = job.spec;
    if (template === undefined) return undefined;
    const owner = { apiVersion: versionOf(kind), ...declared };
    const plan = { job: job.name, jobUID: job.uid, suffix: pod.suffix, index: pod.index };
    const written = jobPod(template, owner, plan);
    const context = { source, ref: "", sourceRef, nodeName: undefined, lenient: true };
    const decoded = decodeOnePod(written, { ...context, sha256: this.#sha256 });
    const desired = decoded.pods[0]?.desired;
    if (desired === undefined) return undefined;
    const { namespace, name } = desired.pod.metadata;
    const spec = isJsonObject(written["spec"]) ? written["spec"] : {};
    const uid = jobPodUID({ namespace, name, spec }, job.uid, this.#sha256);
    const metadata = { ...desired.pod.metadata, uid };
    return {
      ...desired,
      uid,
      pod: { ...desired.pod, metadata },
      ...(signed === true ? { signed } : {}),
      ...(pod.ended === undefined ? {} : { ended: true }),
    };
  }
}
