// Performs: reads the objects of files, directories and standard input, as kubectl does.

import { readManifest } from "../../api/decode/decode-manifest.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import { invalidInput, UsageError } from "../exit-codes.ts";
import type { Terminal } from "../process-io.ts";
import { isDirectory, manifestsIn, readNamedInput } from "../read-file.ts";
import { isWrittenKind, type NamedObject } from "./written-kinds.ts";

export interface ManifestObject extends NamedObject {
  readonly object: JsonObject;
}

export interface ReadOptions {
  readonly paths: readonly string[];
  /** `-R`: also the directories below those of `paths`. */
  readonly recursive?: boolean | undefined;
  /** `-n`; undefined = not given. */
  readonly namespace?: string | undefined;
}

/** In the order of the files. Throws UsageError. */
export async function readObjects(
  { paths, recursive = false, namespace }: ReadOptions,
  terminal: Terminal,
): Promise<readonly ManifestObject[]> {
  const found: ManifestObject[] = [];
  const files = paths.flatMap((path) =>
    path !== "-" && isDirectory(path) ? manifestsIn(path, recursive) : [path],
  );
  for (const path of files) {
    const { file, bytes } = await readNamedInput(path, terminal);
    const { documents, errors } = readManifest(bytes);
    if (errors.length > 0) throw invalidInput(file, errors);
    for (const { value } of documents)
      for (const object of itemsOf(value)) found.push(named(object, { file, namespace }));
  }
  if (found.length === 0) throw new UsageError(`no objects in ${paths.join(", ")}`);
  return found;
}

function itemsOf(value: unknown): readonly unknown[] {
  const [kind, items] = [memberOf(value, "kind"), memberOf(value, "items")];
  return typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)
    ? items.flatMap(itemsOf)
    : [value];
}

function named(
  object: unknown,
  { file, namespace }: { readonly file: string; readonly namespace: string | undefined },
): ManifestObject {
  const [kind, metadata] = [memberOf(object, "kind"), memberOf(object, "metadata")];
  const [name, own] = [memberOf(metadata, "name"), memberOf(metadata, "namespace") ?? ""];
  if (!isJsonObject(object) || typeof kind !== "string" || kind === "")
    throw new UsageError(`${file}: an object has no kind`);
  if (!isWrittenKind(kind))
    throw new UsageError(
      `${file}: no matches for kind ${JSON.stringify(kind)}: the API of this node writes pods, configmaps, secrets and persistentvolumeclaims; put this file into the manifest directory`,
    );
  if (typeof name !== "string" || name === "")
    throw new UsageError(`${file}: a ${kind} has no metadata.name`);
  if (typeof own !== "string")
    throw new UsageError(`${file}: ${kind} ${name}: metadata.namespace is no text`);
  if (own !== "" && namespace !== undefined && own !== namespace)
    throw new UsageError(
      `the namespace from the provided object ${JSON.stringify(own)} does not match the namespace ${JSON.stringify(namespace)}; use --namespace=${own}`,
    );
  return { kind, namespace: own === "" ? (namespace ?? "default") : own, name, object };
}
