// Volumes as written → typed volumes; kinds that need a cluster are refused by the table of fields. k8s: validateVolumeSource

import { nameField } from "./decode-container.ts";
import { isTokenVolume } from "./decode-mounts.ts";
import { decodeVolumeSource } from "./decode-volume-sources.ts";
import { checkFields, objectList, type Node } from "./field-reader.ts";
import { VOLUME } from "./schema/volumes.ts";
import { dnsLabelError } from "./validate-names.ts";
import type { Volume } from "./volumes.ts";

/** The token volume that an API server injects is left out. */
export function decodeVolumes(spec: Node): readonly Volume[] {
  return objectList(spec, "volumes")
    .filter((node) => !(isTokenVolume(node.value["name"]) && node.value["projected"] !== undefined))
    .flatMap((node) => decodeVolume(node) ?? []);
}

function decodeVolume(node: Node): Volume | undefined {
  checkFields(node, VOLUME);
  const name = nameField(node, dnsLabelError);
  const sources = Object.entries(node.value).filter(
    ([key, value]) => key !== "name" && value !== null && value !== undefined,
  );
  if (sources.length === 0)
    node.findings.fail(node.path, "Required", "Required value: must specify a volume type");
  if (sources.length > 1)
    node.findings.fail(node.path, "Invalid", "Forbidden: may not specify more than 1 volume type");
  return decodeVolumeSource(name, node);
}
