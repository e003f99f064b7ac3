// The revision of a pod: its spec as written, and the content of the ConfigMaps and Secrets that it reads.

import { base64Values } from "../validation/base64.ts";
import { canonicalJson } from "../../lib/json.ts";
import type { DesiredPod } from "./desired-pod.ts";
import { DEVICES_ANNOTATION } from "../resource/devices.ts";
import type { LocalObjects } from "../v1/object/local-object.ts";
import { NODE_CONFIG_MAP } from "./node-config-map.ts";
import { referencesOf } from "./object-references.ts";
import type { Revision } from "./rollout.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

interface RevisionFacts {
  readonly objects: LocalObjects;
  readonly sha256: Sha256;
  /** Of a Secret's content: the revision is published, and must not allow guesses to be checked. */
  readonly secretDigest: (text: string) => string;
}

/** Of a pod that reads nothing it is the hash of its spec. What is not there is part of it: it may come later. */
export function revisionOf({ pod, specHash }: DesiredPod, facts: RevisionFacts): Revision {
  const devices = pod.metadata.annotations[DEVICES_ANNOTATION] ?? "";
  const content = contentOf(pod, facts);
  if (devices === "" && Object.keys(content).length === 0) return specHash;
  return facts.sha256(canonicalJson({ specHash, devices, content })).slice(0, 16);
}

function contentOf(
  pod: DesiredPod["pod"],
  { objects, secretDigest }: RevisionFacts,
): Readonly<Record<string, unknown>> {
  // A short spec can refer thousands of times to a long object: it is encoded once.
  const each = new Map(
    referencesOf(pod).map((one) => [`${one.kind} ${one.namespace}/${one.name}`, one]),
  );
  const entries = [...each].flatMap(([key, { kind, namespace, name }]): [string, unknown][] => {
    switch (kind) {
      case "ConfigMap": {
        // The node's own describes where the pod is, not what it is.
        if (name === NODE_CONFIG_MAP) return [];
        const found = objects.configMap(namespace, name);
        if (found === undefined) return [[key, null]];
        return [[key, { data: found.data, binaryData: base64Values(found.binaryData) }]];
      }
      case "Secret": {
        const found = objects.secret(namespace, name);
        return [
          [key, found === undefined ? null : secretDigest(canonicalJson(base64Values(found.data)))],
        ];
      }
      case "PersistentVolumeClaim":
        return [];
    }
  });
  return Object.fromEntries(entries);
}
