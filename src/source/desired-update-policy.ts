// How an update is to be carried out (`policy` of a document): what is built is read, the rest only as its default.

import type { UpdatePolicy } from "../api/desired-document.ts";
import { integerField, invalid, objectField, type Node } from "../api/field-reader.ts";
import type { Findings } from "../api/findings.ts";
import { suggest } from "../api/suggest.ts";

export const DEFAULT_POLICY: UpdatePolicy = { minReadySeconds: 10, progressDeadlineSeconds: 600 };

/** Known fields of `policy` whose behaviour is not built: only the default may be asked for. */
const POLICY_LATER: Readonly<Record<string, unknown>> = {
  onFailure: "rollback",
  strategy: "pull-then-replace",
  atomic: false,
  requireUpstream: "auto",
  retryFailed: false,
  staged: false,
};
const POLICY_FIELDS = ["minReadySeconds", "progressDeadlineSeconds", ...Object.keys(POLICY_LATER)];

/** A behaviour that is asked for but not built goes to `unsupported`: it must not be ignored in silence. */
export function readPolicy(node: Node, unsupported: Findings): UpdatePolicy {
  const policy = objectField(node, "policy");
  if (policy === undefined) return DEFAULT_POLICY;
  for (const [key, value] of Object.entries(policy.value)) {
    const path = [...policy.path, key];
    if (!POLICY_FIELDS.includes(key)) {
      policy.findings.warn(path, "Ignored", `unknown field${didYouMean(key, POLICY_FIELDS)}`);
      continue;
    }
    const standard = POLICY_LATER[key];
    if (standard === undefined || value === null || value === standard) continue;
    const message = `${shown(value)} is not supported yet; leave it out or write ${shown(standard)}`;
    unsupported.fail(path, "NotSupported", message);
  }
  return {
    minReadySeconds: seconds(policy, "minReadySeconds", 0) ?? DEFAULT_POLICY.minReadySeconds,
    progressDeadlineSeconds:
      seconds(policy, "progressDeadlineSeconds", 1) ?? DEFAULT_POLICY.progressDeadlineSeconds,
  };
}

function seconds(node: Node, key: string, least: number): number | undefined {
  const value = integerField(node, key);
  if (value === undefined || value >= least) return value;
  invalid(node, key, `must be at least ${least}`);
  return undefined;
}

/** ` (did you mean x?)`, or nothing. */
export function didYouMean(written: string, known: readonly string[]): string {
  const meant = suggest(written, known);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
