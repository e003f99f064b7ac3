// Whether a container runs again after an exit, as written → its own policy and rules. k8s: validateContainerRestartPolicy

import {
  checkFields,
  choiceField,
  forbidden,
  invalidValue,
  listField,
  objectField,
  objectList,
  required,
  requiredChoice,
  type Node,
} from "../field-reader.ts";
import { EXIT_CODES, RESTART_RULE } from "../../schema/container.ts";
import type { Container, RestartRule } from "../../v1/pod.ts";

const MAX_RULES = 20;
const MAX_VALUES = 255;
const MAX_EXIT_CODE = 255;

export function decodeRestart(
  node: Node,
  list: "initContainers" | "containers",
): Pick<Container, "restartPolicy" | "restartPolicyRules"> {
  const restartPolicy = choiceField(node, "restartPolicy", ["Always", "OnFailure", "Never"]);
  const written = objectList(node, "restartPolicyRules");
  const restartPolicyRules = written.flatMap(decodeRule);
  const key = "restartPolicyRules";
  if (written.length > 0 && (node.value["restartPolicy"] ?? "") === "")
    required(node, "restartPolicy", "must specify restartPolicy when restart rules are used");
  if (written.length > MAX_RULES) tooMany(node, key, { count: written.length, atMost: MAX_RULES });
  if (list === "initContainers" && restartPolicy === "Always" && written.length > 0)
    forbidden(node, key, "may not be set for init containers with restartPolicy=Always");
  return { ...(restartPolicy === undefined ? {} : { restartPolicy }), restartPolicyRules };
}

function decodeRule(node: Node): readonly RestartRule[] {
  checkFields(node, RESTART_RULE);
  const action = actionField(node);
  const exitCodes = decodeExitCodes(node);
  return action === undefined || exitCodes === undefined ? [] : [{ action, exitCodes }];
}

function actionField(node: Node): RestartRule["action"] | undefined {
  // The table of fields has refused it.
  if (node.value["action"] === "RestartAllContainers") return undefined;
  return requiredChoice(node, "action", ["Restart"]);
}

function decodeExitCodes(rule: Node): RestartRule["exitCodes"] | undefined {
  const node = objectField(rule, "exitCodes");
  if (node === undefined) {
    if (rule.value["exitCodes"] === undefined || rule.value["exitCodes"] === null)
      required(rule, "exitCodes", "must be specified");
    return undefined;
  }
  checkFields(node, EXIT_CODES);
  const operator = requiredChoice(node, "operator", ["In", "NotIn"]);
  const values = exitCodeList(node);
  return operator === undefined ? undefined : { operator, values };
}

function exitCodeList(node: Node): readonly number[] {
  const written = listField(node, "values");
  const path = [...node.path, "values"];
  const values = new Set<number>();
  // Without one, `In` never holds and `NotIn` always: certainly not what was meant.
  const isMissing = Array.isArray(node.value["values"] ?? []) && written.length === 0;
  if (isMissing) required(node, "values", "must have at least 1 exit code");
  if (written.length > MAX_VALUES)
    tooMany(node, "values", { count: written.length, atMost: MAX_VALUES });
  for (const [index, value] of written.entries()) {
    const isCode =
      typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_EXIT_CODE;
    if (!isCode) {
      const message = `must be an integer between 0 and ${MAX_EXIT_CODE}, inclusive`;
      node.findings.fail([...path, index], "Invalid", invalidValue(value, message));
    } else if (values.has(value))
      node.findings.fail([...path, index], "Duplicate", `Duplicate value: ${value}`);
    else values.add(value);
  }
  return [...values];
}

function tooMany(
  node: Node,
  key: string,
  { count, atMost }: { readonly count: number; readonly atMost: number },
): void {
  const message = `Too many: ${count}: must have at most ${atMost} items`;
  node.findings.fail([...node.path, key], "Invalid", message);
}
