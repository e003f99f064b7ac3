// What a pod asks of its node, as written: labels, tolerations, priority, runtime. k8s: ValidateTolerations

import { decodeNodeAffinity } from "./decode-node-affinity.ts";
import { decodeOverhead } from "./container/decode-resources.ts";
import {
  checkFields,
  choiceField,
  integerField,
  invalid,
  invalidValue,
  isUnwritten,
  objectField,
  objectList,
  required,
  stringField,
  stringMap,
  type Node,
} from "./field-reader.ts";
import { optional } from "./optional-field.ts";
import type { PodSpec } from "../v1/pod.ts";
import type { Toleration } from "../v1/scheduling.ts";
import { LOCAL_REFERENCE } from "../schema/pod-spec.ts";
import { POD_OS, TOLERATION } from "../schema/scheduling.ts";
import {
  labelValueError,
  qualifiedNameError,
  subdomainNameError,
} from "../validation/validate-names.ts";

const INT32 = 2 ** 31;
const INTEGER = /^[+-]?[0-9]+$/;

const PREEMPTION_POLICIES: readonly NonNullable<PodSpec["preemptionPolicy"]>[] = [
  "PreemptLowerPriority",
  "Never",
];

type Scheduling = Pick<
  PodSpec,
  | "nodeSelector"
  | "requiredNodeTerms"
  | "tolerations"
  | "priority"
  | "priorityClassName"
  | "preemptionPolicy"
  | "runtimeClassName"
  | "overhead"
  | "imagePullSecrets"
>;

export function decodeScheduling(spec: Node): Scheduling {
  const os = objectField(spec, "os");
  if (os !== undefined) decodeOS(os);
  return {
    nodeSelector: nodeSelectorField(spec),
    ...optional("requiredNodeTerms", decodeNodeAffinity(spec)),
    tolerations: objectList(spec, "tolerations").map(decodeToleration),
    ...optional("priority", priorityField(spec)),
    ...optional("priorityClassName", classField(spec, "priorityClassName")),
    ...optional("preemptionPolicy", choiceField(spec, "preemptionPolicy", PREEMPTION_POLICIES)),
    ...optional("runtimeClassName", classField(spec, "runtimeClassName")),
    overhead: decodeOverhead(objectField(spec, "overhead")),
    imagePullSecrets: objectList(spec, "imagePullSecrets").flatMap(pullSecret),
  };
}

/** Windows is known to Kubernetes; the table of fields has refused it. k8s: validateOS */
function decodeOS(node: Node): void {
  checkFields(node, POD_OS);
  if (isUnwritten(node, "name")) required(node, "name");
  else choiceField(node, "name", ["linux", "windows"]);
}

function nodeSelectorField(spec: Node): Readonly<Record<string, string>> {
  const labels = stringMap(spec, "nodeSelector");
  for (const [key, value] of Object.entries(labels)) {
    const path = [...spec.path, "nodeSelector", key];
    const keyError = qualifiedNameError(key);
    const valueError = labelValueError(value);
    if (keyError !== undefined) spec.findings.fail(path, "Invalid", invalidValue(key, keyError));
    if (valueError !== undefined)
      spec.findings.fail(path, "Invalid", invalidValue(value, valueError));
  }
  return labels;
}

function decodeToleration(node: Node): Toleration {
  checkFields(node, TOLERATION);
  const key = frozenText(node, "key");
  const operator = choiceField(node, "operator", ["Equal", "Exists", "Lt", "Gt"]) ?? "Equal";
  const value = frozenText(node, "value");
  const effect = choiceField(node, "effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"]) ?? "";
  const tolerationSeconds = integerField(node, "tolerationSeconds");
  const toleration: Toleration = {
    key,
    operator,
    value,
    effect,
    ...optional("tolerationSeconds", tolerationSeconds),
  };
  judgeToleration(node, toleration);
  return toleration;
}

/**
 * Text that the first versions of the agent did not read: an unquoted word stays in the hashes of its pod as YAML saw it, or
 * the pod would restart with a new UID.
 */
function frozenText(node: Node, key: "key" | "value"): string {
  const path = [...node.path, key];
  const word = typeof node.value[key] === "boolean" ? node.findings.wordAt(path) : undefined;
  if (word === undefined) return stringField(node, key) ?? "";
  node.findings.warn(path, "Ignored", `unquoted ${word} is read as text here; write "${word}"`);
  return word;
}

function judgeToleration(node: Node, toleration: Toleration): void {
  const { key, operator, value, effect, tolerationSeconds } = toleration;
  const keyError = key === "" ? undefined : qualifiedNameError(key);
  if (keyError !== undefined) invalid(node, "key", keyError);
  if (key === "" && operator !== "Exists") {
    const message =
      'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    node.findings.fail([...node.path, "operator"], "Invalid", invalidValue(operator, message));
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const message = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    node.findings.fail([...node.path, "effect"], "Invalid", invalidValue(effect, message));
  }
  const error = tolerationValueError(operator, value);
  if (error !== undefined) invalid(node, "value", error);
}

function tolerationValueError(operator: Toleration["operator"], value: string): string | undefined {
  switch (operator) {
    case "Equal":
      return labelValueError(value);
    case "Exists":
      return value === "" ? undefined : "value must be empty when `operator` is 'Exists'";
    case "Lt":
    case "Gt":
      return INTEGER.test(value) ? undefined : "must be an integer when `operator` is 'Lt' or 'Gt'";
  }
}

function priorityField(spec: Node): number | undefined {
  const priority = integerField(spec, "priority");
  if (priority !== undefined && (priority < -INT32 || priority >= INT32))
    invalid(spec, "priority", `must be between ${-INT32} and ${INT32 - 1}, inclusive`);
  return priority;
}

function classField(spec: Node, key: "priorityClassName" | "runtimeClassName"): string | undefined {
  const name = stringField(spec, key);
  if (name === undefined || name === "") return undefined;
  const error = subdomainNameError(name);
  if (error !== undefined) invalid(spec, key, error);
  return name;
}

function pullSecret(node: Node): readonly string[] {
  checkFields(node, LOCAL_REFERENCE);
  const name = stringField(node, "name") ?? "";
  if (name === "") {
    // Kubernetes lets it through, and it never names anything.
    node.findings.warn([...node.path, "name"], "Ignored", 'invalid empty name ""');
    return [];
  }
  const error = subdomainNameError(name);
  if (error !== undefined) invalid(node, "name", error);
  return [name];
}
