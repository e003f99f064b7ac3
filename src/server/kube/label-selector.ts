// kubectl's `-l`: which labels a pod must carry.

import type { NodeSelectorRequirement } from "../../api/v1/scheduling.ts";
import { isMet, labelOf } from "../../source/admission/node-affinity.ts";
import { qualifiedNameError } from "../../api/validation/validate-names.ts";
import { failed, ok, type Result } from "../../lib/result.ts";

export type LabelSelector = readonly NodeSelectorRequirement[];

// A comma inside `in (…)` does not separate requirements.
const REQUIREMENTS = /(?:[^,()]|\([^)]*\))+/g;
const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const EQUALITY = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!,()]*)$/;
const EXISTENCE = /^(!?)\s*([^\s=!,()]+)$/;

/** `a=b,c!=d,e,!f,g in (x,y),h notin (z)`; every part must hold. */
export function parseSelector(written: string): Result<LabelSelector> {
  const parts = (written.match(REQUIREMENTS) ?? []).map((part) => part.trim());
  const whole = written.replaceAll(/\s/g, "");
  if (parts.join(",").replaceAll(/\s/g, "") !== whole || parts.includes(""))
    return refuse(written, "a comma or a bracket is misplaced");
  const selector: NodeSelectorRequirement[] = [];
  for (const part of parts) {
    const requirement = parseRequirement(part);
    if (requirement === undefined) return refuse(written, `cannot read "${part}"`);
    const wrongKey = qualifiedNameError(requirement.key);
    if (wrongKey !== undefined)
      return refuse(written, `"${requirement.key}" is no label key: ${wrongKey}`);
    selector.push(requirement);
  }
  return ok(selector);
}

function refuse(written: string, why: string): Result<LabelSelector> {
  const message = `invalid selector "${written}": ${why}; write a=b, a!=b, a, !a, or a in (b,c)`;
  return failed([{ path: "", message, code: "Invalid" }]);
}

function parseRequirement(part: string): NodeSelectorRequirement | undefined {
  const set = SET.exec(part);
  if (set !== null) {
    const values = (set[3] ?? "").split(",").map((value) => value.trim());
    return { operator: set[2] === "in" ? "In" : "NotIn", key: set[1] ?? "", values };
  }
  const equality = EQUALITY.exec(part);
  if (equality !== null) {
    const values = [equality[3] ?? ""];
    return { operator: equality[2] === "!=" ? "NotIn" : "In", key: equality[1] ?? "", values };
  }
  const existence = EXISTENCE.exec(part);
  if (existence === null) return undefined;
  const operator = existence[1] === "!" ? "DoesNotExist" : "Exists";
  return { operator, key: existence[2] ?? "", values: [] };
}

/** Whether labels satisfy every requirement. As in Kubernetes, `!=` and `notin` also hold without the label. */
export function matchesSelector(
  labels: Readonly<Record<string, string>>,
  selector: LabelSelector,
): boolean {
  return selector.every((one) => isMet(one, labelOf(labels, one.key)));
}
