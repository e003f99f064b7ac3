// Rules by which the exit code of a container decides whether it is restarted. k8s: validateContainerRestartRules

import { invalidAt } from "../decode/field-reader.ts";
import { converted, fieldOf, judged, objectType, word } from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { requiredWord, shortList } from "../schema/values.ts";
import { repeated } from "../../lib/compare.ts";

const MAX_RULES = 20;
const MAX_VALUES = 255;
const MAX_EXIT_CODE = 255;

function isExitCode(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_EXIT_CODE;
}

const EXIT_CODE: Type<number> = {
  name: "integer",
  read(at) {
    if (isExitCode(at.value)) return at.value;
    return invalidAt(at, `must be an integer between 0 and ${MAX_EXIT_CODE}, inclusive`);
  },
  write: (value) => value,
  schema: () => ({ type: "integer", minimum: 0, maximum: MAX_EXIT_CODE }),
};

const EXIT_CODE_LIST = judged(
  shortList(EXIT_CODE, MAX_VALUES),
  (_codes, { findings, path, value }) => {
    const written = Array.isArray(value) ? [...value.entries()] : [];
    const codes = written.filter(([, code]) => isExitCode(code));
    for (const [index, code] of repeated(codes, ([, one]) => String(one)))
      findings.duplicate([...path, index], code);
  },
);

const EXIT_CODES = objectType("ContainerRestartRuleOnExitCodes", {
  operator: requiredWord(
    word(["In", "NotIn"]),
    "Whether the exit code must be in values: In or NotIn.",
  ),
  // Without one, `In` never holds and `NotIn` always: not what was meant.
  values: fieldOf(EXIT_CODE_LIST)({
    about: `Exit codes 0 to ${MAX_EXIT_CODE}, each once.`,
    default: [],
    required: "must have at least 1 exit code",
    schema: { uniqueItems: true },
  }),
});

const ACTIONS = ["Restart", "RestartAllContainers"] as const;
export type RestartAction = (typeof ACTIONS)[number];

export interface RestartRule {
  readonly action: RestartAction;
  readonly exitCodes: { readonly operator: "In" | "NotIn"; readonly values: readonly number[] };
}

const RESTART_RULE = converted(
  objectType("ContainerRestartRule", {
    action: requiredWord(
      word<RestartAction>(ACTIONS),
      "What is done if the rule matches: Restart, this container; RestartAllContainers, all containers of the pod in its sandbox, from the first init container on, without preStop hooks and grace period.",
    ),
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

export const restartPolicyRules = fieldOf(shortList(RESTART_RULE, MAX_RULES))({
  about: "Exit codes that decide before restartPolicy; the first rule that matches counts.",
  default: [],
});
