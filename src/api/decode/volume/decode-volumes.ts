// Volumes as written → typed volumes; kinds that need a cluster are refused by the table of fields. k8s: validateVolumeSource

import { nameField } from "../container/decode-container.ts";
import { isTokenVolume } from "../container/decode-mounts.ts";
import { defaultVolume } from "../defaults.ts";
import { decodeVolumeSource } from "./decode-volume-sources.ts";
import { checkUnion, isEmptyUnion, objectList, type Node } from "../field-reader.ts";
import { VOLUME } from "../../schema/volumes.ts";
import { dnsLabelError } from "../../validation/validate-names.ts";
import type { Volume } from "../../v1/volumes.ts";
import { keptEntries } from "../written-index.ts";

/** The token volume that an API server injects is left out. */
export function decodeVolumes(spec: Node): readonly Volume[] {
  const entries = objectList(spec, "volumes").map((node) => ({
    node,
    value: isInjected(node) ? undefined : decodeVolume(node),
  }));
  return keptEntries(entries);
}

function isInjected({ value }: Node): boolean {
  return isTokenVolume(value["name"]) && value["projected"] !== undefined;
}

function decodeVolume(node: Node): Volume | undefined {
  const sources = checkUnion(node, VOLUME, ["name"]);
  const name = nameField(node, dnsLabelError);
  if (isEmptyUnion(node, VOLUME, sources)) return defaultVolume(name);
  if (sources.length > 1)
    node.findings.fail(node.path, "Invalid", "Forbidden: may not specify more than 1 volume type");
  return decodeVolumeSource(name, node);
}
