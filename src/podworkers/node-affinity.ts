// Whether a pod's wishes about its node fit this one. kubelet: GetRequiredNodeAffinity

import { formatPath } from "../api/decode/field-path.ts";
import type { Pod } from "../api/v1/pod.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "../api/v1/scheduling.ts";
import type { FieldError } from "../lib/result.ts";

export type NodeLabels = Readonly<Record<string, string>>;

export interface LabelledNode {
  readonly nodeName: string;
  /** With those that every node has (`localLabels`). */
  readonly labels: NodeLabels;
}

const REASON = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const WAY_OUT = "set it in nodeLabels of the configuration, or change the pod";

/** The labels of this node: Kubernetes' own three, and the configuration's, which go before. */
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

/** The first wish that this node does not meet; undefined = it meets them all. */
export function affinityError(pod: Pod, node: LabelledNode): FieldError | undefined {
  for (const [key, value] of Object.entries(pod.spec.nodeSelector)) {
    const own = labelOf(node.labels, key);
    if (own === value) continue;
    return {
      code: "NodeAffinity",
      path: formatPath(["spec", "nodeSelector", key]),
      message: `${REASON} (wants ${key}=${value}, this node ${sayLabel(key, own)}; ${WAY_OUT})`,
    };
  }
  const terms = pod.spec.affinity;
  if (terms === undefined || terms.some((term) => termMatches(term, node))) return undefined;
  return {
    code: "NodeAffinity",
    path: "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    message: `${REASON} (${sayTerms(terms, node)}; ${WAY_OUT})`,
  };
}

/** Everything in it has to match; a term without any requirement matches nothing. */
function termMatches(term: NodeSelectorTerm, node: LabelledNode): boolean {
  if (term.matchExpressions.length + term.matchFields.length === 0) return false;
  return failing(term, node) === undefined;
}

interface Failing {
  readonly requirement: NodeSelectorRequirement;
  readonly own: string | undefined;
}

function failing(term: NodeSelectorTerm, node: LabelledNode): Failing | undefined {
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

function isMet({ operator, values }: NodeSelectorRequirement, own: string | undefined): boolean {
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

/** Both whole numbers, or it does not match. */
function compares(
  own: string | undefined,
  [wanted]: readonly string[],
  holds: (own: bigint, wanted: bigint) => boolean,
): boolean {
  if (own === undefined || wanted === undefined) return false;
  if (!/^[+-]?\d{1,19}$/.test(own) || !/^[+-]?\d{1,19}$/.test(wanted)) return false;
  return holds(BigInt(own.replace("+", "")), BigInt(wanted.replace("+", "")));
}

function labelOf(labels: NodeLabels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function sayTerms(terms: readonly NodeSelectorTerm[], node: LabelledNode): string {
  const failures = terms.map((term) => failing(term, node));
  const [first] = failures.filter((failure) => failure !== undefined);
  if (first === undefined) return "no term asks for anything, which matches no node";
  const { requirement, own } = first;
  const { key, operator, values } = requirement;
  const wish = [key, operator, ...(values.length === 0 ? [] : [`[${values.join(", ")}]`])].join(
    " ",
  );
  const more = terms.length > 1 ? `none of ${terms.length} terms matches, the first ` : "";
  return `${more}wants ${wish}, this node ${sayLabel(key, own)}`;
}

function sayLabel(key: string, own: string | undefined): string {
  return own === undefined ? `has no ${key}` : `has ${key}=${own}`;
}
