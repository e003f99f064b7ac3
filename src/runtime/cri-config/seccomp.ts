// Seccomp profiles in CRI's form, and the node's directory of seccomp profiles. kubelet: getSeccompProfile

import type { Pod } from "../../api/v1/pod.ts";
import type { SecurityProfileInit } from "../../cri/cri-client.ts";
import { SecurityProfile_ProfileType as ProfileType } from "../../cri/gen/runtime/v1/api_pb.ts";
import type { Container } from "../../api/v1/container.ts";
import { configError } from "../../lib/errors.ts";

export interface SeccompFacts {
  /** A container without a profile gets RuntimeDefault instead of Unconfined. */
  readonly seccompDefault: boolean;
  /** Directory that profiles of type Localhost are relative to. */
  readonly seccompRoot: string;
  readonly isFile: (path: string) => boolean;
}

/** `localhostProfile` is a path below it. */
export function seccompRoot({ stateDir }: { readonly stateDir: string }): string {
  return `${stateDir}/seccomp`;
}

/** Throws AgentError `CreateContainerConfigError` when the file of a Localhost profile does not exist. */
export function seccompProfile(
  pod: Pod,
  container: Container,
  { seccompDefault, seccompRoot, isFile }: SeccompFacts,
): SecurityProfileInit {
  const profile =
    container.securityContext.seccompProfile ?? pod.spec.securityContext.seccompProfile;
  if (profile === undefined)
    return { profileType: seccompDefault ? ProfileType.RuntimeDefault : ProfileType.Unconfined };
  if (profile.type !== "Localhost") return { profileType: ProfileType[profile.type] };
  const path = `${seccompRoot}/${profile.localhostProfile}`;
  if (isFile(path)) return { profileType: ProfileType.Localhost, localhostRef: path };
  throw configError(
    `container "${container.name}" needs the seccomp profile ${path}, which does not exist; create it`,
  );
}
