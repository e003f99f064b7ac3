// A PersistentVolumeClaim: a local directory, whose size and modes are shown only. k8s: ValidatePersistentVolumeClaimSpec

import { forbidden, invalidAt, type Node } from "../../decode/field-reader.ts";
import { harmless, ignored, refused, supportedBut } from "../../decode/field-rules.ts";
import {
  converted,
  fieldOf,
  judged,
  judgedOnly,
  list,
  map,
  objectType,
  oneOf,
  text,
  unread,
  unreadFields,
  type ObjectOf,
} from "../../schema/codec.ts";
import { quantity } from "../../schema/values.ts";
import { memberOf, withoutUndefined } from "../../../lib/json.ts";
import { objectHead } from "../metadata.ts";

const ALONE = "ReadWriteOncePod";
const ACCESS_MODES: readonly string[] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];
const NO_COPY = {
  code: "Unsupported",
  message: "a claim of this node begins as an empty directory; leave it out",
};
const NO_VOLUMES = "there are no PersistentVolumes on this node; the claim is a local directory";

/** A claim for no storage at all is a mistake; other amounts mean nothing here. */
const AMOUNT = judged(quantity, (amount, at) => {
  if (amount === "0" && at.path.at(-1) === "storage") invalidAt(at, "must be greater than zero");
});

const RESOURCES = objectType("VolumeResourceRequirements", {
  limits: map(quantity, { about: "Largest amount; shown only." }),
  requests: map(AMOUNT, { about: "Requested amount of storage; shown only." }),
});

const SPEC = {
  accessModes: list(text, {
    about: "Access modes, such as ReadWriteOnce; shown only.",
    required: "at least 1 access mode is required",
    schema: { items: { enum: ACCESS_MODES } },
  }),
  resources: fieldOf(RESOURCES)({ about: "Requested amounts; shown only." }),
  volumeMode: judgedOnly(
    oneOf(["Block", "Filesystem"], {
      about: "Filesystem.",
      rule: supportedBut(
        { code: "Unsupported", message: "there are no block volumes on this node; use Filesystem" },
        "Block",
      ),
    }),
  ),
  ...unreadFields(harmless, {
    storageClassName: ["string", "Storage class in a cluster; this node provides it."],
    volumeAttributesClassName: ["string", "Storage parameters in a cluster."],
  }),
  volumeName: unread("string", "A certain PersistentVolume.", ignored(NO_VOLUMES, "")),
  selector: unread("LabelSelector", "Labels of a PersistentVolume.", ignored(NO_VOLUMES, {})),
  ...unreadFields(refused(NO_COPY), {
    dataSource: ["TypedLocalObjectReference", "Initial content."],
    dataSourceRef: ["TypedObjectReference", "Initial content."],
  }),
};

const CLAIM_SPEC = objectType("PersistentVolumeClaimSpec", SPEC, { check: checkSpec });

function checkSpec({ accessModes, resources }: ObjectOf<typeof SPEC>, node: Node): void {
  const { findings, path } = node;
  for (const mode of accessModes)
    if (!ACCESS_MODES.includes(mode))
      findings.unsupported([...path, "accessModes"], mode, ACCESS_MODES);
  if (accessModes.includes(ALONE) && accessModes.some((mode) => mode !== ALONE))
    forbidden(node, "accessModes", `may not use ${ALONE} with other access modes`);
  if (resources?.requests["storage"] === undefined && !isStorageWritten(node))
    findings.required([...path, "resources", "requests", "storage"]);
}

/** An amount that is not a quantity has been reported. */
function isStorageWritten({ value }: Node): boolean {
  const requests = memberOf(value["resources"], "requests");
  return (memberOf(requests, "storage") ?? null) !== null;
}

const FIELDS = {
  ...objectHead("PersistentVolumeClaim"),
  spec: fieldOf(CLAIM_SPEC)({ about: "Requested storage.", required: true }),
  status: unread(
    "PersistentVolumeClaimStatus",
    "Last known state in an API server; never read.",
    harmless,
  ),
};

export interface PersistentVolumeClaim {
  readonly kind: "PersistentVolumeClaim";
  readonly metadata: ObjectOf<typeof FIELDS>["metadata"];
  readonly accessModes: readonly string[];
  /** A quantity; shown only. */
  readonly storage?: string;
}

export const CLAIM = converted(objectType("PersistentVolumeClaim", FIELDS), {
  to: ({ metadata, spec }): PersistentVolumeClaim => ({
    kind: "PersistentVolumeClaim",
    metadata,
    accessModes: spec?.accessModes ?? [],
    ...withoutUndefined({ storage: spec?.resources?.requests["storage"] }),
  }),
  from: ({ accessModes, storage, ...object }) => ({
    apiVersion: "v1",
    ...object,
    spec: {
      accessModes,
      resources: { limits: {}, requests: storage === undefined ? {} : { storage } },
    },
  }),
});
