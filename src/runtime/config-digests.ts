// What each container of a pod would read of ConfigMaps and Secrets if it started now, as digests.

import { canonicalJson } from "../api/canonical-json.ts";
import { findObject, type LocalObjects } from "../api/local-object.ts";
import { configInputs, referencesOf, shownPaths } from "../api/object-references.ts";
import { allContainers, type Container, type Pod } from "../api/pod.ts";
import { tidyPath } from "../api/reference-rules.ts";
import { resolveEnvironment } from "./environment.ts";

export interface DigestFacts {
  readonly objects: LocalObjects;
  /** Every source has spoken: what is not there is missing, not late. */
  readonly isSettled: boolean;
  readonly digest: (text: string) => string;
}

/** By container; absent = it reads nothing, or could not start now: neither is a reason to end one that runs. */
export function configDigests(pod: Pod, facts: DigestFacts): Readonly<Record<string, string>> {
  const { objects } = facts;
  const missing = referencesOf(pod).filter(
    ({ kind, namespace, name }) => findObject(objects, { kind, namespace, name }) === undefined,
  );
  if (missing.some(({ optional }) => !optional || !facts.isSettled)) return {};
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = configText(pod, container, objects);
      if (text === undefined || !hasEnvironment(pod, container, objects)) return [];
      if (!hasParts(pod, container, objects)) return [];
      return [[container.name, facts.digest(text)] as const];
    }),
  );
}

/** What a container reads of ConfigMaps and Secrets and learns no news of; undefined = nothing. */
export function configText(
  pod: Pod,
  container: Container,
  objects: LocalObjects,
): string | undefined {
  const inputs = configInputs(pod, container, objects);
  return inputs === undefined ? undefined : canonicalJson(inputs);
}

/** Also every key that it needs is there. */
function hasEnvironment(pod: Pod, container: Container, objects: LocalObjects): boolean {
  const downward = { nodeName: "", podIPs: [], hostIPs: [] };
  try {
    resolveEnvironment(pod, container, {
      objects,
      downward,
      node: { cpuMillis: 0, memoryBytes: 0 },
    });
    return true;
  } catch {
    // A key is missing, or its value can be no variable.
    return false;
  }
}

/** Also every part of a volume that it mounts: a key that somebody mistyped must not end what runs. */
function hasParts({ metadata, spec }: Pod, container: Container, objects: LocalObjects): boolean {
  return container.volumeMounts.every(({ name, subPath = "" }) => {
    const volume = spec.volumes.find((one) => one.name === name);
    const wanted = tidyPath(subPath);
    if (wanted === "" || volume === undefined) return true;
    const shown = shownPaths(volume, metadata, objects);
    return shown?.some((path) => path === wanted || path.startsWith(`${wanted}/`)) ?? true;
  });
}
