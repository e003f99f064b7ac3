// Who a pod's processes are and what they may do, as Kubernetes' v1 has it. Absent = as it comes.

export interface PodSecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly supplementalGroups: readonly number[];
  /** Strict: the image's own groups do not count. */
  readonly supplementalGroupsPolicy?: "Merge" | "Strict";
  readonly fsGroup?: number;
  /** Absent = Always. */
  readonly fsGroupChangePolicy?: "OnRootMismatch" | "Always";
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
  readonly seLinuxOptions?: SELinuxOptions;
  readonly seLinuxChangePolicy?: "MountOption" | "Recursive";
  readonly sysctls: readonly Sysctl[];
}

/** What a container says goes before what its pod says. */
export interface SecurityContext {
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: Capabilities;
  readonly readOnlyRootFilesystem?: boolean;
  readonly procMount?: "Default" | "Unmasked";
  readonly seccompProfile?: SecurityProfile;
  readonly appArmorProfile?: SecurityProfile;
  readonly seLinuxOptions?: SELinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
}

/** Names as written: with or without `CAP_`, or `ALL`, in capital or small letters. */
export interface Capabilities {
  readonly add: readonly string[];
  readonly drop: readonly string[];
}

/** seccomp and AppArmor alike. */
export type SecurityProfile =
  | { readonly type: "RuntimeDefault" }
  | { readonly type: "Unconfined" }
  | { readonly type: "Localhost"; readonly localhostProfile: string };

export interface SELinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}
