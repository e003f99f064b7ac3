// Whether a document is meant for this node or group: its `target`, with `target.fleet`, against the topic it arrived
// on.

import { type DocumentAddress, groupOf } from "../../protocol/desired-document.ts";
import type { FieldError } from "../../lib/result.ts";
import { quoted } from "../../lib/short-text.ts";
import type { DocumentOf, Target } from "../../protocol/desired-state.ts";

export interface TargetRules {
  /** `mqtt.fleet`; undefined = any. */
  readonly fleet: string | undefined;
  /** A signed document must name its target; an unsigned one without a target is for its topic. */
  readonly isSigned: boolean;
}

/** Every way in which the target differs from the topic's. */
export function judgeTarget(
  target: Target,
  address: DocumentAddress,
  { fleet, isSigned }: TargetRules,
): readonly FieldError[] {
  const group = groupOf(address);
  const isNamed = target.node !== undefined || target.group !== undefined;
  if (isSigned && !isNamed) return [unnamed(address)];
  const wrong: FieldError[] = [];
  const miss = (key: keyof Target, message: string): void => {
    wrong.push({ path: `target.${key}`, code: "OtherTarget", message });
  };
  if (target.node !== undefined && group !== undefined)
    miss("node", `this is the topic of group ${group}; write target: {group: ${group}}`);
  else if (target.node !== undefined && target.node !== address.node)
    miss(
      "node",
      `is for ${quoted(target.node)}, this is ${address.node}; publish it to that node's topic`,
    );
  if (target.group !== undefined && target.group !== group)
    miss(
      "group",
      `is for ${quoted(target.group)}, this is ${group ?? `the topic of node ${address.node}`}; publish it to that group's topic`,
    );
  if (target.fleet !== undefined && fleet !== undefined && target.fleet !== fleet)
    miss("fleet", `is for ${quoted(target.fleet)}, this node belongs to ${quoted(fleet)}`);
  return wrong;
}

function unnamed(address: DocumentAddress): FieldError {
  const group = groupOf(address);
  const own = group === undefined ? `node: ${address.node}` : `group: ${group}`;
  const message = `a signed document must name whom it is for, so that it counts nowhere else; write target: {${own}}`;
  return { path: "target", code: "Required", message };
}

export function documentOf(address: Pick<DocumentAddress, "source">): DocumentOf {
  return groupOf(address) === undefined ? "node" : "group";
}
