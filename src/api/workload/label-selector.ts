// The selector of a workload: it selects nothing on this node, but has to match the labels of the template, as in a cluster.

import { invalid, type Node } from "../decode/field-reader.ts";
import { harmless } from "../decode/field-rules.ts";
import { fieldOf, objectType, unread } from "../schema/codec.ts";
import { labels } from "../v1/scheduling.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";

const SELECTOR = objectType("LabelSelector", {
  matchLabels: labels("Labels that the template has."),
  matchExpressions: unread(
    "[]LabelSelectorRequirement",
    "Further requirements; not compared with the template.",
    harmless,
  ),
});

export const selectorField = (required: boolean) =>
  fieldOf(SELECTOR)({
    about: "Has to match the labels of the template, and means nothing else on this node.",
    ...(required ? { required: true } : {}),
  });

interface Selecting {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template?: JsonObject;
}

/** k8s: ValidateDeploymentSpec, "`selector` does not match template `labels`" */
export function checkSelector({ selector, template }: Selecting, node: Node): void {
  if (selector === undefined || template === undefined) return;
  const found = memberOf(template["metadata"], "labels");
  const has = isJsonObject(found) ? found : {};
  const isMatch = Object.entries(selector.matchLabels).every(([key, value]) => has[key] === value);
  if (!isMatch) invalid(node, "selector", "`selector` does not match template `labels`");
}
