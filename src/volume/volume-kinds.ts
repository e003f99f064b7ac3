// Groups of volume kinds.

import type {
  ConfigMapVolume,
  DownwardAPIVolume,
  ProjectedVolume,
  SecretVolume,
  Volume,
} from "../api/v1/volumes.ts";

/** Volumes that the agent fills with files, and refills when their sources change. */
export type ContentVolume = ConfigMapVolume | SecretVolume | DownwardAPIVolume | ProjectedVolume;

export function isContentVolume(volume: Volume): volume is ContentVolume {
  return (
    "configMap" in volume || "secret" in volume || "downwardAPI" in volume || "projected" in volume
  );
}

/** No container may write to it, even if its mount is not read-only. kubelet: Attributes.ReadOnly */
export function isReadOnlyVolume(volume: Volume): boolean {
  if ("persistentVolumeClaim" in volume) return volume.persistentVolumeClaim.readOnly;
  return isContentVolume(volume) || "image" in volume;
}
