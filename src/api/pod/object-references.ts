// Which local objects a pod refers to, and what of their content its containers read for good when they start.

import type { ConfigMap } from "../v1/object/config-map.ts";
import type { LocalObjectKind, LocalObjects } from "../v1/object/local-object.ts";
import { formatPath, type FieldPath } from "../decode/field-path.ts";
import { isInShown, nestedIn } from "../validation/nested-mounts.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import type { Pod } from "../v1/pod.ts";
import { isWithin, tidyPath } from "../validation/reference-rules.ts";
import type { EnvVar } from "../v1/environment.ts";
import type { KeyToPath } from "../v1/references.ts";
import type { DownwardAPIFile, ObjectProjection } from "../v1/projections.ts";
import type { Volume } from "../v1/volumes.ts";
import { writtenIndex } from "../decode/written-index.ts";
import type { Container } from "../v1/container.ts";
import { isPart, type VolumeMount } from "../v1/volume-mounts.ts";
import { mapValues } from "../../lib/json.ts";

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
const KINDS = {
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
function keysOf(variable: EnvVar) {
  if (!("valueFrom" in variable)) return [];
  const source = variable.valueFrom;
  switch (source.type) {
    case "fieldRef":
    case "resourceFieldRef":
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

function projectionsOf(volume: Volume): readonly Projection[] {
  if ("configMap" in volume) return [{ ...volume.configMap, type: "configMap", at: [] }];
  if ("secret" in volume) return [{ ...volume.secret, type: "secret", at: [] }];
  if (!("projected" in volume)) return [];
  return volume.projected.sources.flatMap((source, place): readonly Projection[] =>
    source.type === "downwardAPI" ? [] : [{ ...source, at: ["projected", "sources", place] }],
  );
}

/** JSON data; the content of one object by key, as text of the form `text:…` or `base64:…`; null = not there. */
type ConfigInputs = Readonly<Record<string, unknown>>;

type Content = Readonly<Record<string, string>>;

/**
 * What this container reads of ConfigMaps and Secrets only when it starts: through env, envFrom, mounts with a subPath
 * and such that have others inside. undefined if it refers to none. Two equal values mean that nothing has to restart.
 */
export function configInputs(
  pod: Pod,
  container: Container,
  objects: LocalObjects,
): ConfigInputs | undefined {
  const { namespace } = pod.metadata;
  const ofFiles: LookUp = (kind, name) => contentOf({ kind, name, namespace }, objects);
  const lookUp: LookUp = (kind, name) =>
    kind === "Secret" ? ofFiles(kind, name) : textOf(objects.configMap(namespace, name));
  const env = container.env
    .flatMap(keysOf)
    .map(({ type, name, key }) => valueAt(lookUp(KINDS[type], name), key));
  const envFrom = container.envFrom.map(({ type, name }) => lookUp(KINDS[type], name));
  const files = container.volumeMounts.flatMap((mount) =>
    mountInput(mount, { container, volumes: pod.spec.volumes, lookUp: ofFiles }),
  );
  if (env.length === 0 && envFrom.length === 0 && files.length === 0) return undefined;
  return { env, envFrom, files };
}

type LookUp = (kind: "ConfigMap" | "Secret", name: string) => Content | null;

interface MountFacts {
  readonly container: Container;
  readonly volumes: readonly Volume[];
  readonly lookUp: LookUp;
}

/**
 * Of a part of a volume the files in it. Of a whole one none, unless something is mounted inside of what it shows: with the
 * next version that would be gone.
 */
function mountInput(
  mount: VolumeMount,
  { container, volumes, lookUp }: MountFacts,
): readonly unknown[] {
  const volume = volumes.find(({ name }) => name === mount.name);
  const projections = volume === undefined ? [] : projectionsOf(volume);
  const nested = isPart(mount) ? [] : nestedIn(container, mount.name);
  if (projections.length === 0 || (!isPart(mount) && nested.length === 0)) return [];
  const top = readPath(mount);
  const read = projections.map(({ type, name, items }) => {
    // Of an object that is not there no file is.
    const files = filesOf(lookUp(KINDS[type], name) ?? {}, items);
    return Object.fromEntries(Object.entries(files).filter(([path]) => isWithin(path, top)));
  });
  return isPart(mount) || isInShown(nested, read.flatMap(Object.keys)) ? [read] : [];
}

/** "" = all of the volume, also where the part depends on the environment. */
function readPath({ subPath, subPathExpr = "" }: VolumeMount): string {
  if (subPath !== undefined) return tidyPath(subPath);
  return subPathExpr.includes("$") ? "" : tidyPath(subPathExpr);
}

/** The paths of all files that a volume of content shows by now; undefined = it is of another kind. */
export function shownPaths(
  volume: Volume,
  { namespace }: Pick<Pod["metadata"], "namespace">,
  objects: LocalObjects,
): readonly string[] | undefined {
  const fields = "downwardAPI" in volume ? volume.downwardAPI.items : projectedFields(volume);
  const projections = projectionsOf(volume);
  if (fields === undefined && projections.length === 0) return undefined;
  const ofObjects = projections.flatMap(({ type, name, items }) => {
    const content = contentOf({ kind: KINDS[type], name, namespace }, objects);
    return content === null ? [] : Object.keys(filesOf(content, items));
  });
  return [...(fields ?? []).map(({ path }) => tidyPath(path)), ...ofObjects];
}

function projectedFields(volume: Volume): readonly DownwardAPIFile[] | undefined {
  if (!("projected" in volume)) return undefined;
  return volume.projected.sources.flatMap((source) =>
    source.type === "downwardAPI" ? source.items : [],
  );
}

function filesOf(content: Content, items: readonly KeyToPath[]): Content {
  if (items.length === 0) return content;
  return Object.fromEntries(
    items.flatMap(({ key, path }) => {
      const value = valueAt(content, key);
      return value === null ? [] : [[tidyPath(path), value] as const];
    }),
  );
}

function valueAt(content: Content | null, key: string): string | null {
  if (content === null || !Object.hasOwn(content, key)) return null;
  return content[key] ?? null;
}

function contentOf(
  of: {
    readonly kind: "ConfigMap" | "Secret";
    readonly namespace: string;
    readonly name: string;
  },
  objects: LocalObjects,
): Content | null {
  if (of.kind === "Secret") {
    const secret = objects.secret(of.namespace, of.name);
    return secret === undefined ? null : encoded(secret.data);
  }
  const configMap = objects.configMap(of.namespace, of.name);
  if (configMap === undefined) return null;
  return { ...encoded(configMap.binaryData), ...textOf(configMap) };
}

/** Variables are made of text only. kubelet: makeEnvironmentVariables */
function textOf(configMap: ConfigMap | undefined): Content | null {
  if (configMap === undefined) return null;
  return mapValues(configMap.data, (text) => `text:${text}`);
}

function encoded(data: Readonly<Record<string, Uint8Array>>): Content {
  return mapValues(data, (bytes) => `base64:${bytes.toBase64()}`);
}
