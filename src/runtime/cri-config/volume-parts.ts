// The parts of volumes that a container mounts: their paths, and whether what the agent fills has them. Pure.

import type { LocalObjects } from "../../api/v1/object/local-object.ts";
import { nestedMountPoints } from "../../api/validation/nested-mounts.ts";
import { shownPaths } from "../../api/pod/object-references.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { isWithin, tidyPath } from "../../api/validation/reference-rules.ts";
import { AgentError } from "../../lib/errors.ts";
import { valuesOf, type EnvEntry } from "./environment.ts";
import { expand, missingIn } from "./expansion.ts";
import type { Container } from "../../api/v1/container.ts";
import type { VolumeMount } from "../../api/v1/volume-mounts.ts";

export interface PartFacts {
  readonly env: readonly EnvEntry[];
  readonly objects: LocalObjects;
}

/**
 * "" = the whole volume. Throws AgentError `CreateContainerConfigError`. Nothing of the environment is shown: it may come
 * from a Secret.
 */
export function subPathOf(mount: VolumeMount, env: readonly EnvEntry[]): string {
  const { subPath = "", subPathExpr = "" } = mount;
  if (subPathExpr === "") return subPath;
  const values = valuesOf(env);
  const missing = missingIn(subPathExpr, values);
  if (missing.length > 0) throw refused(`missing value for ${missing.join(", ")}`);
  const expanded = expand(subPathExpr, values);
  if (expanded.startsWith("/"))
    throw refused(`error SubPath \`${subPathExpr}\` must not be an absolute path`);
  if (expanded.split("/").includes(".."))
    throw refused(`unable to provision SubPath \`${subPathExpr}\`: must not contain '..'`);
  return expanded;
}

/**
 * Throws AgentError `CreateContainerConfigError` for a part that a volume of ConfigMaps, Secrets or fields does not show. A
 * path that is made of what only a start knows is not judged.
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
    throw refused(
      `volumeMount "${mount.name}" of container "${container.name}": subPath "${written}" is not in the volume`,
    );
  }
}

/** The version of the moment lies in `..data`, and may be named. */
function withoutVersion(path: string): string {
  return path.replace(/^\.\.data(\/|$)/, "");
}

/** Addresses, the node's name and what is free on it are nobody's before a start. */
function isKnown({ env }: Container): boolean {
  return env.every((variable) => {
    if (!("valueFrom" in variable)) return true;
    const source = variable.valueFrom;
    if (source.type !== "fieldRef") return source.type !== "resourceFieldRef";
    return source.fieldPath.startsWith("metadata.");
  });
}

function refused(message: string): AgentError {
  return new AgentError({ reason: "CreateContainerConfigError", message });
}
