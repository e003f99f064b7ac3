// Performs: what is true on the node at the moment of a report. Types only.

import type { DocumentState } from "../../protocol/desired-document.ts";
import type { DesiredPod, Rejection } from "../../api/pod/desired-pod.ts";
import type { NodeStatus, PodStatus } from "../../api/v1/pod-status.ts";
import type { StaticFiles } from "./acknowledge.ts";

/** A pod as the node shows it. */
export interface ReportedPod {
  readonly desired: DesiredPod;
  readonly status: PodStatus | undefined;
  readonly terminating: boolean;
  /** The successor it waits for has to be pulled or to wait. */
  readonly pulling: boolean;
}

/** What is true on the node when a report is made. */
export interface NodeTruth {
  /** Everything that has a worker and a spec, predecessors too. */
  readonly pods: readonly ReportedPod[];
  /** One per namespace/name: what `get pods` shows. */
  readonly shown: readonly ReportedPod[];
  readonly files: StaticFiles;
  readonly documents: readonly DocumentState[];
  readonly rejected: readonly Rejection[];
  readonly status: NodeStatus;
  /** False at the start: that a pod is not among them says nothing yet. */
  readonly arePodsKnown: boolean;
}
