// Environment variables: values that are written, and values that are looked up.

import { refused } from "../decode/field-rules.ts";
import { field, type Level } from "./field.ts";

export const FIELD_REF: Level = {
  apiVersion: field("string", "Version of the API that fieldPath is written in: v1."),
  fieldPath: field(
    "string",
    "The field, such as metadata.name, metadata.labels['app'], spec.nodeName or status.podIP.",
    { required: true },
  ),
};

export const RESOURCE_FIELD_REF: Level = {
  containerName: field(
    "string",
    "Whose resources; in an environment the container's own if not written, in a volume required.",
  ),
  resource: field("string", "limits.cpu, limits.memory, requests.cpu, requests.memory, ….", {
    required: true,
  }),
  divisor: field(
    "Quantity",
    "What one unit of the result is, such as 1m or 1Mi; 1 if not written.",
  ),
};

export const CONFIG_MAP_KEY_REF: Level = {
  name: field("string", "Name of a ConfigMap in the pod's namespace."),
  key: field("string", "The key whose value is taken.", { required: true }),
  optional: field("boolean", "Whether to start without the variable while there is no such key."),
};

export const SECRET_KEY_REF: Level = {
  name: field("string", "Name of a Secret in the pod's namespace."),
  key: field("string", "The key whose value is taken.", { required: true }),
  optional: field("boolean", "Whether to start without the variable while there is no such key."),
};

export const ENV_VAR_SOURCE: Level = {
  fieldRef: field("ObjectFieldSelector", "A field of the pod or of this node.", {
    level: FIELD_REF,
  }),
  resourceFieldRef: field("ResourceFieldSelector", "A request or limit of a container.", {
    level: RESOURCE_FIELD_REF,
  }),
  configMapKeyRef: field(
    "ConfigMapKeySelector",
    "One key of a ConfigMap. The container waits until it is there.",
    { level: CONFIG_MAP_KEY_REF },
  ),
  secretKeyRef: field(
    "SecretKeySelector",
    "One key of a Secret. The container waits until it is there.",
    { level: SECRET_KEY_REF },
  ),
  fileKeyRef: field("FileKeySelector", "One variable of a file in an emptyDir volume.", {
    rule: refused({
      code: "Unsupported",
      message: "does not work on this node; use configMapKeyRef or secretKeyRef",
    }),
  }),
};

export const ENV_VAR: Level = {
  name: field("string", "Name of the variable; a later one of the same name wins.", {
    required: true,
  }),
  value: field(
    "string",
    "Its value. $(VAR) becomes the value of a variable that stands before; $$(VAR) stays $(VAR).",
  ),
  valueFrom: field("EnvVarSource", "Where the value is looked up; not together with value.", {
    level: ENV_VAR_SOURCE,
  }),
};

export const CONFIG_MAP_ENV: Level = {
  name: field("string", "Name of a ConfigMap in the pod's namespace."),
  optional: field("boolean", "Whether to start without it while there is no such ConfigMap."),
};

export const SECRET_ENV: Level = {
  name: field("string", "Name of a Secret in the pod's namespace."),
  optional: field("boolean", "Whether to start without it while there is no such Secret."),
};

export const ENV_FROM: Level = {
  prefix: field("string", "Put before every key."),
  configMapRef: field("ConfigMapEnvSource", "Every key of a ConfigMap becomes a variable.", {
    level: CONFIG_MAP_ENV,
  }),
  secretRef: field("SecretEnvSource", "Every key of a Secret becomes a variable.", {
    level: SECRET_ENV,
  }),
};
