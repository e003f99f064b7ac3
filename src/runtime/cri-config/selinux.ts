// seLinuxOptions in CRI's form, and the refusal of them where SELinux is off.

import type { SELinuxOptions } from "../../api/v1/security-context.ts";
import type { LinuxContainerSecurityContextInit } from "../../cri/cri-client.ts";
import { unsupported, type RuntimeFeatures } from "./features.ts";

export interface SelinuxFacts {
  readonly features: Pick<RuntimeFeatures, "selinux">;
  /** Whether the node's kernel has SELinux. */
  readonly isSelinuxNode: boolean;
}

/** Throws AgentError `UnsupportedByRuntime` where the options would be ignored. */
export function selinuxOf(
  options: SELinuxOptions | undefined,
  { features, isSelinuxNode }: SelinuxFacts,
): Pick<LinuxContainerSecurityContextInit, "selinuxOptions"> {
  if (options === undefined) return {};
  const { user = "", role = "", type = "", level = "" } = options;
  // The type spc_t means unconfined, which holds without SELinux too.
  if (type !== "spc_t" && !(isSelinuxNode && features.selinux))
    throw unsupported(
      "seLinuxOptions need SELinux on this node and in its runtime (containerd: enable_selinux = true); switch it on, or remove seLinuxOptions",
    );
  return { selinuxOptions: { user, role, type, level } };
}
