// How a pod refers to objects and to its own fields, in Kubernetes' own JSON. A reference is shown, never its content.

import type {
  EnvFrom,
  EnvSource,
  EnvVar,
  FieldRef,
  KeySelector,
  ResourceFieldRef,
} from "../v1/references.ts";
import { flag, text, type V1Object } from "./v1-shape.ts";

export function v1EnvVar(variable: EnvVar): V1Object {
  if (!("valueFrom" in variable)) return { ...variable };
  return { name: variable.name, valueFrom: v1EnvSource(variable.valueFrom) };
}

function v1EnvSource(source: EnvSource): V1Object {
  switch (source.type) {
    case "field":
      return { fieldRef: v1FieldRef(source.field) };
    case "resource":
      return { resourceFieldRef: v1ResourceFieldRef(source.resource) };
    case "configMapKey":
      return { configMapKeyRef: v1Key(source.key) };
    case "secretKey":
      return { secretKeyRef: v1Key(source.key) };
  }
}

function v1Key({ name, key, optional }: KeySelector): V1Object {
  return { name, key, ...flag("optional", optional) };
}

export function v1EnvFrom({ type, name, prefix, optional }: EnvFrom): V1Object {
  const object = { name, ...flag("optional", optional) };
  const reference = type === "configMap" ? { configMapRef: object } : { secretRef: object };
  return { ...text("prefix", prefix), ...reference };
}

export function v1FieldRef({ fieldPath }: FieldRef): V1Object {
  return { apiVersion: "v1", fieldPath };
}

export function v1ResourceFieldRef(reference: ResourceFieldRef): V1Object {
  return { ...reference };
}
