// The ConfigMaps, Secrets and claims of this node as Kubernetes JSON.

import type { DesiredState, SourceName } from "../api/pod/desired-pod.ts";
import { ANNOTATION } from "../api/pod/labels.ts";
import { writeObject, type LocalObject } from "../api/v1/object/local-object.ts";
import { list, map, type V1Object, writtenObject } from "./v1-shape.ts";
import { rfc3339 } from "../lib/clock.ts";
import { isJsonObject } from "../lib/json.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { objectUID } from "../api/pod/pod-identity.ts";
import type { Pod } from "../api/v1/pod.ts";
import { type NodeIdentity, nodeConfigMap } from "../api/pod/node-config-map.ts";

/** One effective object and its origin. */
export interface ObjectEntry {
  readonly object: LocalObject;
  /** `agent` = built in. */
  readonly source: SourceName | "agent";
  readonly sourceRef: string;
  /** Wall-clock ms when its file was written or its document accepted; absent = unknown. */
  readonly createdAt?: number;
}

/** With the content of Secrets, in base64. */
export function v1Object(entry: ObjectEntry, sha256: Sha256): V1Object {
  const { object } = entry;
  const written = { ...writtenObject(writeObject(object)), metadata: metadataOf(entry, sha256) };
  switch (object.kind) {
    case "ConfigMap":
    case "Secret":
      return written;
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

function metadataOf(
  { object, source, sourceRef, createdAt }: ObjectEntry,
  sha256: Sha256,
): V1Object {
  const { name, namespace, labels, annotations } = object.metadata;
  const origin = { [ANNOTATION.configSource]: source, [ANNOTATION.sourceRef]: sourceRef };
  return {
    name,
    namespace,
    uid: objectUID({ kind: object.kind, namespace, name, source }, sha256),
    ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
    ...map("labels", labels),
    annotations: { ...annotations, ...origin },
  };
}

/** A Secret with sizes in the place of its content. They are not valid base64: applying it by mistake fails. */
export function withoutContent(secret: V1Object): V1Object {
  const { data } = secret;
  if (!isJsonObject(data)) return secret;
  const sizes = Object.entries(data).map(([key, value]) => {
    const bytes = typeof value === "string" ? Buffer.byteLength(value, "base64") : 0;
    return [key, `<hidden: ${bytes} bytes>`] as const;
  });
  return { ...secret, data: Object.fromEntries(sizes) };
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
