// The volumes of a pod as kubectl describes them. kubectl: describeVolumes

import type { JsonObject } from "../../lib/json.ts";
import type { Description } from "./description.ts";
import { has, isTrueAt, listAt, objectAt, textAt } from "./read-json.ts";

type Line = readonly [title: string, text: string];

/** By the name of the field in `volumes`: the title of the type, and the lines that describe it. */
const SOURCES: Readonly<
  Record<string, readonly [type: string, lines: (source: JsonObject) => readonly Line[]]>
> = {
  hostPath: [
    "HostPath (bare host directory volume)",
    (source) => [
      ["Path", textAt(source, "path")],
      ["HostPathType", has(source, "type") ? textAt(source, "type") : "<none>"],
    ],
  ],
  emptyDir: [
    "EmptyDir (a temporary directory that shares a pod's lifetime)",
    (source) => [
      ["Medium", textAt(source, "medium")],
      ["SizeLimit", textAt(source, "sizeLimit") || "<unset>"],
    ],
  ],
  secret: [
    "Secret (a volume populated by a Secret)",
    (source) => [
      ["SecretName", textAt(source, "secretName")],
      ["Optional", String(isTrueAt(source, "optional"))],
    ],
  ],
  configMap: [
    "ConfigMap (a volume populated by a ConfigMap)",
    (source) => [
      ["Name", textAt(source, "name")],
      ["Optional", String(isTrueAt(source, "optional"))],
    ],
  ],
  persistentVolumeClaim: [
    "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
    (source) => [
      ["ClaimName", textAt(source, "claimName")],
      ["ReadOnly", String(isTrueAt(source, "readOnly"))],
    ],
  ],
  nfs: [
    "NFS (an NFS mount that lasts the lifetime of a pod)",
    (source) => [
      ["Server", textAt(source, "server")],
      ["Path", textAt(source, "path")],
      ["ReadOnly", String(isTrueAt(source, "readOnly"))],
    ],
  ],
  image: [
    "Image (a container image or OCI artifact)",
    (source) => [
      ["Reference", textAt(source, "reference")],
      ["PullPolicy", textAt(source, "pullPolicy")],
    ],
  ],
};

export function volumeLines(out: Description, volumes: readonly JsonObject[]): void {
  if (volumes.length === 0) return out.line(0, "Volumes:", "<none>");
  out.line(0, "Volumes:");
  for (const volume of volumes) {
    out.line(1, `${textAt(volume, "name")}:`);
    const [field = ""] = Object.keys(volume).filter((key) => key !== "name");
    const source = objectAt(volume, field);
    const known = SOURCES[field];
    if (known !== undefined) {
      const [type, lines] = known;
      out.line(2, "Type:", type);
      for (const [title, text] of lines(source)) out.line(2, `${title}:`, text);
    } else if (field === "downwardAPI") downwardLines(out, source);
    else if (field === "projected") projectedLines(out, source);
    else out.line(2, "Type:", field);
  }
  return undefined;
}

function downwardLines(out: Description, source: JsonObject): void {
  out.line(2, "Type:", "DownwardAPI (a volume populated by information about the pod)");
  out.line(2, "Items:");
  for (const item of listAt(source, "items")) {
    const field = textAt(item, "fieldRef", "fieldPath");
    const resource = textAt(item, "resourceFieldRef", "resource");
    out.line(3, `${field || resource} -> ${textAt(item, "path")}`);
  }
}

function projectedLines(out: Description, source: JsonObject): void {
  out.line(2, "Type:", "Projected (a volume that contains injected data from multiple sources)");
  for (const one of listAt(source, "sources")) {
    const [field = ""] = Object.keys(one);
    const of = objectAt(one, field);
    if (field === "downwardAPI") out.line(2, "DownwardAPI:", "true");
    if (field !== "secret" && field !== "configMap") continue;
    const isSecret = field === "secret";
    out.line(2, isSecret ? "SecretName:" : "ConfigMapName:", textAt(of, "name"));
    // kubectl's own words.
    const title = isSecret ? "SecretOptionalName:" : "ConfigMapOptional:";
    out.line(2, title, textAt(of, "optional") || "<nil>");
  }
}
