// Computes the files of a volume of ConfigMaps, Secrets and fields of the pod. kubelet: MakePayload, CollectData

import { containerResource, podField, type NodeAllocatable } from "../api/pod/downward.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import type { Pod } from "../api/v1/pod.ts";
import { filePathError, tidyPath } from "../api/validation/keys-and-paths.ts";
import type {
  DownwardAPIFile,
  ObjectProjection,
  ProjectedSource,
} from "../api/v1/projected-volumes.ts";
import type {
  ConfigMapVolume,
  DownwardAPIVolume,
  ProjectedVolume,
  SecretVolume,
  Volume,
} from "../api/v1/volumes.ts";

export interface ProjectedFile {
  readonly bytes: Uint8Array;
  /** Permissions. */
  readonly mode: number;
}

/** By relative path, without empty names and dots. */
export type ProjectedFiles = ReadonlyMap<string, ProjectedFile>;

export interface Projection {
  readonly files: ProjectedFiles;
  /** Messages; unless empty, `files` is incomplete. */
  readonly missing: readonly string[];
}

export interface ProjectionFacts {
  /** What the pod may use. */
  readonly objects: (pod: Pod) => LocalObjects;
  /** The text of a field or resource; undefined = the pod has no such field or resource. */
  readonly renderDownward: (pod: Pod, file: DownwardAPIFile) => string | undefined;
}

/** Of two files with one path the later source wins. */
export function projectVolume(volume: ContentVolume, pod: Pod, facts: ProjectionFacts): Projection {
  const projector = new Projector(pod, facts, defaultModeOf(volume));
  for (const source of sourcesOf(volume)) projector.add(source);
  return projector.answer();
}

function defaultModeOf(volume: ContentVolume): number {
  if ("configMap" in volume) return volume.configMap.defaultMode;
  if ("secret" in volume) return volume.secret.defaultMode;
  return "projected" in volume ? volume.projected.defaultMode : volume.downwardAPI.defaultMode;
}

function sourcesOf(volume: ContentVolume): readonly ProjectedSource[] {
  if ("configMap" in volume) return [{ type: "configMap", ...volume.configMap }];
  if ("secret" in volume) return [{ type: "secret", ...volume.secret }];
  if ("projected" in volume) return volume.projected.sources;
  return [{ type: "downwardAPI", items: volume.downwardAPI.items }];
}

/** Bytes of one volume: sixteen of the largest objects that Kubernetes accepts. */
export const MAX_CONTENT = 16 * 1024 * 1024;
const TOO_MUCH = `its files have more than ${MAX_CONTENT} bytes together; list fewer items or use several volumes`;

type Kind = "configmap" | "secret";

class Projector {
  readonly #pod: Pod;
  readonly #facts: ProjectionFacts;
  readonly #mode: number;
  readonly #files = new Map<string, ProjectedFile>();
  readonly #missing: string[] = [];
  #bytes = 0;

  constructor(pod: Pod, facts: ProjectionFacts, mode: number) {
    this.#pod = pod;
    this.#facts = facts;
    this.#mode = mode;
  }

  add(source: ProjectedSource): void {
    const objects = this.#facts.objects(this.#pod);
    const { namespace } = this.#pod.metadata;
    switch (source.type) {
      case "configMap": {
        const found = objects.configMap(namespace, source.name);
        const data = found && { ...found.data, ...found.binaryData };
        return this.#object("configmap", source, data);
      }
      case "secret":
        return this.#object("secret", source, objects.secret(namespace, source.name)?.data);
      case "downwardAPI":
        for (const file of source.items) this.#field(file);
        return;
    }
  }

  answer(): Projection {
    return { files: this.#files, missing: [...this.#missing, ...clashes(this.#files)] };
  }

  #object(
    kind: Kind,
    { name, items, optional }: ObjectProjection,
    data: Readonly<Record<string, string | Uint8Array>> | undefined,
  ): void {
    if (data === undefined) {
      if (!optional) this.#missing.push(notFound(kind, name, this.#pod.metadata.namespace));
      return;
    }
    const all = Object.keys(data).map((key) => ({ key, path: key }));
    for (const item of items.length === 0 ? all : items) {
      const content = Object.hasOwn(data, item.key) ? data[item.key] : undefined;
      if (content !== undefined) this.#put(item, content);
      else if (!optional) this.#missing.push(noKey({ kind, name, key: item.key }));
    }
  }

  #field(file: DownwardAPIFile): void {
    const text = this.#facts.renderDownward(this.#pod, file);
    if (text !== undefined) return this.#put(file, text);
    const of = file.fieldRef?.fieldPath ?? file.resourceFieldRef?.resource ?? "nothing";
    this.#missing.push(`downwardAPI file "${file.path}": the pod has no ${of}`);
  }

  /** Paths were validated before; one that leads outside is refused here again. */
  #put(
    item: { readonly path: string; readonly mode?: number },
    content: string | Uint8Array,
  ): void {
    if (this.#bytes > MAX_CONTENT) return;
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    this.#bytes += bytes.length;
    // One key may be listed under any number of paths, and the content is kept in memory.
    if (this.#bytes > MAX_CONTENT) this.#missing.push(TOO_MUCH);
    const path = tidyPath(item.path);
    // Both: an absolute path is tidied to a relative one, and "./..data" to "..data".
    const error = filePathError(item.path) ?? filePathError(path);
    if (error !== undefined) this.#missing.push(`file "${item.path}": ${error}`);
    else this.#files.set(path, { bytes, mode: item.mode ?? this.#mode });
  }
}

/** A path below a file is impossible. */
function clashes(files: ProjectedFiles): readonly string[] {
  return [...files.keys()].flatMap((path) => {
    const names = path.split("/");
    const above = names.map((_, index) => names.slice(0, index).join("/"));
    const file = above.find((directory) => files.has(directory));
    return file === undefined ? [] : [`file "${path}": "${file}" is also a file`];
  });
}

/** `kind` in lower case, as the API server writes it. */
export function notFound(kind: string, name: string, namespace: string): string {
  const where = "no manifest or desired document that this pod may use has it";
  return `${kind} "${name}" not found in namespace "${namespace}": ${where}`;
}

function noKey({ kind, name, key }: { kind: Kind; name: string; key: string }): string {
  return `${kind} "${name}" has no key "${key}"`;
}

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

/** Files with fields of pods on this node. Volumes cannot refer to addresses. */
export function downwardFiles(
  nodeName: string,
  allocatable: NodeAllocatable,
): ProjectionFacts["renderDownward"] {
  return (pod, { fieldRef, resourceFieldRef }) => {
    if (fieldRef !== undefined)
      return podField(pod, fieldRef.fieldPath, { nodeName, podIPs: [], hostIPs: [] });
    if (resourceFieldRef === undefined) return undefined;
    const { containerName: container } = resourceFieldRef;
    return containerResource(pod, resourceFieldRef, { container, node: allocatable });
  };
}
