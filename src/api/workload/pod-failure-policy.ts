// podFailurePolicy of a Job: what the end of a failed pod means for the Job. kubernetes: matchPodFailurePolicy

import { forbidden, type Node } from "../decode/field-reader.ts";
import { list, number, objectType, oneOf, string, type Decoded } from "../schema/codec.ts";
import { fieldOf } from "../schema/codec.ts";
import { exactlyOne } from "../schema/union.ts";

const MAX_RULES = 20;
const MAX_VALUES = 255;

const ON_EXIT_CODES = objectType("PodFailurePolicyOnExitCodesRequirement", {
  containerName: string({ about: "The container. Default: any of the pod." }),
  operator: oneOf(["In", "NotIn"], { about: "In or NotIn.", required: true }),
  values: list(number, {
    about: "Exit codes; 0 is none with In.",
    required: true,
    item: (code) => (code < 0 || code > 255 ? "must be between 0 and 255" : undefined),
  }),
});

const CONDITION = objectType("PodFailurePolicyOnPodConditionsPattern", {
  type: string({ about: "Condition of the pod, such as DisruptionTarget.", required: true }),
  status: oneOf(["True", "False", "Unknown"], { about: "Its status.", default: "True" }),
});

const RULE = objectType(
  "PodFailurePolicyRule",
  {
    action: oneOf(["FailJob", "Ignore", "Count", "FailIndex"], {
      about: "FailJob: the Job fails. Ignore: the failure does not count. Count: it counts.",
      required: true,
    }),
    onExitCodes: fieldOf(ON_EXIT_CODES)({ about: "Exit codes of containers." }),
    onPodConditions: list(CONDITION, { about: "Conditions of the pod, of which one is enough." }),
  },
  { check: checkRule },
);

function checkRule({ action }: { readonly action?: string }, node: Node): void {
  exactlyOne(node, ["onExitCodes", "onPodConditions"], "requirement");
  if (action === "FailIndex")
    forbidden(
      node,
      "action",
      "FailIndex needs backoffLimitPerIndex, which this node does not have",
    );
}

export const POD_FAILURE_POLICY = objectType("PodFailurePolicy", {
  rules: list(RULE, {
    about: "The first rule that matches decides; without one, the failure counts.",
    required: true,
    check: (rules) =>
      rules.length > MAX_RULES ||
      rules.some(({ onExitCodes }) => (onExitCodes?.values.length ?? 0) > MAX_VALUES)
        ? `must have at most ${MAX_RULES} rules of ${MAX_VALUES} exit codes`
        : undefined,
  }),
});
export type PodFailurePolicy = Decoded<typeof POD_FAILURE_POLICY>;

/** How a pod has failed. */
export interface FailedPod {
  /** Exit codes of its containers, by name. */
  readonly exits: readonly { readonly container: string; readonly exitCode: number }[];
  readonly conditions: readonly { readonly type: string; readonly status: string }[];
}

export type FailureAction = "FailJob" | "Ignore" | "Count";

export function failureAction(policy: PodFailurePolicy | undefined, pod: FailedPod): FailureAction {
  const rule = policy?.rules.find(({ onExitCodes: codes, onPodConditions: patterns }) => {
    if (codes !== undefined) return matchesCodes(codes, pod);
    return patterns.some(({ type, status }) =>
      pod.conditions.some((one) => one.type === type && one.status === status),
    );
  });
  return rule?.action === "FailJob" || rule?.action === "Ignore" ? rule.action : "Count";
}

type Codes = NonNullable<PodFailurePolicy["rules"][number]["onExitCodes"]>;

/** Containers that ended with 0 are no failure. */
function matchesCodes({ containerName, operator, values }: Codes, { exits }: FailedPod): boolean {
  return exits.some(
    ({ container, exitCode }) =>
      exitCode !== 0 &&
      (containerName === undefined || containerName === container) &&
      values.includes(exitCode) === (operator === "In"),
  );
}
