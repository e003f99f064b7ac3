// ConfigMaps, Secrets and claims: objects of this node, that pods of any source may use.

import { CLAIM, type PersistentVolumeClaim } from "./claim.ts";
import { CONFIG_MAP, type ConfigMap } from "./config-map.ts";
import { SECRET, type Secret } from "./secret.ts";
import type { SourceName } from "../../pod/labels.ts";

export type LocalObject = ConfigMap | Secret | PersistentVolumeClaim;
export type LocalObjectKind = LocalObject["kind"];

/** An object as a source asks for it. */
export interface DesiredObject {
  readonly object: LocalObject;
  readonly source: SourceName;
  /** `path#document` or `generation N`. */
  readonly sourceRef: string;
}

/** What pods look their references up in; the merged word of all sources. */
export interface LocalObjects {
  configMap(namespace: string, name: string): ConfigMap | undefined;
  secret(namespace: string, name: string): Secret | undefined;
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
}

interface ObjectName {
  readonly kind: LocalObjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** `ConfigMap default/name`: unique among the objects of a node. */
export function objectKey({ kind, metadata }: LocalObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** Objects that are looked up by key; what is found under the key of another kind does not count. */
export function objectsBy(
  find: (key: string, of: ObjectName) => LocalObject | undefined,
): LocalObjects {
  const look = (kind: LocalObjectKind, namespace: string, name: string): LocalObject | undefined =>
    find(`${kind} ${namespace}/${name}`, { kind, namespace, name });
  return {
    configMap: (namespace, name) => {
      const object = look("ConfigMap", namespace, name);
      return object?.kind === "ConfigMap" ? object : undefined;
    },
    secret: (namespace, name) => {
      const object = look("Secret", namespace, name);
      return object?.kind === "Secret" ? object : undefined;
    },
    claim: (namespace, name) => {
      const object = look("PersistentVolumeClaim", namespace, name);
      return object?.kind === "PersistentVolumeClaim" ? object : undefined;
    },
  };
}

/** For pods that refer to nothing. */
export const NO_OBJECTS: LocalObjects = objectsBy(() => undefined);

/** The object as a manifest that reads as the same object. */
export function writeObject(object: LocalObject): unknown {
  switch (object.kind) {
    case "ConfigMap":
      return CONFIG_MAP.write(object);
    case "Secret":
      return SECRET.write(object);
    case "PersistentVolumeClaim":
      return CLAIM.write(object);
  }
}

/** Of any kind; undefined = it is not there, or not for the pod that looks. */
export function findObject(objects: LocalObjects, of: ObjectName): LocalObject | undefined {
  switch (of.kind) {
    case "ConfigMap":
      return objects.configMap(of.namespace, of.name);
    case "Secret":
      return objects.secret(of.namespace, of.name);
    case "PersistentVolumeClaim":
      return objects.claim(of.namespace, of.name);
  }
}
