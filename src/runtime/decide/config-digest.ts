// Digests of what each container of a pod would read of ConfigMaps and Secrets if it started now.

import { canonicalJson } from "../../lib/json.ts";
import { findObject, type LocalObjects } from "../../api/v1/object/local-object.ts";
import { configInputs } from "../../api/pod/config-inputs.ts";
import { referencesOf } from "../../api/pod/object-references.ts";
import { allContainers, type Pod } from "../../api/v1/pod.ts";
import { UNKNOWN_ENV_FILES } from "../cri-config/env-file.ts";
import { resolveEnvironment } from "../cri-config/environment.ts";
import { requireParts } from "../cri-config/container-sub-paths.ts";
import type { Container } from "../../api/v1/container.ts";

export interface DigestFacts {
  readonly objects: LocalObjects;
  /** No source that has yet to sync, or has a mistake, can change what an object of the pod is, or that it is absent. */
  readonly isSettled: boolean;
  readonly digest: (text: string) => string;
}

/** Characters of all texts of one pod: making their digests takes the time of the event loop. */
const MAX_TEXTS = 64 * 1024 * 1024;

/** By container; absent = it reads nothing, or could not start now: neither restarts a running container. */
export function configDigests(pod: Pod, facts: DigestFacts): Readonly<Record<string, string>> {
  const { objects } = facts;
  const isMissing = referencesOf(pod).some(
    ({ optional, ...reference }) => !optional && findObject(objects, reference) === undefined,
  );
  if (isMissing || !facts.isSettled) return {};
  let room = MAX_TEXTS;
  return Object.fromEntries(
    allContainers(pod.spec).flatMap((container) => {
      const text = room < 0 ? undefined : textIfReadable(pod, container, objects);
      room -= text?.length ?? 0;
      if (text === undefined || room < 0 || !couldStart(pod, container, objects)) return [];
      return [[container.name, facts.digest(text)] as const];
    }),
  );
}

function textIfReadable(pod: Pod, container: Container, objects: LocalObjects): string | undefined {
  try {
    return configText(pod, container, objects);
  } catch {
    // It refers to more than may be read, and could not start now.
    return undefined;
  }
}

/**
 * What a container reads of ConfigMaps and Secrets only at its start; undefined = nothing. Throws AgentError
 * `CreateContainerConfigError` when that is too much.
 */
export function configText(
  pod: Pod,
  container: Container,
  objects: LocalObjects,
): string | undefined {
  const inputs = configInputs(pod, container, objects);
  return inputs === undefined ? undefined : canonicalJson(inputs);
}

/**
 * Whether every key that it needs, and every part of a volume that it mounts, exists: a typo must not stop a running
 * container.
 */
function couldStart(pod: Pod, container: Container, objects: LocalObjects): boolean {
  const downward = { nodeName: "", podIPs: [], hostIPs: [] };
  const node = { cpuMillis: 0, memoryBytes: 0 };
  try {
    const { env } = resolveEnvironment(pod, container, {
      objects,
      downward,
      node,
      files: UNKNOWN_ENV_FILES,
    });
    requireParts(pod, container, { env, objects });
    return true;
  } catch {
    // A key is missing, or its value cannot be a variable.
    return false;
  }
}
