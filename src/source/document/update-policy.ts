// How an update is to be carried out (`policy` of a document).

import type { UpdatePolicy } from "../../api/pod/update-policy.ts";
import {
  booleanField,
  integerField,
  invalid,
  objectField,
  unknownField,
  type Node,
} from "../../api/decode/field-reader.ts";
import type { Findings } from "../../api/decode/field-errors.ts";

const DAY_S = 24 * 3600;

export const DEFAULT_POLICY: UpdatePolicy = {
  minReadySeconds: 10,
  progressDeadlineSeconds: 600,
  onFailure: "rollback",
  strategy: "pull-then-replace",
  atomic: false,
  requireUpstream: "auto",
  retryFailed: false,
  maxLockSeconds: DAY_S,
};

const POLICY_FIELDS = [...Object.keys(DEFAULT_POLICY), "staged"];
const ON_FAILURE = ["rollback", "hold", "keep"] as const;
const STRATEGIES = ["pull-then-replace", "stop-then-pull"] as const;

/** A behaviour that is asked for but not built goes to `unsupported`: it must not be ignored in silence. */
export function readPolicy(node: Node, unsupported: Findings): UpdatePolicy {
  const policy = objectField(node, "policy");
  if (policy === undefined) return DEFAULT_POLICY;
  for (const key of Object.keys(policy.value)) {
    if (POLICY_FIELDS.includes(key)) continue;
    policy.findings.warn([...policy.path, key], "Ignored", unknownField(key, POLICY_FIELDS));
  }
  if (booleanField(policy, "staged") === true) {
    const message = "true is not supported yet; leave it out or write false";
    unsupported.fail([...policy.path, "staged"], "NotSupported", message);
  }
  const usual = DEFAULT_POLICY;
  return {
    minReadySeconds: seconds(policy, "minReadySeconds", 0) ?? usual.minReadySeconds,
    progressDeadlineSeconds:
      seconds(policy, "progressDeadlineSeconds", 1) ?? usual.progressDeadlineSeconds,
    onFailure: choice(policy, "onFailure", ON_FAILURE) ?? usual.onFailure,
    strategy: choice(policy, "strategy", STRATEGIES) ?? usual.strategy,
    atomic: booleanField(policy, "atomic") ?? usual.atomic,
    requireUpstream: requireUpstream(policy) ?? usual.requireUpstream,
    retryFailed: booleanField(policy, "retryFailed") ?? usual.retryFailed,
    maxLockSeconds: seconds(policy, "maxLockSeconds", 0) ?? usual.maxLockSeconds,
  };
}

/** `auto`, true or false. */
function requireUpstream(policy: Node): UpdatePolicy["requireUpstream"] | undefined {
  const value = policy.value["requireUpstream"];
  if (value === undefined || value === null) return undefined;
  if (value === "auto") return "auto";
  if (typeof value === "boolean") return value ? "always" : "never";
  invalid(policy, "requireUpstream", "must be auto, true or false");
  return undefined;
}

function choice<T extends string>(node: Node, key: string, known: readonly T[]): T | undefined {
  const value = node.value[key];
  if (value === undefined || value === null) return undefined;
  const found = known.find((one) => one === value);
  if (found === undefined) invalid(node, key, `must be one of ${known.join(", ")}`);
  return found;
}

function seconds(node: Node, key: string, least: number): number | undefined {
  const value = integerField(node, key);
  if (value === undefined || value >= least) return value;
  invalid(node, key, `must be at least ${least}`);
  return undefined;
}
