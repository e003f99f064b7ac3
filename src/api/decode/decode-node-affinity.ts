// What a pod's node affinity requires of the node, as written → terms. k8s: ValidateNodeSelector

import {
  checkFields,
  forbidden,
  invalid,
  invalidValue,
  objectField,
  objectList,
  required,
  stringField,
  stringList,
  type Node,
} from "./field-reader.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../v1/scheduling.ts";
import {
  AFFINITY,
  NODE_AFFINITY,
  NODE_SELECTOR,
  NODE_SELECTOR_REQUIREMENT,
  NODE_SELECTOR_TERM,
} from "../schema/scheduling.ts";
import {
  dnsSubdomainError,
  labelValueError,
  qualifiedNameError,
} from "../validation/validate-names.ts";

const INTEGER = /^[+-]?[0-9]+$/;

/** What the node affinity of `spec` requires; what it only prefers changes nothing here. */
export function decodeNodeAffinity(spec: Node): readonly NodeSelectorTerm[] | undefined {
  const affinity = objectField(spec, "affinity");
  if (affinity === undefined) return undefined;
  checkFields(affinity, AFFINITY);
  const ofNodes = objectField(affinity, "nodeAffinity");
  if (ofNodes === undefined) return undefined;
  checkFields(ofNodes, NODE_AFFINITY);
  const selector = objectField(ofNodes, "requiredDuringSchedulingIgnoredDuringExecution");
  if (selector === undefined) return undefined;
  checkFields(selector, NODE_SELECTOR);
  const terms = objectList(selector, "nodeSelectorTerms");
  if (terms.length === 0 && Array.isArray(selector.value["nodeSelectorTerms"] ?? []))
    required(selector, "nodeSelectorTerms", "must have at least one node selector term");
  return terms.map(decodeTerm);
}

function decodeTerm(node: Node): NodeSelectorTerm {
  checkFields(node, NODE_SELECTOR_TERM);
  return {
    matchExpressions: objectList(node, "matchExpressions").flatMap((one) =>
      decodeRequirement(one, judgeLabelRequirement),
    ),
    matchFields: objectList(node, "matchFields").flatMap((one) =>
      decodeRequirement(one, judgeFieldRequirement),
    ),
  };
}

/** The operator is absent where it was none, which has been said. */
type Written = Omit<NodeSelectorRequirement, "operator"> & {
  readonly operator: NodeSelectorRequirement["operator"] | undefined;
};

function decodeRequirement(
  node: Node,
  judge: (node: Node, requirement: Written) => void,
): readonly NodeSelectorRequirement[] {
  checkFields(node, NODE_SELECTOR_REQUIREMENT);
  const key = stringField(node, "key") ?? "";
  const values = stringList(node, "values");
  const operator = operatorField(node);
  judge(node, { key, operator, values });
  return operator === undefined ? [] : [{ key, operator, values }];
}

const OPERATORS: readonly NodeSelectorRequirement["operator"][] = [
  "In",
  "NotIn",
  "Exists",
  "DoesNotExist",
  "Gt",
  "Lt",
];

function operatorField(node: Node): NodeSelectorRequirement["operator"] | undefined {
  const text = stringField(node, "operator") ?? "";
  const operator = OPERATORS.find((word) => word === text);
  if (operator === undefined && (text !== "" || (node.value["operator"] ?? "") === ""))
    node.findings.fail(
      [...node.path, "operator"],
      "Invalid",
      invalidValue(text, "not a valid selector operator"),
    );
  return operator;
}

/** k8s: ValidateNodeSelectorRequirement */
function judgeLabelRequirement(node: Node, { key, operator, values }: Written): void {
  const keyError = key === "" ? undefined : qualifiedNameError(key);
  if (key === "") required(node, "key");
  if (keyError !== undefined) invalid(node, "key", keyError);
  if (operator !== undefined) judgeCount(node, operator, values.length);
  const isNumber = operator === "Gt" || operator === "Lt";
  for (const [index, value] of values.entries()) {
    // A number below zero is no label value either: nothing could ever be compared with it.
    const error =
      isNumber && !INTEGER.test(value)
        ? "must be an integer when `operator` is 'Lt' or 'Gt'"
        : labelValueError(value);
    if (error !== undefined)
      node.findings.fail([...node.path, "values", index], "Invalid", invalidValue(value, error));
  }
}

function judgeCount(
  node: Node,
  operator: NodeSelectorRequirement["operator"],
  count: number,
): void {
  switch (operator) {
    case "In":
    case "NotIn":
      if (count === 0)
        required(node, "values", "must be specified when `operator` is 'In' or 'NotIn'");
      return;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) {
        const message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        forbidden(node, "values", message);
      }
      return;
    case "Gt":
    case "Lt":
      if (count !== 1)
        required(node, "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
  }
}

/** k8s: ValidateNodeFieldSelectorRequirement */
function judgeFieldRequirement(node: Node, { key, operator, values }: Written): void {
  if (operator !== undefined && operator !== "In" && operator !== "NotIn")
    invalid(node, "operator", "not a valid selector operator");
  else if (operator !== undefined && values.length !== 1) {
    const message =
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    required(node, "values", message);
  }
  if (key !== "metadata.name") {
    const message = invalidValue(
      key,
      "not a valid field selector key (metadata.name is the only one)",
    );
    node.findings.fail([...node.path, "key"], "Invalid", message);
    return;
  }
  for (const [index, value] of values.entries()) {
    const error = dnsSubdomainError(value);
    if (error !== undefined)
      node.findings.fail([...node.path, "values", index], "Invalid", invalidValue(value, error));
  }
}
