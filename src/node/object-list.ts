// The ConfigMaps, Secrets and claims of this node as Kubernetes JSON. The content of Secrets is shown only on request.

import type { DesiredState, SourceName } from "../api/pod/desired-pod.ts";
import { ANNOTATION } from "../api/pod/labels.ts";
import {
  writeObject,
  type LocalObject,
  type LocalObjectKind,
} from "../api/v1/object/local-object.ts";
import { list, map, type V1Object, writtenObject } from "./v1-shape.ts";
import { compareText } from "../lib/compare.ts";
import type { Pod } from "../api/v1/pod.ts";
import { type NodeIdentity, nodeConfigMap } from "../api/pod/node-config-map.ts";

/** One effective object and its origin. */
export interface ObjectEntry {
  readonly object: LocalObject;
  /** `agent` = built in. */
  readonly source: SourceName | "agent";
  readonly sourceRef: string;
}

export interface ObjectListOptions {
  readonly kind: LocalObjectKind;
  /** Show the content of Secrets, in base64. */
  readonly showSecrets: boolean;
}

/** By namespace, then name. */
export function objectList(
  entries: readonly ObjectEntry[],
  { kind, showSecrets }: ObjectListOptions,
): V1Object {
  const items = entries
    .filter(({ object }) => object.kind === kind)
    .toSorted((a, b) => compareText(placeOf(a), placeOf(b)))
    .map((entry) => v1Object(entry, showSecrets));
  return { kind: `${kind}List`, apiVersion: "v1", metadata: {}, items };
}

function placeOf({ object }: ObjectEntry): string {
  return `${object.metadata.namespace}\0${object.metadata.name}`;
}

export function v1Object(entry: ObjectEntry, showSecrets: boolean): V1Object {
  const { object } = entry;
  const written = { ...writtenObject(writeObject(object)), metadata: metadataOf(entry) };
  switch (object.kind) {
    case "ConfigMap":
      return written;
    case "Secret": {
      if (showSecrets) return written;
      const sizes = Object.entries(object.data).map(
        ([key, bytes]) => [key, hidden(bytes)] as const,
      );
      return { ...written, ...map("data", Object.fromEntries(sizes)) };
    }
    case "PersistentVolumeClaim": {
      const { accessModes, storage } = object;
      // A claim is a directory of this node, which is always bound.
      const status = {
        phase: "Bound",
        ...list("accessModes", accessModes),
        ...map("capacity", storage === undefined ? {} : { storage }),
      };
      return { ...written, status };
    }
  }
}

function metadataOf({ object, source, sourceRef }: ObjectEntry): V1Object {
  const { name, namespace, labels, annotations } = object.metadata;
  const origin = { [ANNOTATION.configSource]: source, [ANNOTATION.sourceRef]: sourceRef };
  return {
    name,
    namespace,
    ...map("labels", labels),
    annotations: { ...annotations, ...origin },
  };
}

/** Not valid base64: applying it by mistake fails. */
function hidden(bytes: Uint8Array): string {
  return `<hidden: ${bytes.length} bytes>`;
}

interface ObjectEntriesFacts {
  readonly desired: Pick<DesiredState, "pods" | "objects">;
  /** Pods that exist, desired or not. */
  readonly running: readonly Pod[];
  readonly node: NodeIdentity;
}

/** `namespace` undefined = all namespaces in use. The node's own ConfigMap is in each. */
export function objectEntries(
  namespace: string | undefined,
  { desired, running, node }: ObjectEntriesFacts,
): readonly ObjectEntry[] {
  const objects = desired.objects.filter(
    ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
  );
  const inUse = [
    ...objects.map(({ object }) => object),
    ...desired.pods.map(({ pod }) => pod),
    ...running,
  ].map(({ metadata }) => metadata.namespace);
  const namespaces = namespace === undefined ? new Set(["default", ...inUse]) : [namespace];
  const own = [...namespaces].map((one): ObjectEntry => {
    return { object: nodeConfigMap(node, one), source: "agent", sourceRef: "built in" };
  });
  return [...objects, ...own];
}
