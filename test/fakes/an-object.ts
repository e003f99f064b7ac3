// Base values of tests on local objects: a case names only what differs.

import type { ConfigMap } from "../../src/api/v1/object/config-map.ts";
import type { PersistentVolumeClaim } from "../../src/api/v1/object/claim.ts";
import type { Secret } from "../../src/api/v1/object/secret.ts";
import type { DesiredObject, LocalObject } from "../../src/api/v1/object/local-object.ts";

const metadata = { name: "web", namespace: "default", labels: {}, annotations: {} };

export function aConfigMap(data: ConfigMap["data"], more: Partial<ConfigMap> = {}): ConfigMap {
  return { kind: "ConfigMap", metadata, data, binaryData: {}, immutable: false, ...more };
}

/** `data` as plain text. */
export function aSecret(
  data: Readonly<Record<string, string>>,
  more: Partial<Secret> = {},
): Secret {
  const encoder = new TextEncoder();
  const encoded = Object.entries(data).map(([key, text]) => [key, encoder.encode(text)] as const);
  const bytes = Object.fromEntries(encoded);
  return { kind: "Secret", metadata, type: "Opaque", data: bytes, immutable: false, ...more };
}

export function aClaim(more: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim {
  return {
    kind: "PersistentVolumeClaim",
    metadata,
    accessModes: ["ReadWriteOnce"],
    storage: "1Gi",
    ...more,
  };
}

export function named<T extends LocalObject>(object: T, name: string, namespace = "default"): T {
  return { ...object, metadata: { ...object.metadata, name, namespace } };
}

export function aDesiredObject(
  object: LocalObject,
  more: Partial<DesiredObject> = {},
): DesiredObject {
  return { object, source: "file", sourceRef: "/etc/agent/manifests/web.yaml#0", ...more };
}
