// configMap, secret, downwardAPI and projected volumes as written → which content becomes which file. k8s: validateProjectionSources

import { DEFAULT_FILE_MODE } from "../defaults.ts";
import {
  booleanField,
  checkFields,
  checkUnion,
  invalidValue,
  isEmptyUnion,
  objectField,
  objectList,
  type Node,
} from "../field-reader.ts";
import {
  CONFIG_MAP_PROJECTION,
  CONFIG_MAP_VOLUME,
  DOWNWARD_API_FILE,
  DOWNWARD_API_PROJECTION,
  DOWNWARD_API_VOLUME,
  PROJECTED_SOURCE,
  PROJECTED_VOLUME,
  SECRET_PROJECTION,
  SECRET_VOLUME,
} from "../../schema/projections.ts";
import { fieldOf, list } from "../../schema/codec.ts";
import {
  FIELD_REF,
  fileMode,
  filePath,
  KEY_TO_PATH,
  objectName,
  RESOURCE_FIELD_REF,
} from "../../v1/references.ts";
import type {
  ConfigMapVolume,
  DownwardAPIFile,
  DownwardAPIVolume,
  ObjectProjection,
  ProjectedSource,
  ProjectedVolume,
  SecretVolume,
} from "../../v1/volumes.ts";

export function decodeConfigMapVolume(name: string, node: Node): ConfigMapVolume {
  checkFields(node, CONFIG_MAP_VOLUME);
  return { name, configMap: { ...projection(node), ...defaultMode(node) } };
}

export function decodeSecretVolume(name: string, node: Node): SecretVolume {
  checkFields(node, SECRET_VOLUME);
  return { name, secret: { ...projection(node, "secretName"), ...defaultMode(node) } };
}

export function decodeDownwardVolume(name: string, node: Node): DownwardAPIVolume {
  checkFields(node, DOWNWARD_API_VOLUME);
  return { name, downwardAPI: { items: decodeFiles(node), ...defaultMode(node) } };
}

export function decodeProjectedVolume(name: string, node: Node): ProjectedVolume {
  checkFields(node, PROJECTED_VOLUME);
  const sources = objectList(node, "sources").flatMap((source) => decodeSource(source) ?? []);
  const claimed = new Set<string>();
  for (const path of sources.flatMap(pathsOf)) {
    if (claimed.has(path))
      node.findings.fail(node.path, "Invalid", invalidValue(path, "conflicting duplicate paths"));
    claimed.add(path);
  }
  return { name, projected: { sources, ...defaultMode(node) } };
}

function decodeSource(node: Node): ProjectedSource | undefined {
  const written = checkUnion(node, PROJECTED_SOURCE);
  if (isEmptyUnion(node, PROJECTED_SOURCE, written))
    node.findings.fail(node.path, "Required", "Required value: must specify a volume type");
  if (written.length > 1)
    node.findings.fail(node.path, "Invalid", "Forbidden: may not specify more than 1 volume type");
  const configMap = objectField(node, "configMap");
  const secret = objectField(node, "secret");
  const downward = objectField(node, "downwardAPI");
  if (configMap !== undefined) checkFields(configMap, CONFIG_MAP_PROJECTION);
  if (secret !== undefined) checkFields(secret, SECRET_PROJECTION);
  if (downward !== undefined) checkFields(downward, DOWNWARD_API_PROJECTION);
  if (configMap !== undefined) return { type: "configMap", configMap: projection(configMap) };
  if (secret !== undefined) return { type: "secret", secret: projection(secret) };
  if (downward !== undefined) return { type: "downwardAPI", items: decodeFiles(downward) };
  return undefined;
}

/** Without items the paths are the keys, which nobody knows yet. */
function pathsOf(source: ProjectedSource): readonly string[] {
  switch (source.type) {
    case "configMap":
      return source.configMap.items.map(({ path }) => path);
    case "secret":
      return source.secret.items.map(({ path }) => path);
    case "downwardAPI":
      return source.items.map(({ path }) => path);
  }
}

function projection(node: Node, nameKey = "name"): ObjectProjection {
  return {
    name: objectName("").read(node, nameKey),
    items: list(KEY_TO_PATH, { about: "" }).read(node, "items"),
    optional: booleanField(node, "optional") ?? false,
  };
}

function defaultMode(node: Node): { readonly defaultMode: number } {
  return { defaultMode: fileMode("", DEFAULT_FILE_MODE).read(node, "defaultMode") };
}

function decodeFiles(node: Node): readonly DownwardAPIFile[] {
  return objectList(node, "items").map(decodeFile);
}

/** k8s: validateDownwardAPIVolumeFile */
function decodeFile(node: Node): DownwardAPIFile {
  checkFields(node, DOWNWARD_API_FILE);
  const path = filePath.read(node, "path");
  const mode = fileMode("").read(node, "mode");
  const field = fieldOf(FIELD_REF.volume)({ about: "" }).read(node, "fieldRef");
  const resource = fieldOf(RESOURCE_FIELD_REF.volume)({ about: "" }).read(node, "resourceFieldRef");
  if (field === undefined && resource === undefined)
    node.findings.fail(
      node.path,
      "Required",
      "Required value: one of fieldRef and resourceFieldRef is required",
    );
  if (field !== undefined && resource !== undefined)
    node.findings.fail(
      node.path,
      "Invalid",
      invalidValue("resource", "fieldRef and resourceFieldRef can not be specified simultaneously"),
    );
  return {
    path,
    ...(mode === undefined ? {} : { mode }),
    ...(field === undefined ? {} : { fieldRef: field }),
    ...(resource === undefined ? {} : { resourceFieldRef: resource }),
  };
}
