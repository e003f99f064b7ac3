// ConfigMaps, Secrets and claims as kubectl describes them. kubectl: describeConfigMap, describeSecret,
// PersistentVolumeClaimDescriber

import { compareText } from "../../lib/compare.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import {
  annotationLines,
  eventLines,
  labelLines,
  listLines,
  nameLines,
  sortedEntries,
  type Described,
} from "./describe-common.ts";
import { Description } from "./description.ts";
import { listAt, objectAt, textAt, textsAt } from "./read-json.ts";

export function describeConfigMap(described: Described): string {
  const { object } = described;
  const out = new Description(described.palette);
  headLines(out, object);
  out.plain("\nData\n====");
  for (const [key, value] of sortedEntries(objectAt(object, "data")))
    out.plain(`${key}:\n----\n${value}\n`);
  out.plain("\nBinaryData\n====");
  for (const [key, value] of sortedEntries(objectAt(object, "binaryData")))
    out.plain(`${key}: ${bytesOf(value)} bytes`);
  out.plain("");
  eventLines(out, described);
  return out.toString();
}

/** Sizes only, whatever the answer holds. */
export function describeSecret({ object, palette }: Described): string {
  const out = new Description(palette);
  headLines(out, object);
  out.plain("");
  out.line(0, "Type:", textAt(object, "type") || "Opaque");
  out.plain("\nData\n====");
  for (const [key, value] of sortedEntries(objectAt(object, "data")))
    out.line(0, `${key}:`, sizeOf(value));
  return out.toString();
}

/** The agent may have written the size in the place of the content. */
function sizeOf(value: string): string {
  const [, bytes] = /^<hidden: (\d+) bytes>$/.exec(value) ?? [];
  return `${bytes ?? bytesOf(value)} bytes`;
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/** `pods`: of its namespace. */
export function describeClaim(
  described: Described & { readonly pods: readonly JsonObject[] },
): string {
  const { object: claim, pods } = described;
  const out = new Description(described.palette);
  nameLines(out, claim);
  out.line(0, "StorageClass:", textAt(claim, "spec", "storageClassName"));
  out.line(0, "Status:", textAt(claim, "status", "phase"));
  out.line(0, "Volume:", textAt(claim, "spec", "volumeName"));
  labelLines(out, claim);
  annotationLines(out, claim);
  out.line(0, "Finalizers:", `[${textsAt(claim, "metadata", "finalizers").join(" ")}]`);
  // As kubectl, which shows them of a volume only.
  const isOfVolume = textAt(claim, "spec", "volumeName") !== "";
  const capacity = textAt(claim, "status", "capacity", "storage");
  const modes = textsAt(claim, "status", "accessModes").map(shortMode).join(",");
  out.line(0, "Capacity:", isOfVolume ? capacity : "");
  out.line(0, "Access Modes:", isOfVolume ? modes : "");
  const mode = textAt(claim, "spec", "volumeMode");
  if (mode !== "") out.line(0, "VolumeMode:", mode);
  const name = textAt(claim, "metadata", "name");
  const users = pods
    .filter((pod) =>
      listAt(pod, "spec", "volumes").some(
        (volume) =>
          isJsonObject(volume["persistentVolumeClaim"]) &&
          textAt(volume, "persistentVolumeClaim", "claimName") === name,
      ),
    )
    .map((pod) => textAt(pod, "metadata", "name"));
  listLines(out, "Used By", users.toSorted(compareText));
  eventLines(out, described);
  return out.toString();
}

function headLines(out: Description, object: JsonObject): void {
  nameLines(out, object);
  labelLines(out, object);
  annotationLines(out, object);
}

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function shortMode(mode: string): string {
  return SHORT_MODES[mode] ?? mode;
}
