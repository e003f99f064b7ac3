// AppArmor profiles in CRI's form. kubelet: getAppArmorProfile

import type { Container } from "../../api/v1/container.ts";
import type { Pod } from "../../api/v1/pod.ts";
import type { SecurityProfileInit } from "../../cri/cri-client.ts";
import { SecurityProfile_ProfileType as ProfileType } from "../../cri/gen/runtime/v1/api_pb.ts";

/** `apparmorProfile` is for runtimes before containerd 1.6. {} = the runtime's default, if the kernel has AppArmor. */
export function appArmorProfile(
  { spec }: Pod,
  { securityContext }: Container,
): { readonly apparmor?: SecurityProfileInit; readonly apparmorProfile?: string } {
  const profile = securityContext.appArmorProfile ?? spec.securityContext.appArmorProfile;
  if (profile === undefined) return {};
  const profileType = ProfileType[profile.type];
  if (profile.type !== "Localhost")
    return { apparmor: { profileType }, apparmorProfile: APPARMOR_TEXT[profile.type] };
  const { localhostProfile: localhostRef } = profile;
  return {
    apparmor: { profileType, localhostRef },
    apparmorProfile: `localhost/${localhostRef}`,
  };
}

const APPARMOR_TEXT = { RuntimeDefault: "runtime/default", Unconfined: "unconfined" } as const;
