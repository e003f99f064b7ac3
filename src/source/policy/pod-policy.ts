// What pods of a document may use of the node: by profile and lists, and what is always forbidden.

import type { PodPolicy } from "../../config/config.ts";
import { formatPath } from "../../api/decode/field-path.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { forbiddenImages, type ImageRules } from "./images.ts";
import { forbiddenDevices, forbiddenHostPaths } from "./node-access.ts";
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
    ...(profile === "baseline" ? forbiddenByBaseline(pod) : []),
    ...(profile === "privileged" && hasLists ? privilegedContainers(pod) : []),
    ...forbiddenHostPaths(pod, hostPaths ?? byProfile, rules.guarded),
    ...forbiddenDevices(pod, devices ?? byProfile),
    ...forbiddenImages(pod, { ...rules, ...(registries === undefined ? {} : { registries }) }),
  ];
}

/** Privileged containers reach every device and file, regardless of the lists. */
function privilegedContainers({ spec }: Pod): readonly FieldError[] {
  return (["initContainers", "containers"] as const).flatMap((list) =>
    spec[list].flatMap(({ securityContext }, index): readonly FieldError[] => {
      if (securityContext.privileged !== true) return [];
      const path = formatPath(["spec", list, index, "securityContext", "privileged"]);
      const message =
        "a privileged container bypasses hostPaths and devices of the node's mqtt.podPolicy; leave privileged out, or remove the lists";
      return [{ path, code: "Forbidden", message }];
    }),
  );
}
