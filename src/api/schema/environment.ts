// Environment variables: values that are written, and values that are looked up.

import { refused } from "../decode/field-rules.ts";
import { field, type Level } from "./field.ts";
import { CONFIG_MAP_KEY, FIELD_REF, RESOURCE_FIELD_REF, SECRET_KEY } from "../v1/references.ts";

export const ENV_VAR_SOURCE: Level = {
  fieldRef: field("ObjectFieldSelector", "A field of the pod or of this node.", {
    level: FIELD_REF.env.level,
  }),
  resourceFieldRef: field("ResourceFieldSelector", "A request or limit of a container.", {
    level: RESOURCE_FIELD_REF.env.level,
  }),
  configMapKeyRef: field(
    "ConfigMapKeySelector",
    "One key of a ConfigMap. The container waits until it is there.",
    { level: CONFIG_MAP_KEY.level },
  ),
  secretKeyRef: field(
    "SecretKeySelector",
    "One key of a Secret. The container waits until it is there.",
    { level: SECRET_KEY.level },
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
