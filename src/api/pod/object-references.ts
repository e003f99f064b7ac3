// Which local objects (ConfigMaps, Secrets, claims) a pod refers to.

import type { LocalObjectKind } from "../v1/object/local-object.ts";
import { formatPath, type FieldPath } from "../decode/field-path.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import type { Pod } from "../v1/pod.ts";
import type { EnvVar } from "../v1/environment.ts";
import type { ObjectProjection } from "../v1/projected-volumes.ts";
import type { Volume } from "../v1/volumes.ts";
import { writtenIndex } from "../decode/written-index.ts";

export interface ObjectReference {
  readonly kind: LocalObjectKind;
  readonly namespace: string;
  readonly name: string;
  /** The pod also starts without it. */
  readonly optional: boolean;
  /** The field of the pod: `spec.volumes[0].configMap`. */
  readonly path: string;
}

/** In the order of the spec; an object stands here as often as it is referred to. */
export function referencesOf(pod: Pod): readonly ObjectReference[] {
  const { spec } = pod;
  const references = [
    ...spec.imagePullSecrets.map((name, index): Found => {
      const path = ["imagePullSecrets", index];
      // A pull also works without credentials; a registry that requires them refuses the pull. kubelet: getPullSecretsForPod
      return { kind: "Secret", name, optional: true, path };
    }),
    ...spec.volumes.flatMap((volume, index) =>
      inVolume(volume, ["volumes", writtenIndex(volume, index)]),
    ),
    ...inContainers(spec, "initContainers"),
    ...inContainers(spec, "containers"),
  ];
  const { namespace } = pod.metadata;
  return references.map(({ path, ...reference }) => ({
    ...reference,
    namespace,
    path: formatPath(["spec", ...path]),
  }));
}

/** The kind of the object that a source reads. */
export const KINDS = {
  configMap: "ConfigMap",
  configMapKeyRef: "ConfigMap",
  secret: "Secret",
  secretKeyRef: "Secret",
} as const;

interface Found {
  readonly kind: LocalObjectKind;
  readonly name: string;
  readonly optional: boolean;
  readonly path: FieldPath;
}

interface Source {
  readonly type: keyof typeof KINDS;
  readonly name: string;
  readonly optional: boolean;
}

function found({ type, name, optional }: Source, path: FieldPath): Found {
  return { kind: KINDS[type], name, optional, path };
}

function inContainers(spec: PodSpec, list: "initContainers" | "containers"): readonly Found[] {
  return spec[list].flatMap(({ env, envFrom }, index) => [
    ...envFrom.map((from, place) =>
      found(from, [list, index, "envFrom", place, `${from.type}Ref`]),
    ),
    ...env.flatMap((variable, place) =>
      keysOf(variable).map((key) => found(key, [list, index, "env", place, "valueFrom", key.type])),
    ),
  ]);
}

/** The key of a ConfigMap or a Secret that a variable reads, if it reads one. */
export function keysOf(variable: EnvVar) {
  if (!("valueFrom" in variable)) return [];
  const source = variable.valueFrom;
  switch (source.type) {
    case "fieldRef":
    case "resourceFieldRef":
    case "fileKeyRef":
      return [];
    case "configMapKeyRef":
    case "secretKeyRef":
      return [source];
  }
}

function inVolume(volume: Volume, path: FieldPath): readonly Found[] {
  if ("persistentVolumeClaim" in volume) {
    const name = volume.persistentVolumeClaim.claimName;
    const kind = "PersistentVolumeClaim";
    return [{ kind, name, optional: false, path: [...path, "persistentVolumeClaim"] }];
  }
  return projectionsOf(volume).map(({ at, ...projection }) =>
    found(projection, [...path, ...at, projection.type]),
  );
}

type Projection = ObjectProjection & {
  readonly type: "configMap" | "secret";
  /** Inside of the volume: of a projected one, the place among its sources. */
  readonly at: FieldPath;
};

export function projectionsOf(volume: Volume): readonly Projection[] {
  if ("configMap" in volume) return [{ ...volume.configMap, type: "configMap", at: [] }];
  if ("secret" in volume) return [{ ...volume.secret, type: "secret", at: [] }];
  if (!("projected" in volume)) return [];
  return volume.projected.sources.flatMap((source, place): readonly Projection[] =>
    source.type === "downwardAPI" ? [] : [{ ...source, at: ["projected", "sources", place] }],
  );
}
