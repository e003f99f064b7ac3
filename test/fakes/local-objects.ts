// ConfigMaps and Secrets by name, as a test writes them.

import type { ConfigMap } from "../../src/api/v1/object/config-map.ts";
import type { Secret } from "../../src/api/v1/object/secret.ts";
import type { LocalObjects } from "../../src/api/v1/object/local-object.ts";

export type Data = Readonly<Record<string, string | Uint8Array>>;

export interface WrittenObjects {
  readonly configMaps?: Readonly<Record<string, Data>>;
  readonly secrets?: Readonly<Record<string, Data>>;
  /** Of every Secret. */
  readonly type?: string;
}

/** In namespace `default` only. */
export function localObjects({
  configMaps = {},
  secrets = {},
  type,
}: WrittenObjects): LocalObjects {
  const find = (all: Readonly<Record<string, Data>>, namespace: string, name: string) =>
    namespace === "default" ? all[name] : undefined;
  return {
    configMap: (namespace, name) => {
      const data = find(configMaps, namespace, name);
      return data === undefined ? undefined : aConfigMap(name, data);
    },
    secret: (namespace, name) => {
      const data = find(secrets, namespace, name);
      return data === undefined ? undefined : aSecret(name, data, type);
    },
    claim: () => undefined,
  };
}

export function aConfigMap(name: string, data: Data): ConfigMap {
  const entries = Object.entries(data);
  return {
    kind: "ConfigMap",
    metadata: { name, namespace: "default", labels: {}, annotations: {} },
    data: Object.fromEntries(
      entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
    ),
    binaryData: Object.fromEntries(
      entries.flatMap(([key, value]) => (typeof value === "string" ? [] : [[key, value]])),
    ),
    immutable: false,
  };
}

export function aSecret(name: string, data: Data, type = "Opaque"): Secret {
  const encoder = new TextEncoder();
  return {
    kind: "Secret",
    metadata: { name, namespace: "default", labels: {}, annotations: {} },
    type,
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        typeof value === "string" ? encoder.encode(value) : value,
      ]),
    ),
    immutable: false,
  };
}
