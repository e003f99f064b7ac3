// The volumes of a pod, by the field that holds their source.

import { refused } from "../decode/field-rules.ts";
import { field, type Field, type Level } from "./field.ts";
import {
  CONFIG_MAP_VOLUME,
  DOWNWARD_API_VOLUME,
  PROJECTED_VOLUME,
  SECRET_VOLUME,
} from "./projections.ts";

export const HOST_PATH: Level = {
  path: field("string", "Path on this node.", { required: true }),
  type: field(
    "string",
    "What must stand there: empty (no check), DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or BlockDevice.",
  ),
};

export const EMPTY_DIR: Level = {
  medium: field("string", "Empty: the node's disk. Memory: a tmpfs. HugePages: huge pages."),
  sizeLimit: field("Quantity", "The most that it may hold."),
};

export const CLAIM_VOLUME: Level = {
  claimName: field("string", "Name of a PersistentVolumeClaim in the pod's namespace.", {
    required: true,
  }),
  readOnly: field("boolean", "Whether every mount of it is read-only."),
};

export const IMAGE_VOLUME: Level = {
  reference: field("string", "The image whose files are mounted, read-only."),
  pullPolicy: field("string", "Always, IfNotPresent or Never."),
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

export const VOLUME: Level = {
  name: field("string", "Name of the volume, unique in the pod.", { required: true }),
  hostPath: field("HostPathVolumeSource", "A file or directory of this node.", {
    level: HOST_PATH,
  }),
  emptyDir: field("EmptyDirVolumeSource", "An empty directory that lives as long as the pod.", {
    level: EMPTY_DIR,
  }),
  configMap: field(
    "ConfigMapVolumeSource",
    "Keys of a ConfigMap as files. They follow a change of the ConfigMap.",
    { level: CONFIG_MAP_VOLUME },
  ),
  secret: field(
    "SecretVolumeSource",
    "Keys of a Secret as files, in memory only. They follow a change of the Secret.",
    { level: SECRET_VOLUME },
  ),
  downwardAPI: field("DownwardAPIVolumeSource", "Fields of the pod as files.", {
    level: DOWNWARD_API_VOLUME,
  }),
  projected: field("ProjectedVolumeSource", "Several of these sources in one directory.", {
    level: PROJECTED_VOLUME,
  }),
  persistentVolumeClaim: field(
    "PersistentVolumeClaimVolumeSource",
    "A directory of this node that outlives its pods.",
    { level: CLAIM_VOLUME },
  ),
  image: field("ImageVolumeSource", "The files of an image, where the runtime can.", {
    level: IMAGE_VOLUME,
  }),
  ...Object.fromEntries(
    Object.entries(UNSUPPORTED).map(([name, type]) => [name, unsupported(name, type)]),
  ),
};

function unsupported(name: string, type: string): Field {
  const message = `${name} needs a Kubernetes API server; use hostPath, emptyDir, persistentVolumeClaim, configMap, secret, projected or downwardAPI`;
  return field(type, "Storage that a cluster provides.", {
    rule: refused({ code: "UnsupportedVolume", message }),
  });
}
