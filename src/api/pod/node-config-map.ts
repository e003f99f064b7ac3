// `agent-node`: the ConfigMap that the node itself provides to pods of every namespace: its name, labels and groups.

import type { Rejection } from "./desired-pod.ts";
import type { ConfigMap } from "../v1/object/config-map.ts";
import type { LocalObject } from "../v1/object/local-object.ts";
import { compareText } from "../../lib/compare.ts";

/** What belongs to the node by its configuration, and by its document. */
interface Belonging {
  readonly labels: Readonly<Record<string, string>>;
  readonly groups: readonly string[];
}

/** What one pod may know of its node. */
export interface NodeIdentity extends Belonging {
  readonly name: string;
  /** In Kubernetes' spelling: `amd64`, `arm64`. */
  readonly arch: string;
}

/** For pods of documents, and without what a document adds (`own`): all that static pods see. */
export interface NodeIdentities extends NodeIdentity {
  readonly own: Belonging;
}

export const NODE_CONFIG_MAP = "agent-node";

/** `labels` is a JSON object, `groups` a list with commas. */
export function nodeConfigMap(node: NodeIdentity, namespace: string): ConfigMap {
  const labels = Object.entries(node.labels).toSorted(([a], [b]) => compareText(a, b));
  return {
    kind: "ConfigMap",
    metadata: { name: NODE_CONFIG_MAP, namespace, labels: {}, annotations: {} },
    data: {
      name: node.name,
      labels: JSON.stringify(Object.fromEntries(labels)),
      groups: node.groups.join(","),
      arch: node.arch,
    },
    binaryData: {},
    immutable: false,
  };
}

/** Whether it is the key of the node's own ConfigMap, in whichever namespace (`ConfigMap default/agent-node`). */
export function isOfNode(key: string): boolean {
  return key.startsWith("ConfigMap ") && key.endsWith(`/${NODE_CONFIG_MAP}`);
}

/** Why `object` must not be declared; undefined = it may be. */
export function reservedError({
  kind,
  metadata,
}: LocalObject): Pick<Rejection, "code" | "path" | "message"> | undefined {
  if (kind !== "ConfigMap" || metadata.name !== NODE_CONFIG_MAP) return undefined;
  const message = `the ConfigMap ${NODE_CONFIG_MAP} is the node's own, in every namespace; give yours another name`;
  return { code: "Reserved", path: "metadata.name", message };
}
