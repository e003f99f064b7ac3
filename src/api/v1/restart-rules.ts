// Rules by which the exit code of a container decides whether it is restarted. k8s: validateContainerRestartRules

import { invalidAt, isUnwritten, placeOf, type Node } from "../decode/field-reader.ts";
import { supportedBut } from "../decode/field-rules.ts";
import { converted, fieldOf, list, objectType, oneOf } from "../schema/codec.ts";
import type { Field, Type } from "../schema/type.ts";

const MAX_RULES = 20;
const MAX_VALUES = 255;
const MAX_EXIT_CODE = 255;

/** A word whose absence is reported like any other wrong word. */
function requiredWord<const T extends string>(
  choices: readonly T[],
  about: string,
): Field<T | undefined> {
  const field = oneOf(choices, { about, required: true });
  return {
    ...field,
    read(node, key) {
      if (!isUnwritten(node, key)) return field.read(node, key);
      node.findings.unsupported([...node.path, key], "", choices);
      return undefined;
    },
  };
}

const EXIT_CODE: Type<number> = {
  name: "integer",
  read(at) {
    const { value } = at;
    const isCode =
      typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_EXIT_CODE;
    if (isCode) return value;
    return invalidAt(at, `must be an integer between 0 and ${MAX_EXIT_CODE}, inclusive`);
  },
  write: (value) => value,
  schema: () => ({ type: "integer", minimum: 0, maximum: MAX_EXIT_CODE }),
};

const EXIT_CODES = objectType(
  "ContainerRestartRuleOnExitCodes",
  {
    operator: requiredWord(
      ["In", "NotIn"],
      "Whether the exit code must be in values: In or NotIn.",
    ),
    // Without one, `In` never holds and `NotIn` always: not what was meant.
    values: list(EXIT_CODE, {
      about: `Exit codes 0 to ${MAX_EXIT_CODE}, each once.`,
      required: "must have at least 1 exit code",
      schema: { minItems: 1, maxItems: MAX_VALUES, uniqueItems: true },
    }),
  },
  { check: judgeValues },
);

function judgeValues(_: unknown, node: Node): void {
  const written = placeOf(node, "values").value;
  if (!Array.isArray(written)) return;
  if (written.length > MAX_VALUES)
    tooMany(node, "values", { count: written.length, atMost: MAX_VALUES });
  const seen = new Set<unknown>();
  for (const [index, value] of written.entries()) {
    const isCode = typeof value === "number" && value >= 0 && value <= MAX_EXIT_CODE;
    if (isCode && seen.has(value)) node.findings.duplicate([...node.path, "values", index], value);
    seen.add(value);
  }
}

export interface RestartRule {
  readonly action: "Restart";
  readonly exitCodes: { readonly operator: "In" | "NotIn"; readonly values: readonly number[] };
}

const ALL_CONTAINERS = "RestartAllContainers";
const action = requiredWord(["Restart"], "What is done if the rule matches: Restart.");

const RESTART_RULE = converted(
  objectType("ContainerRestartRule", {
    action: {
      ...action,
      rule: supportedBut(
        {
          code: "Unsupported",
          message:
            "RestartAllContainers does not work on this node; use Restart, which restarts the container alone",
        },
        ALL_CONTAINERS,
      ),
      // The rule of the field has reported it.
      read: (node, key) =>
        placeOf(node, key).value === ALL_CONTAINERS ? undefined : action.read(node, key),
    } satisfies typeof action,
    exitCodes: fieldOf(EXIT_CODES)({
      about: "Exit codes that the rule matches.",
      required: "must be specified",
    }),
  }),
  {
    to({ action, exitCodes }): RestartRule | undefined {
      if (action === undefined || exitCodes?.operator === undefined) return undefined;
      const { operator, values } = exitCodes;
      return { action, exitCodes: { operator, values: [...new Set(values)] } };
    },
    from: (rule) => rule,
  },
);

export const restartPolicyRules = list(RESTART_RULE, {
  about: "Exit codes that decide before restartPolicy; the first rule that matches counts.",
  schema: { maxItems: MAX_RULES },
});

/** The number of rules of a container as written, which is reported if it is too large. */
export function countRules(container: Node): number {
  const key = "restartPolicyRules";
  const written = placeOf(container, key).value;
  const count = Array.isArray(written) ? written.length : 0;
  if (count > MAX_RULES) tooMany(container, key, { count, atMost: MAX_RULES });
  return count;
}

function tooMany(
  node: Node,
  key: string,
  { count, atMost }: { readonly count: number; readonly atMost: number },
): void {
  const message = `Too many: ${count}: must have at most ${atMost} items`;
  node.findings.fail([...node.path, key], "Invalid", message);
}
