// What pods of a document may use of the node: by profile and lists, and what is always forbidden.

import type { PodPolicy } from "../../config/config.ts";
import { formatPath } from "../../api/decode/field-path.ts";
import { placedContainers, type Pod } from "../../api/v1/pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { forbiddenImages, type ImageRules } from "./registries-and-digests.ts";
import { forbiddenDevices, forbiddenHostPaths } from "./host-paths-and-devices.ts";
import { forbiddenByBaseline } from "./baseline.ts";

export interface PodRules extends Omit<ImageRules, "registries"> {
  /** `mqtt.podPolicy`; absent = baseline, or privileged once signatures are required. */
  readonly policy?: PodPolicy;
  /** Directories that no pod of a document may mount, nor anything above or in them. */
  readonly guarded: readonly string[];
}

/** Every field that is not allowed, with its path and the remedy. */
export function forbiddenByPolicy(
  pod: Pod,
  { policy, ...rules }: PodRules,
  signaturesRequired: boolean,
): readonly FieldError[] {
  const profile = policy?.profile ?? (signaturesRequired ? "privileged" : "baseline");
  const { hostPaths, devices, registries } = policy ?? {};
  const byProfile = profile === "privileged" ? "all" : "none";
  const hasLists = hostPaths !== undefined || devices !== undefined;
  return [
    ...(signaturesRequired ? [] : longGraces(pod)),
    ...(profile === "baseline" ? forbiddenByBaseline(pod) : []),
    ...(profile === "privileged" && hasLists ? privilegedContainers(pod) : []),
    ...forbiddenHostPaths(pod, hostPaths ?? byProfile, rules.guarded),
    ...forbiddenDevices(pod, devices ?? byProfile),
    ...forbiddenImages(pod, { ...rules, ...(registries === undefined ? {} : { registries }) }),
  ];
}

/** Of an unsigned document. */
const MAX_GRACE_SECONDS = 3600;

/** A pod that ignores SIGTERM occupies its name, ports and memory for as long as its grace period lasts. */
function longGraces({ spec }: Pod): readonly FieldError[] {
  const graces = [
    { path: ["spec"], seconds: spec.terminationGracePeriodSeconds },
    ...placedContainers(spec).flatMap(({ container, path }) =>
      (["livenessProbe", "startupProbe"] as const).map((probe) => ({
        path: [...path, probe],
        seconds: container[probe]?.terminationGracePeriodSeconds,
      })),
    ),
  ];
  return graces
    .filter(({ seconds = 0 }) => seconds > MAX_GRACE_SECONDS)
    .map(({ path }) => ({
      path: formatPath([...path, "terminationGracePeriodSeconds"]),
      code: "Forbidden",
      message: `must be at most ${MAX_GRACE_SECONDS} in an unsigned document; write a shorter time, or sign the document`,
    }));
}

/** Privileged containers reach every device and file, regardless of the lists. */
function privilegedContainers({ spec }: Pod): readonly FieldError[] {
  const message =
    "a privileged container bypasses hostPaths and devices of the node's mqtt.podPolicy; leave privileged out, or remove the lists";
  return placedContainers(spec)
    .filter(({ container }) => container.securityContext.privileged === true)
    .map(({ path }) => ({
      path: formatPath([...path, "securityContext", "privileged"]),
      code: "Forbidden",
      message,
    }));
}
