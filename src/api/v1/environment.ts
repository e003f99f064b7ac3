// Environment variables of a container: literal values, and values that are looked up. k8s: ValidateEnv, ValidateEnvFrom

import { invalidAt, writtenOf, type Node } from "../decode/field-reader.ts";
import {
  boolean,
  converted,
  fieldOf,
  textField,
  objectType,
  string,
  type ObjectOf,
} from "../schema/codec.ts";
import { notTogether } from "../schema/json-schema.ts";
import type { Type } from "../schema/type.ts";
import { isEmptyUnion, isMisspelt, tagged, untagged, type Tagged } from "../schema/union.ts";
import { textOf } from "../schema/values.ts";
import { ENV_NAME_FORM, WITHOUT_NUL_FORM } from "../validation/validate-names.ts";
import {
  CONFIG_MAP_KEY,
  FILE_KEY,
  FIELD_REF,
  objectName,
  RESOURCE_FIELD_REF,
  SECRET_KEY,
} from "./key-and-field-refs.ts";

const ONE_ONLY = "may not have more than one field specified at a time";
const VARIABLE_NAME = textOf(ENV_NAME_FORM);

const SOURCES = {
  fieldRef: fieldOf(FIELD_REF.env)({ about: "Field of the pod or of this node." }),
  resourceFieldRef: fieldOf(RESOURCE_FIELD_REF.env)({
    about: "Limit or request of a container of the pod.",
  }),
  configMapKeyRef: fieldOf(CONFIG_MAP_KEY)({
    about: "One key of a ConfigMap. The container waits until the key exists.",
  }),
  secretKeyRef: fieldOf(SECRET_KEY)({
    about: "One key of a Secret. The container waits until the key exists.",
  }),
  fileKeyRef: fieldOf(FILE_KEY)({
    about:
      "One variable of a file in an emptyDir volume, such as an init container writes it. The container waits until the key exists.",
  }),
};

export type EnvSource = Tagged<ObjectOf<typeof SOURCES>>;

const ENV_SOURCE: Type<EnvSource> = converted(
  objectType("EnvVarSource", SOURCES, {
    union: Object.keys(SOURCES),
    check(_, node) {
      if (isEmptyUnion(node, SOURCES))
        invalidWhole(
          node,
          "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        );
      if (writtenOf(node, Object.keys(SOURCES)).length > 1) invalidWhole(node, ONE_ONLY);
    },
  }),
  { to: tagged, from: untagged<ObjectOf<typeof SOURCES>> },
);

/** Kubernetes shows nothing of a whole object. */
function invalidWhole(node: Node, message: string): void {
  invalidAt({ ...node, value: "" }, message);
}

const VARIABLE = objectType(
  "EnvVar",
  {
    name: textField(VARIABLE_NAME)({
      about: "Name of the variable: printable ASCII without `=`. The last of equal names counts.",
      required: true,
    }),
    value: string({
      about:
        "Value of the variable. $(VAR) is replaced by the value of an earlier variable; $$(VAR) becomes $(VAR). Default: empty.",
      keep: true,
      ...WITHOUT_NUL_FORM,
    }),
    valueFrom: fieldOf(ENV_SOURCE)({
      about: "Source of the value. Not allowed together with a value that is not empty.",
    }),
  },
  {
    schema: notTogether({
      value: { type: "string", minLength: 1 },
      valueFrom: { type: "object" },
    }),
    check({ value }, node) {
      const [valueFrom] = writtenOf(node, ["valueFrom"]);
      if (valueFrom !== undefined && (value ?? "") !== "")
        invalidWhole(
          { ...node, path: [...node.path, valueFrom] },
          "may not be specified when `value` is not empty",
        );
    },
  },
);

export type EnvVar =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly valueFrom: EnvSource };

export const ENV_VAR = converted(VARIABLE, {
  to: ({ name, value = "", valueFrom }): EnvVar =>
    valueFrom === undefined ? { name, value } : { name, valueFrom },
  from: (variable) => variable,
});

function wholeObject(kind: "ConfigMap" | "Secret") {
  const fields = {
    name: objectName(kind),
    optional: boolean({
      about: `Start the container without the variables while the ${kind} is missing.`,
      default: false,
    }),
  };
  const about = `Every key of a ${kind} becomes a variable.`;
  return fieldOf(objectType(`${kind}EnvSource`, fields))({ about });
}

const WHOLE_OBJECTS = { configMapRef: wholeObject("ConfigMap"), secretRef: wholeObject("Secret") };

/** Every key of an object as a variable. */
export interface EnvFrom {
  readonly type: "configMap" | "secret";
  readonly name: string;
  readonly prefix: string;
  readonly optional: boolean;
}

export const ENV_FROM = converted(
  objectType(
    "EnvFromSource",
    {
      prefix: fieldOf(VARIABLE_NAME)({ about: "Text before every key.", default: "" }),
      ...WHOLE_OBJECTS,
    },
    {
      union: Object.keys(WHOLE_OBJECTS),
      check({ configMapRef, secretRef }, node) {
        if (configMapRef !== undefined && secretRef !== undefined) invalidWhole(node, ONE_ONLY);
        const isNone = configMapRef === undefined && secretRef === undefined;
        if (isNone && !isMisspelt(node, Object.keys(WHOLE_OBJECTS)))
          invalidWhole(node, "must specify one of: `configMapRef` or `secretRef`");
      },
    },
  ),
  {
    to({ prefix, configMapRef, secretRef }): EnvFrom | undefined {
      if (configMapRef !== undefined) return { type: "configMap", prefix, ...configMapRef };
      return secretRef === undefined ? undefined : { type: "secret", prefix, ...secretRef };
    },
    from: ({ type, prefix, ...object }) =>
      type === "configMap" ? { prefix, configMapRef: object } : { prefix, secretRef: object },
  },
);
