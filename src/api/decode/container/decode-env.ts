// env and envFrom as written → variables and where they come from. k8s: ValidateEnv, ValidateEnvFrom

import {
  booleanField,
  checkFields,
  checkUnion,
  invalid,
  invalidValue,
  isEmptyUnion,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "../field-reader.ts";
import {
  CONFIG_MAP_KEY,
  FIELD_REF,
  objectName,
  RESOURCE_FIELD_REF,
  SECRET_KEY,
  type EnvFrom,
  type EnvSource,
  type EnvVar,
} from "../../v1/references.ts";
import {
  CONFIG_MAP_ENV,
  ENV_FROM,
  ENV_VAR,
  ENV_VAR_SOURCE,
  SECRET_ENV,
} from "../../schema/environment.ts";
import type { Type } from "../../schema/type.ts";
import { envNameError, nulError } from "../../validation/validate-names.ts";
import { isJsonObject } from "../../../lib/json.ts";

/** Bridges to the types of references. */
function read<T>(type: Type<T>, node: Node, wrap: (value: T) => EnvSource): readonly EnvSource[] {
  const value = type.read(node);
  return value === undefined ? [] : [wrap(value)];
}

type EnvPart = Readonly<Record<string, (node: Node) => readonly EnvSource[]>>;

const SOURCES: EnvPart = {
  fieldRef: (node) => read(FIELD_REF.env, node, (field) => ({ type: "field", field })),
  resourceFieldRef: (node) =>
    read(RESOURCE_FIELD_REF.env, node, (resource) => ({ type: "resource", resource })),
  configMapKeyRef: (node) => read(CONFIG_MAP_KEY, node, (key) => ({ type: "configMapKey", key })),
  secretKeyRef: (node) => read(SECRET_KEY, node, (key) => ({ type: "secretKey", key })),
};

export function decodeEnv(container: Node): readonly EnvVar[] {
  return objectList(container, "env").map(decodeVariable);
}

export function decodeEnvFrom(container: Node): readonly EnvFrom[] {
  return objectList(container, "envFrom").flatMap(decodeFrom);
}

function decodeVariable(node: Node): EnvVar {
  checkFields(node, ENV_VAR);
  const name = variableName(node);
  const value = stringField(node, "value") ?? "";
  const error = nulError(value);
  if (error !== undefined) invalid(node, "value", error);
  const written = objectField(node, "valueFrom");
  const valueFrom = written === undefined ? undefined : decodeValueFrom(written);
  if (written !== undefined && value !== "")
    invalidPart(written, "may not be specified when `value` is not empty");
  return valueFrom === undefined ? { name, value } : { name, valueFrom };
}

function variableName(node: Node): string {
  const name = stringField(node, "name") ?? "";
  const error = name === "" ? undefined : envNameError(name);
  if ((node.value["name"] ?? "") === "") required(node, "name");
  if (error !== undefined) invalid(node, "name", error);
  return name;
}

function decodeValueFrom(node: Node): EnvSource | undefined {
  const written = checkUnion(node, ENV_VAR_SOURCE);
  const sources = Object.entries(SOURCES).flatMap(([key, decode]) => {
    const source = objectField(node, key);
    return source === undefined ? [] : decode(source);
  });
  if (isEmptyUnion(node, ENV_VAR_SOURCE, written))
    invalidPart(
      node,
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
    );
  if (sources.length > 1) invalidPart(node, "may not have more than one field specified at a time");
  return sources[0];
}

function decodeFrom(node: Node): readonly EnvFrom[] {
  checkFields(node, ENV_FROM);
  const prefix = stringField(node, "prefix") ?? "";
  const error = prefix === "" ? undefined : envNameError(prefix);
  if (error !== undefined) invalid(node, "prefix", error);
  const configMap = objectField(node, "configMapRef");
  const secret = objectField(node, "secretRef");
  if (configMap !== undefined && secret !== undefined)
    invalidPart(node, "may not have more than one field specified at a time");
  if (!isJsonObject(node.value["configMapRef"]) && !isJsonObject(node.value["secretRef"]))
    invalidPart(node, "must specify one of: `configMapRef` or `secretRef`");
  if (configMap !== undefined) checkFields(configMap, CONFIG_MAP_ENV);
  if (secret !== undefined) checkFields(secret, SECRET_ENV);
  const from = configMap ?? secret;
  if (from === undefined) return [];
  return [
    {
      type: configMap === undefined ? "secret" : "configMap",
      name: objectName("").read(from, "name"),
      prefix,
      optional: booleanField(from, "optional") ?? false,
    },
  ];
}

/** Of a whole object Kubernetes shows nothing. */
function invalidPart(node: Node, message: string): void {
  node.findings.fail(node.path, "Invalid", invalidValue("", message));
}
