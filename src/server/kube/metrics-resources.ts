// Performs: the resources of the metrics API, for kubectl top: the statistics are taken when they are asked for.

import type { TableColumn, KubeResource } from "./kube-resource.ts";
import { nodeMetrics, podMetrics } from "./metrics-objects.ts";
import { metaOf } from "./object-meta.ts";

const GROUP = { group: "metrics.k8s.io", version: "v1beta1" } as const;

const COLUMNS: readonly TableColumn[] = [
  {
    name: "Name",
    description: "Name of the object.",
    type: "string",
    format: "name",
    priority: 0,
    cell: (object) => metaOf(object).name,
  },
];

const COMMON = {
  ...GROUP,
  singularName: "",
  shortNames: [],
  verbs: ["get", "list"],
  columns: COLUMNS,
  selectable: [],
  objects: () => [],
} as const;

export const METRICS: readonly KubeResource[] = [
  {
    ...COMMON,
    name: "nodes",
    kind: "NodeMetrics",
    isNamespaced: false,
    load: async (facts) => nodeMetrics(await facts.summary(true), facts.node().labels),
  },
  {
    ...COMMON,
    name: "pods",
    kind: "PodMetrics",
    isNamespaced: true,
    load: async (facts) => podMetrics(await facts.summary(true), facts.pods()),
  },
];
