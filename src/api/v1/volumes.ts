// The volumes of a pod, each known by the field of its source. k8s: validateVolumeSource

import { invalidAt } from "../decode/field-reader.ts";
import { refused } from "../decode/field-rules.ts";
import { keptList, type Written } from "../decode/written-index.ts";
import { isTokenVolume } from "./volume-mounts.ts";
import { parseQuantity } from "../resource/quantity.ts";
import {
  boolean,
  converted,
  fieldOf,
  objectType,
  string,
  unread,
  word,
  type ObjectOf,
} from "../schema/codec.ts";
import { having } from "../schema/json-schema.ts";
import type { Field, Type } from "../schema/type.ts";
import { isEmptyUnion, only, type Only } from "../schema/union.ts";
import { quantity, unless } from "../schema/values.ts";
import { ABSOLUTE_PATH_FORM, DNS_LABEL_FORM } from "../validation/validate-names.ts";
import { isJsonObject, mapValues, memberOf } from "../../lib/json.ts";
import { objectName } from "./key-and-field-refs.ts";
import {
  CONFIG_MAP_VOLUME,
  SECRET_VOLUME,
  FILES,
  DEFAULT_MODE,
  PROJECTED_VOLUME,
  refuseSeveral,
} from "./projected-volumes.ts";
import { imageReference, pullPolicy } from "./image.ts";

/** "" = anything. */
export type HostPathType = "" | (typeof HOST_PATH_TYPES)[number];
const HOST_PATH_TYPES = [
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
] as const;

const HOST_PATH = objectType("HostPathVolumeSource", {
  path: string({ about: "Path on this node.", required: true, ...ABSOLUTE_PATH_FORM }),
  type: fieldOf<HostPathType>(word<HostPathType>(HOST_PATH_TYPES))({
    about: `What the path must be, or is created as: ${HOST_PATH_TYPES.join(", ")}. Default: anything.`,
    default: "",
  }),
});

const HUGE_PAGES = "HugePages-";
/** `HugePages` takes the page size that the pod requests. */
export type EmptyDirMedium = "" | "Memory" | "HugePages" | `HugePages-${string}`;
const MEDIUM: Type<EmptyDirMedium> = {
  ...word(["HugePages", "Memory"]),
  read(at) {
    if (typeof at.value !== "string" || !at.value.startsWith(HUGE_PAGES))
      return word(["HugePages", "Memory"]).read(at);
    const size = at.value.slice(HUGE_PAGES.length);
    if ((parseQuantity(size) ?? 0n) > 0n) return `${HUGE_PAGES}${size}`;
    return invalidAt(at, "must name a page size, such as HugePages-2Mi");
  },
  schema: () => ({ type: ["string", "null"], pattern: "^(Memory|HugePages(-.+)?)?$" }),
};

const EMPTY_DIR = objectType("EmptyDirVolumeSource", {
  medium: fieldOf(MEDIUM)({
    about: "Memory: a tmpfs. HugePages or HugePages-SIZE: huge pages. Default: the node's disk.",
    default: "",
  }),
  sizeLimit: fieldOf(unless(quantity, "0"))({
    about: "Largest size. A pod that has more on disk is evicted; a tmpfs has no more.",
  }),
});

const CLAIM_VOLUME = objectType("PersistentVolumeClaimVolumeSource", {
  claimName: objectName("PersistentVolumeClaim"),
  readOnly: boolean({ about: "Whether every mount of it is read-only.", default: false }),
});

const IMAGE_VOLUME = objectType("ImageVolumeSource", {
  reference: imageReference("Image whose files are mounted, read-only."),
  pullPolicy: pullPolicy("reference"),
});

const SOURCES = {
  hostPath: fieldOf(HOST_PATH)({ about: "A file or directory of this node." }),
  emptyDir: fieldOf(EMPTY_DIR)({
    about: "An empty directory that lives as long as the pod.",
    keep: true,
  }),
  configMap: fieldOf(CONFIG_MAP_VOLUME)({
    about: "Keys of a ConfigMap as files. They follow its changes.",
  }),
  secret: fieldOf(SECRET_VOLUME)({
    about: "Keys of a Secret as files, in memory only. They follow its changes.",
  }),
  downwardAPI: fieldOf(objectType("DownwardAPIVolumeSource", { ...FILES, ...DEFAULT_MODE }))({
    about: "Fields of the pod as files.",
  }),
  projected: fieldOf(PROJECTED_VOLUME)({ about: "Several sources in one directory." }),
  persistentVolumeClaim: fieldOf(CLAIM_VOLUME)({
    about: "A directory of this node that outlives its pods.",
  }),
  image: fieldOf(IMAGE_VOLUME)({ about: "The files of an image, if the runtime supports it." }),
};

const UNSUPPORTED = {
  awsElasticBlockStore: "AWSElasticBlockStoreVolumeSource",
  azureDisk: "AzureDiskVolumeSource",
  azureFile: "AzureFileVolumeSource",
  cephfs: "CephFSVolumeSource",
  cinder: "CinderVolumeSource",
  csi: "CSIVolumeSource",
  ephemeral: "EphemeralVolumeSource",
  fc: "FCVolumeSource",
  flexVolume: "FlexVolumeSource",
  flocker: "FlockerVolumeSource",
  gcePersistentDisk: "GCEPersistentDiskVolumeSource",
  gitRepo: "GitRepoVolumeSource",
  glusterfs: "GlusterfsVolumeSource",
  iscsi: "ISCSIVolumeSource",
  nfs: "NFSVolumeSource",
  photonPersistentDisk: "PhotonPersistentDiskVolumeSource",
  portworxVolume: "PortworxVolumeSource",
  quobyte: "QuobyteVolumeSource",
  rbd: "RBDVolumeSource",
  scaleIO: "ScaleIOVolumeSource",
  storageos: "StorageOSVolumeSource",
  vsphereVolume: "VsphereVirtualDiskVolumeSource",
};

function unsupported(name: string, type: string): Field<never> {
  const message = `${name} needs a Kubernetes API server; use hostPath, emptyDir, persistentVolumeClaim, configMap, secret, projected or downwardAPI`;
  const rule = refused({ code: "UnsupportedVolume", message });
  return unread(type, "Storage that a cluster provides.", rule);
}

const VOLUME_FIELDS = {
  name: string({
    about: "Name of the volume, unique in the pod.",
    required: true,
    ...DNS_LABEL_FORM,
  }),
  ...SOURCES,
};
const FIELDS: typeof VOLUME_FIELDS = {
  ...VOLUME_FIELDS,
  ...mapValues(UNSUPPORTED, (type, name) => unsupported(name, type)),
};
const SOURCE_KEYS = Object.keys(FIELDS).filter((key) => key !== "name");

type Sources = ObjectOf<typeof SOURCES>;
type VolumeOf<K extends keyof Sources> = { readonly name: string } & Only<Pick<Sources, K>>;
export type HostPathVolume = VolumeOf<"hostPath">;
export type EmptyDirVolume = VolumeOf<"emptyDir">;
export type ConfigMapVolume = VolumeOf<"configMap">;
export type SecretVolume = VolumeOf<"secret">;
export type DownwardAPIVolume = VolumeOf<"downwardAPI">;
export type ProjectedVolume = VolumeOf<"projected">;
export type ClaimVolume = VolumeOf<"persistentVolumeClaim">;
export type ImageVolume = VolumeOf<"image">;
export type Volume = Written & { readonly name: string } & Only<Sources>;

/** One volume; without a source it is an emptyDir. k8s: SetDefaults_Volume */
export const VOLUME = converted(
  objectType("Volume", FIELDS, {
    union: SOURCE_KEYS,
    unionOrNone: true,
    check: (_volume, node) => refuseSeveral(node, SOURCE_KEYS),
  }),
  {
    to({ name, ...sources }, at): Volume | undefined {
      const { name: _name, ...written } = isJsonObject(at.value) ? at.value : {};
      if (isEmptyUnion({ ...at, value: written }, FIELDS))
        return { name, emptyDir: { medium: "" } };
      const source = only<Sources>(sources);
      return source === undefined ? undefined : { name, ...source };
    },
    from: ({ writtenIndex: _writtenIndex, ...volume }: Volume) => volume,
  },
);

/** The volume of a service account's token that an API server injects into each pod. */
function isInjected(written: unknown): boolean {
  return isTokenVolume(memberOf(written, "name")) && memberOf(written, "projected") !== undefined;
}

export const volumes = fieldOf(
  keptList(VOLUME, {
    isLeftOut: isInjected,
    schema: having({ name: { type: "string", pattern: "^kube-api-access-" }, projected: {} }),
  }),
)({ about: "Volumes that its containers can mount.", default: [] });
