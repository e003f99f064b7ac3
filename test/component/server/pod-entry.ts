// Pods as the local API has them, for its tests.

import type { PodStatus } from "../../../src/api/v1/pod-status.ts";
import type { PodEntry } from "../../../src/node/pod-list.ts";
import { aPod } from "../../fakes/a-pod.ts";

export const RUNNING: PodStatus = {
  observedGeneration: 1,
  phase: "Running",
  conditions: [],
  initContainerStatuses: [],
  containerStatuses: [],
  qosClass: "BestEffort",
};

/** Of a file; its label `app` is its name. */
export function podEntry(
  name = "web",
  { namespace = "default", phase = "Running" as PodStatus["phase"], note = "" } = {},
): PodEntry {
  const pod = aPod();
  const annotations = note === "" ? {} : { note };
  return {
    pod: {
      ...pod,
      metadata: { ...pod.metadata, name, namespace, labels: { app: name }, annotations },
    },
    status: { ...RUNNING, phase },
    source: "file",
    sourceRef: "a#0",
    specHash: "0",
    nodeName: "pi-1",
  };
}
