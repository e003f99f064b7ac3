// The parts of volumes (subPath) that a container mounts: their paths, and whether volumes filled by the agent have them.

import type { LocalObjects } from "../../api/v1/object/local-object.ts";
import { nestedMountPoints } from "../../api/validation/nested-mounts.ts";
import { shownPaths } from "../../api/pod/config-inputs.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { isWithin, tidyPath } from "../../api/validation/keys-and-paths.ts";
import { valuesOf, type EnvEntry } from "./environment.ts";
import { expand, missingIn } from "./expansion.ts";
import type { Container } from "../../api/v1/container.ts";
import type { VolumeMount } from "../../api/v1/volume-mounts.ts";
import { configError } from "../../lib/errors.ts";
import { byteLength } from "../../lib/short-text.ts";

export interface PartFacts {
  readonly env: readonly EnvEntry[];
  readonly objects: LocalObjects;
}

/** Linux opens no longer path. */
const MAX_PATH = 4096;

/**
 * "" = the whole volume. Throws AgentError `CreateContainerConfigError`, whose message shows no values of the environment:
 * they may come from a Secret.
 */
export function subPathOf(mount: VolumeMount, env: readonly EnvEntry[]): string {
  const { subPath = "", subPathExpr = "" } = mount;
  if (subPathExpr === "") return subPath;
  const values = valuesOf(env);
  const missing = missingIn(subPathExpr, values);
  if (missing.length > 0) throw configError(`missing value for ${missing.join(", ")}`);
  const expanded = expand(subPathExpr, values, "subPathExpr");
  if (byteLength(expanded) > MAX_PATH)
    throw configError(
      `error SubPath \`${subPathExpr}\` is longer than ${MAX_PATH} bytes when its $(NAME) are replaced; make the values that it refers to shorter`,
    );
  if (expanded.startsWith("/"))
    throw configError(`error SubPath \`${subPathExpr}\` must not be an absolute path`);
  if (expanded.split("/").includes(".."))
    throw configError(`unable to provision SubPath \`${subPathExpr}\`: must not contain '..'`);
  return expanded;
}

/**
 * Throws AgentError `CreateContainerConfigError` for a part that a volume of ConfigMaps, Secrets or fields does not contain.
 * A path that depends on values known only at the start is not checked.
 */
export function requireParts(pod: Pod, container: Container, { env, objects }: PartFacts): void {
  for (const mount of container.volumeMounts) {
    if (mount.subPathExpr !== undefined && !isKnown(container)) continue;
    const wanted = withoutVersion(tidyPath(subPathOf(mount, env)));
    const volume = pod.spec.volumes.find(({ name }) => name === mount.name);
    if (wanted === "" || volume === undefined) continue;
    const files = shownPaths(volume, pod.metadata, objects);
    const shown = [...(files ?? [wanted]), ...nestedMountPoints(pod, volume.name)];
    if (shown.some((path) => isWithin(path, wanted))) continue;
    const written = mount.subPathExpr ?? mount.subPath ?? "";
    throw configError(
      `volumeMount "${mount.name}" of container "${container.name}": subPath "${written}" is not in the volume`,
    );
  }
}

/** `..data` links to the current version of the volume's content; a path may contain it. */
function withoutVersion(path: string): string {
  return path.replace(/^\.\.data(\/|$)/, "");
}

/** Addresses, the node's name, its allocatable resources and what containers write are known only at the start. */
function isKnown({ env }: Container): boolean {
  return env.every((variable) => {
    if (!("valueFrom" in variable)) return true;
    const source = variable.valueFrom;
    if (source.type !== "fieldRef")
      return source.type !== "resourceFieldRef" && source.type !== "fileKeyRef";
    return source.fieldPath.startsWith("metadata.");
  });
}
