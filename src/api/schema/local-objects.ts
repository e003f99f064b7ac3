// ConfigMap, Secret and PersistentVolumeClaim: the objects that pods of this node refer to.

import { harmless, ignored, refused, supportedBut } from "../decode/field-rules.ts";
import { field, type Level } from "./field.ts";
import { OBJECT_METADATA, typeFields } from "../v1/metadata.ts";
import { fieldOf } from "./codec.ts";

function head(kind: string): Level {
  const metadata = fieldOf(OBJECT_METADATA)({
    about: "Name, namespace, labels and annotations.",
    required: true,
  });
  return { ...typeFields(kind), metadata };
}

const IMMUTABLE = field("boolean", "Whether its content may never change again.");

export const CONFIG_MAP: Level = {
  ...head("ConfigMap"),
  data: field("map[string]string", "Text by key; together with binaryData at most 1 MiB."),
  binaryData: field("map[string]string", "Bytes by key, in base64."),
  immutable: IMMUTABLE,
};

export const SECRET: Level = {
  ...head("Secret"),
  type: field(
    "string",
    "Opaque (the default), or a type of Kubernetes, which says what keys it must have.",
  ),
  data: field("map[string]string", "Bytes by key, in base64; at most 1 MiB."),
  stringData: field("map[string]string", "Text by key; goes before data."),
  immutable: IMMUTABLE,
};

export const CLAIM_RESOURCES: Level = {
  limits: field("map[string]Quantity", "The most that is wanted; for showing only."),
  requests: field("map[string]Quantity", "How much storage is wanted; for showing only."),
};

const NO_COPY = {
  code: "Unsupported",
  message: "a claim of this node begins as an empty directory; leave it out",
};

export const CLAIM_SPEC: Level = {
  accessModes: field("[]string", "How it is wanted, such as ReadWriteOnce; for showing only."),
  resources: field("VolumeResourceRequirements", "How much is wanted; for showing only.", {
    level: CLAIM_RESOURCES,
  }),
  volumeMode: field("string", "Filesystem.", {
    rule: supportedBut(
      { code: "Unsupported", message: "there are no block volumes on this node; use Filesystem" },
      "Block",
    ),
  }),
  storageClassName: field("string", "Who provides it in a cluster; here this node does.", {
    rule: harmless,
  }),
  volumeAttributesClassName: field("string", "How a cluster provides it.", { rule: harmless }),
  volumeName: field("string", "A certain PersistentVolume.", {
    rule: ignored(
      "there are no PersistentVolumes on this node; the claim is a local directory",
      "",
    ),
  }),
  selector: field("LabelSelector", "Labels of a PersistentVolume.", {
    rule: ignored(
      "there are no PersistentVolumes on this node; the claim is a local directory",
      {},
    ),
  }),
  dataSource: field("TypedLocalObjectReference", "What it is filled from at first.", {
    rule: refused(NO_COPY),
  }),
  dataSourceRef: field("TypedObjectReference", "What it is filled from at first.", {
    rule: refused(NO_COPY),
  }),
};

export const CLAIM: Level = {
  ...head("PersistentVolumeClaim"),
  spec: field("PersistentVolumeClaimSpec", "What is wanted.", { level: CLAIM_SPEC }),
  status: field("PersistentVolumeClaimStatus", "What an API server last knew; never read.", {
    rule: harmless,
  }),
};
