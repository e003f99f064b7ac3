// Volumes as written → hostPath and emptyDir; every other kind is refused in its own words.

import { isTokenVolume, nameField } from "./decode-container.ts";
import { quantityField } from "./decode-resources.ts";
import {
  checkFields,
  choiceField,
  invalid,
  objectField,
  objectList,
  required,
  stringField,
  type Node,
} from "./field-reader.ts";
import { EMPTY_DIR, HOST_PATH, VOLUME } from "./pod-fields.ts";
import type { EmptyDirVolume, HostPathType, HostPathVolume, Volume } from "./pod.ts";
import { dnsLabelError, pathError } from "./validate-names.ts";

const HOST_PATH_TYPES: readonly HostPathType[] = [
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
];

/** The token volume that an API server injects is left out. */
export function decodeVolumes(spec: Node): readonly Volume[] {
  return objectList(spec, "volumes")
    .filter((node) => !(isTokenVolume(node.value["name"]) && node.value["projected"] !== undefined))
    .flatMap((node) => {
      const volume = decodeVolume(node);
      return volume === undefined ? [] : [volume];
    });
}

function decodeVolume(node: Node): Volume | undefined {
  checkFields(node, VOLUME);
  const name = nameField(node, dnsLabelError);
  const sources = Object.entries(node.value).filter(
    ([key, value]) => key !== "name" && value !== null,
  );
  if (sources.length === 0)
    node.findings.fail(node.path, "Required", "Required value: must specify a volume type");
  if (sources.length > 1)
    node.findings.fail(node.path, "Invalid", "Forbidden: may not specify more than 1 volume type");
  const hostPath = objectField(node, "hostPath");
  if (hostPath !== undefined) return decodeHostPath(name, hostPath);
  const emptyDir = objectField(node, "emptyDir");
  return emptyDir === undefined ? undefined : decodeEmptyDir(name, emptyDir);
}

function decodeHostPath(name: string, node: Node): HostPathVolume {
  checkFields(node, HOST_PATH);
  const path = stringField(node, "path") ?? "";
  const error = path === "" ? undefined : pathError(path);
  if (path === "") required(node, "path");
  if (error !== undefined) invalid(node, "path", error);
  return { name, hostPath: { path, type: choiceField(node, "type", HOST_PATH_TYPES) ?? "" } };
}

function decodeEmptyDir(name: string, node: Node): EmptyDirVolume {
  checkFields(node, EMPTY_DIR);
  const sizeLimit = quantityField(node, "sizeLimit");
  const medium = choiceField(node, "medium", ["Memory"]) ?? "";
  if (sizeLimit !== undefined && medium === "")
    node.findings.warn(
      [...node.path, "sizeLimit"],
      "Ignored",
      "not enforced on disk yet; medium: Memory enforces it",
    );
  return { name, emptyDir: { medium, ...(sizeLimit === undefined ? {} : { sizeLimit }) } };
}
