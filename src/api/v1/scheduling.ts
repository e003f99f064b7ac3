// What a pod requires of the node it runs on. k8s: ValidateNodeSelector, ValidateTolerations

import { asString, forbidden, invalid, required, type Node } from "../decode/field-reader.ts";
import { harmless, supportedBut, NO_WINDOWS } from "../decode/field-rules.ts";
import {
  converted,
  fieldOf,
  integer,
  list,
  map,
  objectType,
  oneOf,
  string,
  text,
  unread,
  unreadFields,
  word,
  type Decoded,
  type ObjectOf,
} from "../schema/codec.ts";
import type { Field, Type } from "../schema/type.ts";
import { requiredWord } from "../schema/values.ts";
import {
  dnsSubdomainError,
  LABELS,
  labelValueError,
  qualifiedNameError,
} from "../validation/validate-names.ts";

const INTEGER = /^[+-]?[0-9]+$/;
const NOT_AN_INTEGER = "must be an integer when `operator` is 'Lt' or 'Gt'";
const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] as const;

/** Labels that an object has or requires. */
export function labels(about: string): Field<Readonly<Record<string, string>>> {
  return map(text, { about, ...LABELS });
}

const REQUIREMENT = {
  key: string({ about: "The label, or the field, to compare.", default: "", marked: true }),
  operator: requiredWord(
    word(OPERATORS, "not a valid selector operator"),
    "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
  ),
  values: list(text, { about: "Values to compare with: none for Exists, one for Gt and Lt." }),
};

export type NodeSelectorOperator = (typeof OPERATORS)[number];
type WrittenRequirement = ObjectOf<typeof REQUIREMENT>;
export type NodeSelectorRequirement = WrittenRequirement & {
  readonly operator: NodeSelectorOperator;
};

/** `check`: of a requirement on labels, or on fields. */
function requirement(
  check: (written: WrittenRequirement, node: Node) => void,
): Type<NodeSelectorRequirement> {
  return converted(objectType("NodeSelectorRequirement", REQUIREMENT, { check }), {
    to: ({ operator, ...rest }) => (operator === undefined ? undefined : { ...rest, operator }),
    from: (value) => value,
  });
}

/** k8s: ValidateNodeSelectorRequirement */
function checkLabels({ key, operator, values }: WrittenRequirement, node: Node): void {
  const keyError = key === "" ? undefined : qualifiedNameError(key);
  if (key === "") required(node, "key");
  if (keyError !== undefined) invalid(node, "key", keyError);
  if (operator !== undefined) checkCount(node, operator, values.length);
  const isNumber = operator === "Gt" || operator === "Lt";
  for (const [index, value] of values.entries()) {
    // A number below zero is no label value either: no label could ever match it.
    const error = isNumber && !INTEGER.test(value) ? NOT_AN_INTEGER : labelValueError(value);
    if (error !== undefined) node.findings.invalid([...node.path, "values", index], value, error);
  }
}

function checkCount(node: Node, operator: NodeSelectorOperator, count: number): void {
  const none = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  switch (operator) {
    case "In":
    case "NotIn":
      if (count === 0)
        required(node, "values", "must be specified when `operator` is 'In' or 'NotIn'");
      return;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) forbidden(node, "values", none);
      return;
    case "Gt":
    case "Lt":
      if (count !== 1)
        required(node, "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
  }
}

/** k8s: ValidateNodeFieldSelectorRequirement */
function checkNodeFields({ key, operator, values }: WrittenRequirement, node: Node): void {
  const one = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
  if (operator !== undefined && operator !== "In" && operator !== "NotIn")
    invalid(node, "operator", "not a valid selector operator");
  else if (operator !== undefined && values.length !== 1) required(node, "values", one);
  if (key !== "metadata.name") {
    const error = "not a valid field selector key (metadata.name is the only one)";
    node.findings.invalid([...node.path, "key"], key, error);
    return;
  }
  for (const [index, value] of values.entries()) {
    const error = dnsSubdomainError(value);
    if (error !== undefined) node.findings.invalid([...node.path, "values", index], value, error);
  }
}

const NODE_SELECTOR_TERM = objectType("NodeSelectorTerm", {
  matchExpressions: list(requirement(checkLabels), {
    about: "Requirements on the node's labels. All must match.",
  }),
  matchFields: list(requirement(checkNodeFields), {
    about: "Requirements on the node's fields, of which metadata.name is the only one.",
  }),
});
/** One of the terms has to match, and of a term everything. */
export type NodeSelectorTerm = Decoded<typeof NODE_SELECTOR_TERM>;

const NODE_SELECTOR = objectType("NodeSelector", {
  nodeSelectorTerms: list(NODE_SELECTOR_TERM, {
    about: "Terms of which at least one must match this node.",
    required: "must have at least one node selector term",
  }),
});

const NODE_AFFINITY = objectType("NodeAffinity", {
  requiredDuringSchedulingIgnoredDuringExecution: fieldOf(NODE_SELECTOR)({
    about: "Requirements on this node's labels. The pod is not admitted unless they match.",
  }),
  preferredDuringSchedulingIgnoredDuringExecution: unread(
    "[]PreferredSchedulingTerm",
    "Preferred nodes. This node is the only one.",
    harmless,
  ),
});

/** Read as the terms that node affinity requires; preferences change nothing on a single node. */
export const AFFINITY = converted(
  objectType("Affinity", {
    nodeAffinity: fieldOf(NODE_AFFINITY)({ about: "Nodes on which the pod may run." }),
    ...unreadFields(harmless, {
      podAffinity: ["PodAffinity", "Pods to run beside. This node is the only one."],
      podAntiAffinity: ["PodAntiAffinity", "Pods to keep away from. This node is the only one."],
    }),
  }),
  {
    to: ({ nodeAffinity }) =>
      nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
    from: (nodeSelectorTerms: readonly NodeSelectorTerm[]) => ({
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    }),
  },
);

/**
 * Text that the first versions of the agent did not read: an unquoted word stays in the hashes of its pod as YAML read it, or
 * the pod would restart with a new UID.
 */
const frozen = fieldOf({ ...text, read: (at) => asString(at, { rewrite: false }) });

const TOLERATION_FIELDS = {
  key: frozen({ about: "Key of the taint; empty with Exists: every taint.", default: "" }),
  operator: oneOf(["Equal", "Exists", "Lt", "Gt"], {
    about: "Relation of the key to the value: Equal, Exists, Lt or Gt.",
    default: "Equal",
  }),
  value: frozen({ about: "Value of the taint, for Equal, Lt and Gt.", default: "" }),
  effect: oneOf(["NoSchedule", "PreferNoSchedule", "NoExecute"], {
    about: "NoSchedule, PreferNoSchedule or NoExecute. Default: every effect.",
  }),
  tolerationSeconds: integer({ about: "Seconds for which a taint with NoExecute is tolerated." }),
};
export type Toleration = ObjectOf<typeof TOLERATION_FIELDS>;
export const TOLERATION = objectType("Toleration", TOLERATION_FIELDS, { check: checkToleration });

function checkToleration(toleration: Toleration, node: Node): void {
  const { key, operator, value, effect = "", tolerationSeconds } = toleration;
  const keyError = key === "" ? undefined : qualifiedNameError(key);
  if (keyError !== undefined) invalid(node, "key", keyError);
  if (key === "" && operator !== "Exists") {
    const error =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    node.findings.invalid([...node.path, "operator"], operator, error);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const error = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    node.findings.invalid([...node.path, "effect"], effect, error);
  }
  const valueError = tolerationValueError(operator, value);
  if (valueError !== undefined) invalid(node, "value", valueError);
}

function tolerationValueError(operator: Toleration["operator"], value: string): string | undefined {
  switch (operator) {
    case "Equal":
      return labelValueError(value);
    case "Exists":
      return value === "" ? undefined : "value must be empty when `operator` is 'Exists'";
    case "Lt":
    case "Gt":
      return INTEGER.test(value) ? undefined : NOT_AN_INTEGER;
  }
}

export const POD_OS = objectType("PodOS", {
  name: oneOf(["linux", "windows"], {
    about: "Operating system of the pod: linux.",
    required: true,
    rule: supportedBut(NO_WINDOWS, "windows"),
  }),
});
