// One volume of a spec in Kubernetes' own JSON.

import type {
  DownwardAPIFile,
  ObjectProjection,
  ProjectedSource,
  Volume,
  VolumeMount,
} from "../v1/volumes.ts";
import { FIELD_REF, RESOURCE_FIELD_REF } from "../v1/references.ts";
import { flag, list, text, type V1Object } from "./v1-shape.ts";

export function v1Volume(volume: Volume): V1Object {
  return { name: volume.name, ...v1Source(volume) };
}

function v1Source(volume: Volume): V1Object {
  if ("hostPath" in volume) return { hostPath: volume.hostPath };
  if ("emptyDir" in volume) {
    const { medium, ...rest } = volume.emptyDir;
    return { emptyDir: { ...text("medium", medium), ...rest } };
  }
  if ("configMap" in volume) {
    const { name, defaultMode } = volume.configMap;
    return { configMap: { name, ...v1Projection(volume.configMap), defaultMode } };
  }
  if ("secret" in volume) {
    const { name, defaultMode } = volume.secret;
    return { secret: { secretName: name, ...v1Projection(volume.secret), defaultMode } };
  }
  if ("downwardAPI" in volume) {
    const { items, defaultMode } = volume.downwardAPI;
    return { downwardAPI: { ...list("items", items.map(v1File)), defaultMode } };
  }
  if ("projected" in volume) {
    const { sources, defaultMode } = volume.projected;
    return { projected: { sources: sources.map(v1ProjectedSource), defaultMode } };
  }
  if ("persistentVolumeClaim" in volume) {
    const { claimName, readOnly } = volume.persistentVolumeClaim;
    return { persistentVolumeClaim: { claimName, ...flag("readOnly", readOnly) } };
  }
  return { image: volume.image };
}

function v1Projection({ items, optional }: ObjectProjection): V1Object {
  return { ...list("items", items), ...flag("optional", optional) };
}

function v1ProjectedSource(source: ProjectedSource): V1Object {
  switch (source.type) {
    case "configMap":
      return { configMap: { name: source.configMap.name, ...v1Projection(source.configMap) } };
    case "secret":
      return { secret: { name: source.secret.name, ...v1Projection(source.secret) } };
    case "downwardAPI":
      return { downwardAPI: { ...list("items", source.items.map(v1File)) } };
  }
}

function v1File({ fieldRef, resourceFieldRef, ...rest }: DownwardAPIFile): V1Object {
  return {
    ...rest,
    ...(fieldRef === undefined ? {} : { fieldRef: FIELD_REF.volume.write(fieldRef) }),
    ...(resourceFieldRef === undefined
      ? {}
      : { resourceFieldRef: RESOURCE_FIELD_REF.env.write(resourceFieldRef) }),
  };
}

export function v1Mount(mount: VolumeMount): V1Object {
  const { readOnly, writtenIndex: _writtenIndex, ...rest } = mount;
  return { ...rest, ...flag("readOnly", readOnly) };
}
