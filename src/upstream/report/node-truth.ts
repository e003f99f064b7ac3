// What a report is made of. Types only.

import type { DocumentState } from "../../protocol/desired-document.ts";
import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { NodeStatus, PodStatus } from "../../api/v1/pod-status.ts";
import type { PodHealth } from "../../rollout/pod-health.ts";
import type { StaticFiles } from "./acknowledge.ts";

/** A pod as the node shows it. */
export interface ReportedPod {
  readonly desired: DesiredPod;
  readonly status: PodStatus | undefined;
}

/** What is true on the node at the moment of a report. */
export interface NodeTruth {
  /** Everything that has a worker and a spec, predecessors too. */
  readonly pods: readonly ReportedPod[];
  /** Of the pods in `pods`. */
  readonly health: ReadonlyMap<PodUID, PodHealth>;
  /** One per namespace/name: what `get pods` shows. */
  readonly shown: readonly ReportedPod[];
  readonly files: StaticFiles;
  readonly documents: readonly DocumentState[];
  readonly rejected: readonly Rejection[];
  readonly status: NodeStatus;
  /** False at the start: a missing pod proves nothing yet. */
  readonly arePodsKnown: boolean;
}
