// Decides whether this node matches a pod's nodeSelector and required node affinity, and which labels of the node a pod
// selects by: a static pod never by those of a document. kubelet: GetRequiredNodeAffinity

import { formatPath } from "../../api/decode/field-path.ts";
import type { SourceName } from "../../api/pod/labels.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../../api/v1/scheduling.ts";
import type { FieldError } from "../../lib/result.ts";
import { isStatic } from "../../api/pod/labels.ts";

export type NodeLabels = Readonly<Record<string, string>>;

export interface LabelledNode {
  readonly nodeName: string;
  /** Its own, and those that its document adds. */
  readonly labels: NodeLabels;
  /** From `localLabels`: static pods select by these only, so that no document decides where they run. */
  readonly ownLabels: NodeLabels;
}

type SelectableNode = Pick<LabelledNode, "nodeName" | "labels">;

/** The node with the labels that pods of this source select by. */
export function seenBy<N extends LabelledNode>(source: SourceName, node: N): N {
  return isStatic(source) ? { ...node, labels: node.ownLabels } : node;
}

const REASON = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const REMEDY = "set it in nodeLabels of the agent's configuration, or change the pod";

/** The node's own labels: Kubernetes' three and `configured`, which takes precedence. */
export function localLabels(
  { nodeName, architecture }: { readonly nodeName: string; readonly architecture: string },
  configured: NodeLabels,
): NodeLabels {
  return {
    "kubernetes.io/hostname": nodeName,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    ...configured,
  };
}

/** The first requirement that this node does not meet; undefined = it meets all. */
export function affinityError(pod: Pod, node: SelectableNode): FieldError | undefined {
  for (const [key, value] of Object.entries(pod.spec.nodeSelector)) {
    const own = labelOf(node.labels, key);
    if (own === value) continue;
    return {
      code: "NodeAffinity",
      path: formatPath(["spec", "nodeSelector", key]),
      message: `${REASON} (requires ${key}=${value}, this node ${labelText(key, own)}; ${REMEDY})`,
    };
  }
  const terms = pod.spec.affinity;
  if (terms === undefined || terms.some((term) => termMatches(term, node))) return undefined;
  return {
    code: "NodeAffinity",
    path: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    message: `${REASON} (${termsText(terms, node)}; ${REMEDY})`,
  };
}

/** All requirements must match; a term without requirements matches nothing. */
function termMatches(term: NodeSelectorTerm, node: SelectableNode): boolean {
  if (term.matchExpressions.length + term.matchFields.length === 0) return false;
  return failing(term, node) === undefined;
}

interface Failing {
  readonly requirement: NodeSelectorRequirement;
  readonly own: string | undefined;
}

function failing(term: NodeSelectorTerm, node: SelectableNode): Failing | undefined {
  const all = [
    ...term.matchExpressions.map((one) => ({
      requirement: one,
      own: labelOf(node.labels, one.key),
    })),
    ...term.matchFields.map((one) => ({
      requirement: one,
      own: one.key === "metadata.name" ? node.nodeName : undefined,
    })),
  ];
  return all.find(({ requirement, own }) => !isMet(requirement, own));
}

/** `own`: the value that the requirement is about; undefined = there is none. */
export function isMet(
  { operator, values }: NodeSelectorRequirement,
  own: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return own !== undefined && values.includes(own);
    case "NotIn":
      return own === undefined || !values.includes(own);
    case "Exists":
      return own !== undefined;
    case "DoesNotExist":
      return own === undefined;
    case "Gt":
      return compares(own, values, (a, b) => a > b);
    case "Lt":
      return compares(own, values, (a, b) => a < b);
  }
}

/** False unless both are whole numbers. */
function compares(
  own: string | undefined,
  [wanted]: readonly string[],
  holds: (own: bigint, wanted: bigint) => boolean,
): boolean {
  if (own === undefined || wanted === undefined) return false;
  if (!/^[+-]?\d{1,19}$/.test(own) || !/^[+-]?\d{1,19}$/.test(wanted)) return false;
  return holds(BigInt(own.replace("+", "")), BigInt(wanted.replace("+", "")));
}

export function labelOf(labels: NodeLabels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function termsText(terms: readonly NodeSelectorTerm[], node: SelectableNode): string {
  const failures = terms.map((term) => failing(term, node));
  const [first] = failures.filter((failure) => failure !== undefined);
  if (first === undefined) return "all terms are empty, which matches no node";
  const { requirement, own } = first;
  const { key, operator, values } = requirement;
  const list = values.length === 0 ? [] : [`[${values.join(", ")}]`];
  const requires = `requires ${[key, operator, ...list].join(" ")}`;
  const more = terms.length > 1 ? `none of ${terms.length} terms matches, the first ` : "";
  return `${more}${requires}, this node ${labelText(key, own)}`;
}

function labelText(key: string, own: string | undefined): string {
  return own === undefined ? `has no ${key}` : `has ${key}=${own}`;
}
