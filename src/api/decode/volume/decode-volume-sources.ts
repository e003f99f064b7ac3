// The source of one volume as written → a volume of its kind.

import {
  decodeConfigMapVolume,
  decodeDownwardVolume,
  decodeProjectedVolume,
  decodeSecretVolume,
} from "./decode-projections.ts";
import { quantityField, warnUnenforced } from "../container/decode-resources.ts";
import { defaultPullPolicy } from "../defaults.ts";
import {
  booleanField,
  checkFields,
  choiceField,
  invalid,
  objectField,
  required,
  stringField,
  type Node,
} from "../field-reader.ts";
import { parseQuantity } from "../../resource/quantity.ts";
import { CLAIM_VOLUME, EMPTY_DIR, HOST_PATH, IMAGE_VOLUME } from "../../schema/volumes.ts";
import { objectName } from "../../v1/references.ts";
import { pathError } from "../../validation/validate-names.ts";
import type {
  ClaimVolume,
  EmptyDirMedium,
  EmptyDirVolume,
  HostPathType,
  HostPathVolume,
  ImageVolume,
  Volume,
} from "../../v1/volumes.ts";

const HOST_PATH_TYPES: readonly HostPathType[] = [
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
];
const HUGE_PAGES = "HugePages-";

type DecodeSource = (name: string, source: Node) => Volume;

const SOURCES: Readonly<Record<string, DecodeSource>> = {
  hostPath: decodeHostPath,
  emptyDir: decodeEmptyDir,
  configMap: decodeConfigMapVolume,
  secret: decodeSecretVolume,
  downwardAPI: decodeDownwardVolume,
  projected: decodeProjectedVolume,
  persistentVolumeClaim: decodeClaimVolume,
  image: decodeImageVolume,
};

/** undefined if the volume has no source that works here. */
export function decodeVolumeSource(name: string, volume: Node): Volume | undefined {
  const volumes = Object.entries(SOURCES).flatMap(([kind, decode]) => {
    const source = objectField(volume, kind);
    return source === undefined ? [] : [decode(name, source)];
  });
  return volumes[0];
}

/** k8s: validateHostPathVolumeSource */
function decodeHostPath(name: string, node: Node): HostPathVolume {
  checkFields(node, HOST_PATH);
  const path = stringField(node, "path") ?? "";
  const error = path === "" ? undefined : pathError(path);
  if ((node.value["path"] ?? "") === "") required(node, "path");
  if (error !== undefined) invalid(node, "path", error);
  return { name, hostPath: { path, type: choiceField(node, "type", HOST_PATH_TYPES) ?? "" } };
}

function decodeEmptyDir(name: string, node: Node): EmptyDirVolume {
  checkFields(node, EMPTY_DIR);
  const sizeLimit = quantityField(node, "sizeLimit");
  // To Kubernetes, no bytes at all are the same as no limit.
  const limited = sizeLimit !== undefined && sizeLimit !== "0";
  const medium = mediumField(node);
  if (limited && medium === "") warnUnenforced(node, "sizeLimit", "; medium: Memory enforces it");
  return { name, emptyDir: { medium, ...(limited ? { sizeLimit } : {}) } };
}

function mediumField(node: Node): EmptyDirMedium {
  const text = stringField(node, "medium") ?? "";
  if (text.startsWith(HUGE_PAGES)) {
    const size = text.slice(HUGE_PAGES.length);
    if ((parseQuantity(size) ?? 0n) > 0n) return `${HUGE_PAGES}${size}`;
    invalid(node, "medium", "must name a page size, such as HugePages-2Mi");
    return "";
  }
  return choiceField(node, "medium", ["HugePages", "Memory"]) ?? "";
}

function decodeClaimVolume(name: string, node: Node): ClaimVolume {
  checkFields(node, CLAIM_VOLUME);
  const claimName = objectName("PersistentVolumeClaim").read(node, "claimName");
  const readOnly = booleanField(node, "readOnly") ?? false;
  return { name, persistentVolumeClaim: { claimName, readOnly } };
}

function decodeImageVolume(name: string, node: Node): ImageVolume {
  checkFields(node, IMAGE_VOLUME);
  const reference = stringField(node, "reference") ?? "";
  if ((node.value["reference"] ?? "") === "") required(node, "reference");
  else if (reference !== reference.trim())
    invalid(node, "reference", "must not begin or end with white space");
  const pullPolicy =
    choiceField(node, "pullPolicy", ["Always", "IfNotPresent", "Never"]) ??
    defaultPullPolicy(reference);
  return { name, image: { reference, pullPolicy } };
}
