// What a pod asks of the node it runs on.

import { harmless, supportedBut } from "../decode/field-rules.ts";
import { field, type Level } from "./field.ts";
import { NO_WINDOWS } from "./refusals.ts";

export const NODE_SELECTOR_REQUIREMENT: Level = {
  key: field("string", "The label, or the field, that is looked at.", { required: true }),
  operator: field("string", "In, NotIn, Exists, DoesNotExist, Gt or Lt.", { required: true }),
  values: field("[]string", "What the label is compared with: none for Exists, one for Gt and Lt."),
};

export const NODE_SELECTOR_TERM: Level = {
  matchExpressions: field(
    "[]NodeSelectorRequirement",
    "What the node's labels have to be; all of it.",
    {
      level: NODE_SELECTOR_REQUIREMENT,
    },
  ),
  matchFields: field(
    "[]NodeSelectorRequirement",
    "What the node's fields have to be: metadata.name.",
    {
      level: NODE_SELECTOR_REQUIREMENT,
    },
  ),
};

export const NODE_SELECTOR: Level = {
  nodeSelectorTerms: field("[]NodeSelectorTerm", "One of these has to match this node.", {
    level: NODE_SELECTOR_TERM,
    required: true,
  }),
};

export const NODE_AFFINITY: Level = {
  requiredDuringSchedulingIgnoredDuringExecution: field(
    "NodeSelector",
    "What this node has to be, by its local labels; else the pod is not admitted.",
    { level: NODE_SELECTOR },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: field(
    "[]PreferredSchedulingTerm",
    "Nodes that the pod would rather run on; there is no other node to choose.",
    { rule: harmless },
  ),
};

export const AFFINITY: Level = {
  nodeAffinity: field("NodeAffinity", "Which nodes the pod may run on.", { level: NODE_AFFINITY }),
  podAffinity: field("PodAffinity", "Pods that this one wants near; there is one node only.", {
    rule: harmless,
  }),
  podAntiAffinity: field(
    "PodAntiAffinity",
    "Pods that this one wants far; there is one node only.",
    {
      rule: harmless,
    },
  ),
};

export const TOLERATION: Level = {
  key: field("string", "Taint that is tolerated; empty with Exists = every taint."),
  operator: field("string", "Exists, Equal (the default), Lt or Gt."),
  value: field("string", "Value of the taint, for Equal, Lt and Gt."),
  effect: field("string", "NoSchedule, PreferNoSchedule or NoExecute; empty = all of them."),
  tolerationSeconds: field("integer", "How long a taint with NoExecute is tolerated."),
};

export const POD_OS: Level = {
  name: field("string", "linux.", { rule: supportedBut(NO_WINDOWS, "windows"), required: true }),
};
