// What a container reads of ConfigMaps and Secrets only once, when it starts (env, envFrom, subPath), and the paths that
// their volumes show.

import type { Pod } from "../v1/pod.ts";
import type { Container } from "../v1/container.ts";
import type { LocalObjects } from "../v1/object/local-object.ts";
import { keysOf, KINDS, projectionsOf } from "./object-references.ts";
import type { Volume } from "../v1/volumes.ts";
import { type VolumeMount, isPart } from "../v1/volume-mounts.ts";
import { nestedIn, isInShown } from "../validation/nested-mounts.ts";
import { isWithin, tidyPath } from "../validation/keys-and-paths.ts";
import type { DownwardAPIFile } from "../v1/projected-volumes.ts";
import type { KeyToPath } from "../v1/key-and-field-refs.ts";
import type { ConfigMap } from "../v1/object/config-map.ts";
import { configError } from "../../lib/errors.ts";
import { mapValues } from "../../lib/json.ts";

/** JSON data; the content of one object by key, as text of the form `text:…` or `base64:…`; null = not there. */
type ConfigInputs = Readonly<Record<string, unknown>>;

type Content = Readonly<Record<string, string>>;

/** Characters of all that one container reads so: a short spec can refer thousands of times to a long object. */
const MAX_READ = 16 * 1024 * 1024;

/**
 * What this container reads of ConfigMaps and Secrets only when it starts: through env, envFrom, mounts with a subPath
 * and such that have others inside. undefined if it refers to none. Two equal values mean that nothing has to restart.
 * Throws AgentError `CreateContainerConfigError` as soon as that is more than MAX_READ.
 */
export function configInputs(
  pod: Pod,
  container: Container,
  objects: LocalObjects,
): ConfigInputs | undefined {
  const { namespace } = pod.metadata;
  const ofFiles = remembered((kind, name) => contentOf({ kind, name, namespace }, objects));
  const ofText = remembered((_, name) => textOf(objects.configMap(namespace, name)));
  const lookUp: LookUp = (kind, name) =>
    kind === "Secret" ? ofFiles(kind, name) : ofText(kind, name);
  const counted = counter(container);
  const env = container.env.flatMap(keysOf).map(({ type, name, key }) => {
    const value = valueAt(lookUp(KINDS[type], name), key);
    counted(value?.length ?? 0);
    return value;
  });
  const envFrom = container.envFrom.map(({ type, name }) => {
    const content = lookUp(KINDS[type], name);
    counted(sizeOf(content));
    return content;
  });
  const files = container.volumeMounts.flatMap((mount) =>
    mountInput(mount, { container, volumes: pod.spec.volumes, lookUp: ofFiles, counted }),
  );
  if (env.length === 0 && envFrom.length === 0 && files.length === 0) return undefined;
  return { env, envFrom, files };
}

type LookUp = (kind: "ConfigMap" | "Secret", name: string) => Content | null;

/** Encodes each object once, however often it is referred to. */
function remembered(lookUp: LookUp): LookUp {
  const known = new Map<string, Content | null>();
  return (kind, name) => {
    const key = `${kind} ${name}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const content = lookUp(kind, name);
    known.set(key, content);
    return content;
  };
}

type Counted = (characters: number) => void;

function counter({ name }: Container): Counted {
  let total = 0;
  return (characters) => {
    total += characters;
    if (total <= MAX_READ) return;
    throw configError(
      `container ${name} reads more than ${MAX_READ} bytes of ConfigMaps and Secrets at its start, counted as often as it refers to them; refer to each of them once, or mount the whole volume`,
    );
  };
}

/** Also entries without a value take room. */
function sizeOf(content: Content | null): number {
  return Object.entries(content ?? {}).reduce(
    (sum, [key, value]) => sum + key.length + value.length,
    0,
  );
}

interface MountFacts {
  readonly container: Container;
  readonly volumes: readonly Volume[];
  readonly lookUp: LookUp;
  readonly counted: Counted;
}

/**
 * Of a part of a volume the files in it. Of a whole one none, unless something is mounted inside of what it shows: with the
 * next version that would be gone.
 */
function mountInput(
  mount: VolumeMount,
  { container, volumes, lookUp, counted }: MountFacts,
): readonly unknown[] {
  const volume = volumes.find(({ name }) => name === mount.name);
  const projections = volume === undefined ? [] : projectionsOf(volume);
  const nested = isPart(mount) ? [] : nestedIn(container, mount.name);
  if (projections.length === 0 || (!isPart(mount) && nested.length === 0)) return [];
  const top = readPath(mount);
  const read = projections.map(({ type, name, items }) => {
    // Of an object that is not there no file is.
    const files = filesOf(lookUp(KINDS[type], name) ?? {}, items);
    const part = Object.entries(files).filter(([path]) => isWithin(path, top));
    const shown = Object.fromEntries(part);
    counted(sizeOf(shown));
    return shown;
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
